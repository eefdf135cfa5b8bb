import { ActionIcon, Autocomplete, Button, Checkbox, Select, Stack } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { catalog, mappings, providers } from '../../api/queries';
import type { ModelMapping, ModelProvider } from '../../api/schema';
import { Boxed } from '../../shared/Boxed';
import type { Form } from '../../shared/FormModal';
import classes from './routes.module.css';

export interface Picked extends Record<string, unknown> {
  provider_id: string | null;
  upstream_model: string;
}

export interface TargetValues extends Record<string, unknown> {
  targets: Picked[];
  enable_models: boolean;
}

export const noTarget: Picked = { provider_id: null, upstream_model: '' };

/** Whether the model is enabled on the provider, so that a route may use it. */
function isEnabled(list: readonly ModelMapping[], t: Picked): boolean {
  return list.some(
    (m) => m.provider_id === t.provider_id && m.upstream_model === t.upstream_model && m.model_alias === m.upstream_model && m.enabled,
  );
}

export function missing(list: readonly ModelMapping[], targets: readonly Picked[]): Picked[] {
  return targets.filter((t) => t.provider_id && t.upstream_model && !isEnabled(list, t));
}

/** What the API is sent of them. */
export const targetsOf = ({ targets, enable_models }: TargetValues) => ({
  enable_models,
  targets: targets.map((t) => ({ provider_id: t.provider_id ?? '', upstream_model: t.upstream_model.trim() })),
});

/** Targets to choose, in the order in which they will be tried. */
export function TargetPicker<V extends TargetValues>({ form, first = 1 }: { form: Form<V>; first?: number }) {
  // A form with more fields is used as one of these alone.
  const own = form as unknown as Form<TargetValues>;
  const targets = form.values.targets;
  const models = useQuery(mappings).data ?? [];
  const lacking = missing(models, targets);
  return (
    <Stack gap="sm">
      {targets.map((t, i) => (
        <TargetFields
          key={i}
          form={own}
          index={i}
          number={first + i}
          target={t}
          onRemove={targets.length > 1 ? () => own.removeListItem('targets', i) : undefined}
        />
      ))}
      <Button
        variant="default"
        size="xs"
        leftSection={<IconPlus size={14} />}
        onClick={() => own.insertListItem('targets', noTarget)}
        className={classes.another}
      >
        Another target
      </Button>
      {lacking.length > 0 && (
        <Checkbox
          label={`Enable ${lacking.map((t) => t.upstream_model).join(', ')} on the provider`}
          description="A route can use a model only where it is enabled; by its provider’s name it can be called too, then."
          {...own.getInputProps('enable_models', { type: 'checkbox' })}
        />
      )}
    </Stack>
  );
}

interface FieldsProps {
  form: Form<TargetValues>;
  index: number;
  number: number;
  target: Picked;
  onRemove?: () => void;
}

function TargetFields({ form, index, number, target, onRemove }: FieldsProps) {
  const list = useQuery(providers).data ?? [];
  const suggestions = useSuggestions(target.provider_id);
  return (
    <Boxed className={classes.pick} title={`Target ${number}`}>
      <Select
        label="Provider"
        searchable
        placeholder={list.length ? 'Choose a provider' : 'Create a provider first'}
        nothingFoundMessage="There is no such provider"
        data={list.map((p) => ({ value: p.id, label: p.name }))}
        {...form.getInputProps(`targets.${index}.provider_id`)}
      />
      <Autocomplete
        label="Model"
        placeholder="What the provider calls it"
        spellCheck={false}
        data={suggestions}
        limit={50}
        {...form.getInputProps(`targets.${index}.upstream_model`)}
      />
      {onRemove && (
        <ActionIcon variant="subtle" color="gray" onClick={onRemove} aria-label={`Leave out target ${number}`} className={classes.unpick}>
          <IconX size={16} />
        </ActionIcon>
      )}
    </Boxed>
  );
}

/** The models that a provider is known to have: those enabled on it, then those of its family. */
function useSuggestions(providerId: string | null): string[] {
  const enabled = (useQuery(mappings).data ?? []).filter((m) => m.provider_id === providerId).map((m) => m.upstream_model);
  const family: ModelProvider | undefined = useQuery(providers).data?.find((p) => p.id === providerId)?.model_provider;
  const usual = useQuery(catalog).data?.find((c) => c.slug === family)?.default_models ?? [];
  return [...new Set([...enabled, ...usual])];
}
