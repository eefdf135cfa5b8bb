import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { groups, keys, users } from '../../api/queries';
import type { Form } from '../../shared/FormModal';
import classes from './access.module.css';
import type { AccessValues } from './values';

const scopes = [
  { value: 'user', label: 'A person' },
  { value: 'group', label: 'A group of people' },
  { value: 'api_key', label: 'One key' },
  { value: 'org', label: 'Everybody' },
];

/** Whom a policy is for. */
export function ScopeFields({ form }: { form: Form<AccessValues> }) {
  const people = useQuery(users).data ?? [];
  const teams = useQuery(groups).data ?? [];
  const all = useQuery(keys).data ?? [];
  const scope = form.values.scope_type;
  // A scope of a kind that holds nobody yet can come from the API; it is kept as it is.
  const known = scopes.some((s) => s.value === scope) ? scopes : [...scopes, { value: scope, label: scope }];
  return (
    <div className={classes.two}>
      <Select label="For" allowDeselect={false} data={known} {...form.getInputProps('scope_type')} />
      {scope === 'user' && (
        <Select
          label="Person"
          searchable
          clearable
          placeholder="Every person"
          data={people.map((u) => ({ value: u.id, label: `${u.name} (${u.email})` }))}
          {...form.getInputProps('scope_id')}
        />
      )}
      {scope === 'group' && (
        <Select
          label="Group"
          searchable
          clearable
          placeholder="Every group"
          data={[...new Set([...teams.map((g) => g.name), ...(form.values.scope_value ? [form.values.scope_value] : [])])]}
          value={form.values.scope_value || null}
          error={form.errors.scope_value}
          onChange={(v) => form.setFieldValue('scope_value', v ?? '')}
        />
      )}
      {scope === 'api_key' && (
        <Select
          label="Key"
          searchable
          clearable
          placeholder="Every key"
          data={all.filter((k) => !k.revoked_at).map((k) => ({ value: k.id, label: `${k.name} (${k.key_prefix}…)` }))}
          {...form.getInputProps('scope_id')}
        />
      )}
    </div>
  );
}
