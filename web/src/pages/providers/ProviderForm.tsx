import { NumberInput, SegmentedControl, Select, Stack, Switch, TagsInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, body, read } from '../../api/client';
import { catalog, connections } from '../../api/queries';
import type { BillingMode, BillingReason, ModelProvider, Provider } from '../../api/schema';
import { EditModal, type Form, FormModal } from '../../shared/FormModal';
import { checkDocument, noSecret, SecretFields, type SecretValues, secretBody } from '../../shared/SecretFields';
import { familyOptions } from '../../shared/words';
import classes from './providers.module.css';

interface Values extends SecretValues {
  name: string;
  base_url: string;
  source: 'own' | 'shared';
  connection_id: string | null;
  models: string[];
  settings: Record<string, string>;
  enforce_health_check: boolean;
  billing_mode: BillingMode;
  billing_reason: BillingReason | null;
  billing_note: string;
  request_timeout_secs: number | string;
  stream_idle_timeout_secs: number | string;
}

const path = '/api/llm-gateway/admin/providers' as const;

/** The settings that a family knows, with what they are called. */
const settingsOf: Partial<Record<ModelProvider, Record<string, string>>> = {
  openai: { organization: 'Organization', project: 'Project' },
  azure_openai: { api_version: 'API version' },
  bedrock: { region: 'Region' },
  vertex: { project: 'Project', location: 'Location' },
  custom: { model_api_family: 'Dialect (openai, openai_responses, anthropic)' },
};

const empty: Values = {
  ...noSecret,
  name: '',
  model_provider: 'openai',
  base_url: 'https://api.openai.com/v1',
  auth_type: 'bearer_api_key',
  source: 'own',
  connection_id: null,
  models: [],
  settings: {},
  enforce_health_check: true,
  billing_mode: 'per_token',
  billing_reason: null,
  billing_note: '',
  request_timeout_secs: '',
  stream_idle_timeout_secs: '',
};

const seconds = (v: number | string) => (v === '' ? null : Number(v));
const filled = (settings: Record<string, string>) => Object.fromEntries(Object.entries(settings).filter(([, v]) => v !== ''));

function billing(v: Values) {
  return v.billing_mode === 'per_token'
    ? { billing_mode: v.billing_mode }
    : {
        billing_mode: v.billing_mode,
        billing_reason: v.billing_reason ?? undefined,
        ...(v.billing_note ? { billing_note: v.billing_note } : {}),
      };
}

export function CreateProvider({ onClose }: { onClose: () => void }) {
  const create = (v: Values) =>
    body(
      api.POST(path, {
        body: {
          name: v.name.trim(),
          model_provider: v.model_provider,
          base_url: v.base_url.trim(),
          models: v.models,
          settings: filled(v.settings),
          enforce_health_check: v.enforce_health_check,
          ...billing(v),
          ...(v.source === 'shared' ? { connection_id: v.connection_id ?? '' } : { auth_type: v.auth_type, ...secretBody(v) }),
          ...(v.request_timeout_secs === '' ? {} : { request_timeout_secs: Number(v.request_timeout_secs) }),
          ...(v.stream_idle_timeout_secs === '' ? {} : { stream_idle_timeout_secs: Number(v.stream_idle_timeout_secs) }),
        },
      }),
    );
  return (
    <FormModal
      title="Add a provider"
      size="lg"
      submit="Add provider"
      initial={empty}
      checks={(v) => ({ credentials: checkDocument(v.credentials) })}
      save={create}
      done={(p) => `${p.name} is added; its connection is being checked`}
      onClose={onClose}
    >
      {(form) => (
        <Stack gap="md">
          <Family form={form} />
          <Basics form={form} />
          <CredentialSource form={form} stored={false} />
          <Models form={form} />
          <Behavior form={form} />
        </Stack>
      )}
    </FormModal>
  );
}

export function EditProvider({ provider, onClose }: { provider: Provider; onClose: () => void }) {
  const id = { path: { id: provider.id } };
  return (
    <EditModal
      title={`Edit ${provider.name}`}
      size="lg"
      submit="Save"
      load={() => read(api.GET(`${path}/{id}`, { params: id }))}
      from={valuesOf}
      save={(v, etag) => body(api.PUT(`${path}/{id}`, { params: { ...id, header: { 'If-Match': etag } }, body: changes(v) }))}
      checks={(v) => ({ credentials: checkDocument(v.credentials) })}
      done={(p) => `${p.name} is saved`}
      onClose={onClose}
    >
      {(form, row) => (
        <Stack gap="md">
          <Basics form={form} />
          <CredentialSource form={form} stored={row.secret_path !== '' && row.connection_id === null} />
          <Behavior form={form} />
        </Stack>
      )}
    </EditModal>
  );
}

function valuesOf(p: Provider): Values {
  return {
    ...empty,
    name: p.name,
    model_provider: p.model_provider,
    base_url: p.base_url,
    auth_type: p.auth_type,
    source: p.connection_id ? 'shared' : 'own',
    connection_id: p.connection_id,
    settings: Object.fromEntries(Object.entries(p.settings).map(([k, v]) => [k, String(v)])),
    enforce_health_check: p.enforce_health_check,
    billing_mode: p.billing_mode,
    billing_reason: p.billing_reason,
    billing_note: p.billing_note ?? '',
    request_timeout_secs: p.request_timeout_secs ?? '',
    stream_idle_timeout_secs: p.stream_idle_timeout_secs ?? '',
  };
}

