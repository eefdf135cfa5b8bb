import { JsonInput, PasswordInput, Select } from '@mantine/core';
import type { AuthType, ModelProvider } from '../api/schema';
import type { Form } from './FormModal';
import { authOf, authTypes, secretOf } from './words';

export interface SecretValues extends Record<string, unknown> {
  model_provider: ModelProvider;
  auth_type: AuthType;
  api_key: string;
  credentials: string;
}

export const noSecret = { api_key: '', credentials: '' };

const examples: Partial<Record<AuthType, string>> = {
  aws_keys: '{"access_key_id": "AKIA…", "secret_access_key": "…"}',
  aws_role: '{"role_arn": "arn:aws:iam::…", "external_id": "…"}',
  google_service_account: '{"type": "service_account", …}',
  google_impersonation: '{"service_account": "…@….iam.gserviceaccount.com"}',
};

/** How a provider is told who asks, and the secret for it. */
export function SecretFields<V extends SecretValues>({ form, stored }: { form: Form<V>; stored: boolean }) {
  const own = form as unknown as Form<SecretValues>;
  const { model_provider, auth_type } = own.values;
  const kind = secretOf(auth_type);
  const kept = stored ? 'One is stored. Leave it empty to keep it.' : undefined;
  return (
    <>
      <Select
        label="Credential"
        allowDeselect={false}
        data={authOf(model_provider).map((value) => ({ value, label: authTypes[value] }))}
        {...own.getInputProps('auth_type')}
      />
      {kind === 'key' && (
        <PasswordInput
          label="API key"
          description={kept ?? 'Sealed to the nodes on arrival; nobody can read it back.'}
          autoComplete="off"
          {...own.getInputProps('api_key')}
        />
      )}
      {(kind === 'document' || kind === 'optional') && (
        <JsonInput
          label={kind === 'optional' ? 'Credential document (optional)' : 'Credential document'}
          description={kept ?? 'JSON, as the vendor gives it. Sealed to the nodes on arrival; nobody can read it back.'}
          placeholder={examples[auth_type]}
          autosize
          minRows={3}
          maxRows={10}
          {...own.getInputProps('credentials')}
        />
      )}
    </>
  );
}

/** The secret as the API takes it; what is empty is left as it is. */
export function secretBody(v: SecretValues): { api_key?: string; credentials?: Record<string, unknown> } {
  const kind = secretOf(v.auth_type);
  if (kind === 'key') {
    return v.api_key ? { api_key: v.api_key } : {};
  }
  return kind !== 'none' && v.credentials.trim() ? { credentials: JSON.parse(v.credentials) } : {};
}

/** Why a document is none, before it is sent. */
export function checkDocument(value: string): string | null {
  try {
    if (value.trim()) {
      JSON.parse(value);
    }
    return null;
  } catch {
    return 'This is no JSON.';
  }
}
