import { ActionIcon, Autocomplete, Button, Select, Stack, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { providers, routeGroups, routes } from '../../api/queries';
import { Boxed } from '../../shared/Boxed';
import type { Form } from '../../shared/FormModal';
import classes from './access.module.css';
import type { AccessValues, TargetValue } from './values';

export const noTarget: TargetValue = { kind: 'model_alias', alias: '', model: '', provider_id: null, group_id: null };

const kinds = [
  { value: 'model_alias', label: 'A route' },
  { value: 'route_group', label: 'A route group' },
  { value: 'model', label: 'A model, anywhere' },
  { value: 'provider', label: 'A provider' },
  { value: 'provider_model', label: 'A model of a provider' },
];

/** What a policy is about. */
export function TargetFields({ form }: { form: Form<AccessValues> }) {
  return (
    <Stack gap="xs">
      {form.values.targets.map((t, i) => (
        <Boxed key={i} className={classes.target} title={`What, ${i + 1}`}>
          <Select label="Kind" allowDeselect={false} data={kinds} {...form.getInputProps(`targets.${i}.kind`)} />
          <Which form={form} index={i} target={t} />
          {form.values.targets.length > 1 && (
            <ActionIcon
              variant="subtle"
              color="gray"
              className={classes.leave}
              onClick={() => form.removeListItem('targets', i)}
              aria-label={`Leave out ${i + 1}`}
            >
              <IconX size={16} />
            </ActionIcon>
          )}
          {form.errors[`targets.${i}`] && <div className={classes.error}>{form.errors[`targets.${i}`]}</div>}
        </Boxed>
      ))}
      {form.errors.targets && <div className={classes.error}>{form.errors.targets}</div>}
      <Button
        size="xs"
        variant="default"
        className={classes.another}
        leftSection={<IconPlus size={14} />}
        onClick={() => form.insertListItem('targets', noTarget)}
      >
        Another
      </Button>
    </Stack>
  );
}

function Which({ form, index, target }: { form: Form<AccessValues>; index: number; target: TargetValue }) {
  const aliases = (useQuery(routes).data ?? []).map((r) => r.model_alias);
  const groups = useQuery(routeGroups).data ?? [];
  const list = useQuery(providers).data ?? [];
  const field = (key: string) => form.getInputProps(`targets.${index}.${key}`);
  const provider = (
    <Select label="Provider" searchable data={list.map((p) => ({ value: p.id, label: p.name }))} {...field('provider_id')} />
  );
  const model = <TextInput label="Model" description="With a * at the end, all that begin so." spellCheck={false} {...field('model')} />;
  switch (target.kind) {
    case 'model_alias':
      return (
        <Autocomplete
          label="Route"
          description="With a * at the end, all that begin so."
          spellCheck={false}
          data={aliases}
          limit={50}
          {...field('alias')}
        />
      );
    case 'route_group':
      return <Select label="Route group" searchable data={groups.map((g) => ({ value: g.id, label: g.name }))} {...field('group_id')} />;
    case 'model':
      return model;
    case 'provider':
      return provider;
    case 'provider_model':
      return (
        <div className={classes.two}>
          {provider}
          {model}
        </div>
      );
  }
}