function changes(v: Values) {
  return {
    name: v.name.trim(),
    base_url: v.base_url.trim(),
    settings: filled(v.settings),
    enforce_health_check: v.enforce_health_check,
    request_timeout_secs: seconds(v.request_timeout_secs),
    stream_idle_timeout_secs: seconds(v.stream_idle_timeout_secs),
    ...billing(v),
    ...(v.source === 'shared' ? { connection_id: v.connection_id } : { auth_type: v.auth_type, connection_id: null, ...secretBody(v) }),
  };
}

function Family({ form }: { form: Form<Values> }) {
  const known = useQuery(catalog).data ?? [];
  const choose = (family: string | null) => {
    const entry = known.find((c) => c.slug === family);
    if (entry) {
      form.setValues({
        model_provider: entry.slug,
        base_url: entry.default_base_url ?? '',
        auth_type: entry.auth_type,
        models: [],
        settings: {},
        connection_id: null,
      });
    }
  };
  return (
    <Select
      label="Vendor"
      description="Whose models they are, or whose dialect the endpoint speaks."
      searchable
      allowDeselect={false}
      data={familyOptions}
      value={form.values.model_provider}
      error={form.errors.model_provider}
      onChange={choose}
    />
  );
}

function Basics({ form }: { form: Form<Values> }) {
  const settings = Object.entries(settingsOf[form.values.model_provider] ?? {});
  return (
    <>
      <TextInput
        label="Name"
        description="Callers may also ask for <name>/<model>, with a - for each space."
        data-autofocus
        autoComplete="off"
        {...form.getInputProps('name')}
      />
      <TextInput label="Base URL" placeholder="https://…" type="url" spellCheck={false} {...form.getInputProps('base_url')} />
      {settings.length > 0 && (
        <div className={classes.two}>
          {settings.map(([key, label]) => (
            <TextInput
              key={key}
              label={label}
              value={form.values.settings[key] ?? ''}
              onChange={(e) => form.setFieldValue('settings', { ...form.values.settings, [key]: e.currentTarget.value })}
            />
          ))}
        </div>
      )}
    </>
  );
}

function CredentialSource({ form, stored }: { form: Form<Values>; stored: boolean }) {
  const shared = (useQuery(connections).data ?? []).filter((c) => c.model_provider === form.values.model_provider);
  return (
    <>
      {(shared.length > 0 || form.values.source === 'shared') && (
        <SegmentedControl
          aria-label="Which credential"
          data={[
            { value: 'own', label: 'A credential of its own' },
            { value: 'shared', label: 'A shared credential' },
          ]}
          {...form.getInputProps('source')}
        />
      )}
      {form.values.source === 'shared' ? (
        <Select
          label="Shared credential"
          allowDeselect={false}
          data={shared.map((c) => ({ value: c.id, label: c.name }))}
          {...form.getInputProps('connection_id')}
        />
      ) : (
        <SecretFields form={form} stored={stored} />
      )}
    </>
  );
}

function Models({ form }: { form: Form<Values> }) {
  const usual = useQuery(catalog).data?.find((c) => c.slug === form.values.model_provider)?.default_models ?? [];
  return (
    <TagsInput
      label="Models to enable"
      description="As the provider calls them. More can be enabled later, under Models."
      placeholder={form.values.models.length ? undefined : 'Choose, or type and press Enter'}
      data={usual}
      {...form.getInputProps('models')}
    />
  );
}

const reasons = [
  { value: 'subscription', label: 'Subscription' },
  { value: 'local', label: 'Runs on our own machines' },
  { value: 'external', label: 'Billed elsewhere' },
  { value: 'other', label: 'Other' },
];

function Behavior({ form }: { form: Form<Values> }) {
  return (
    <>
      <div className={classes.two}>
        <NumberInput
          label="Whole answer"
          description="1 to 600 s, where a target sets none"
          placeholder="120 s"
          suffix=" s"
          allowDecimal={false}
          clampBehavior="none"
          {...form.getInputProps('request_timeout_secs')}
        />
        <NumberInput
          label="Silence of a stream"
          description="1 to 300 s, where a target sets none"
          placeholder="180 s"
          suffix=" s"
          allowDecimal={false}
          clampBehavior="none"
          {...form.getInputProps('stream_idle_timeout_secs')}
        />
      </div>
      <Switch
        label="Hold it to its connection check"
        description="While the check fails, its targets are skipped."
        {...form.getInputProps('enforce_health_check', { type: 'checkbox' })}
      />
      <div className={classes.two}>
        <Select
          label="Billing"
          allowDeselect={false}
          data={[
            { value: 'per_token', label: 'Per token' },
            { value: 'not_metered', label: 'Not metered' },
          ]}
          {...form.getInputProps('billing_mode')}
        />
        {form.values.billing_mode === 'not_metered' && <Select label="Why" data={reasons} {...form.getInputProps('billing_reason')} />}
      </div>
      {form.values.billing_mode === 'not_metered' && (
        <TextInput label="Note" description="At most 200 characters, for people." {...form.getInputProps('billing_note')} />
      )}
    </>
  );
}
