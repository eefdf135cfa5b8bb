import { Alert, NumberInput, Select, Stack, Switch, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, body, read } from '../../api/client';
import { providers } from '../../api/queries';
import type { ModelPricing } from '../../api/schema';
import { EditModal, type Form, FormModal, needed } from '../../shared/FormModal';
import { toInput } from '../../shared/time';
import { familyOptions } from '../../shared/words';
import classes from './pricing.module.css';

type Cost = number | string;

interface Values extends Record<string, unknown> {
  model_pattern: string;
  /** "" anywhere, "family:x", or "provider:id". */
  where: string;
  input_cost_per_million_tokens: Cost;
  output_cost_per_million_tokens: Cost;
  cache_read_cost_per_million_tokens: Cost;
  cache_write_cost_per_million_tokens: Cost;
  later: boolean;
  effective_from: string;
  change_reason: string;
}

const moment = (value: string) => (Number.isNaN(Date.parse(value)) ? 'Enter a day and a time.' : null);

const checks = (v: Values) => ({
  input_cost_per_million_tokens: needed(v.input_cost_per_million_tokens),
  output_cost_per_million_tokens: needed(v.output_cost_per_million_tokens),
  effective_from: v.later ? moment(v.effective_from) : null,
});

const params = { model_provider: 'where', provider_id: 'where', catalog_slug: 'where' };

function valuesOf(p: ModelPricing): Values {
  return {
    model_pattern: p.model_pattern,
    where: p.provider_id ? `provider:${p.provider_id}` : p.model_provider ? `family:${p.model_provider}` : '',
    input_cost_per_million_tokens: p.input_cost_per_million_tokens,
    output_cost_per_million_tokens: p.output_cost_per_million_tokens,
    cache_read_cost_per_million_tokens: p.cache_read_cost_per_million_tokens ?? '',
    cache_write_cost_per_million_tokens: p.cache_write_cost_per_million_tokens ?? '',
    later: false,
    effective_from: toInput(new Date(p.effective_from)),
    change_reason: '',
  };
}

/** The costs as they are sent: an empty one is left out, or null where the API clears by it. */
function costs<E extends null | undefined>(v: Values, empty: E) {
  const optional = (c: Cost) => (c === '' ? empty : Number(c));
  return {
    input_cost_per_million_tokens: Number(v.input_cost_per_million_tokens),
    output_cost_per_million_tokens: Number(v.output_cost_per_million_tokens),
    cache_read_cost_per_million_tokens: optional(v.cache_read_cost_per_million_tokens),
    cache_write_cost_per_million_tokens: optional(v.cache_write_cost_per_million_tokens),
  };
}

function place(where: string): { model_provider?: string; provider_id?: string } {
  const [kind, value] = where.split(':');
  return kind === 'provider' ? { provider_id: value } : kind === 'family' ? { model_provider: value } : {};
}

/** A price from now on, or from a moment in the future. `from` is the one that it follows. */
export function NewPrice({ from, onClose }: { from?: ModelPricing; onClose: () => void }) {
  const empty: Values = {
    model_pattern: '',
    where: '',
    input_cost_per_million_tokens: '',
    output_cost_per_million_tokens: '',
    cache_read_cost_per_million_tokens: '',
    cache_write_cost_per_million_tokens: '',
    later: false,
    effective_from: '',
    change_reason: '',
  };
  const initial = { ...(from ? valuesOf(from) : empty), effective_from: toInput(new Date(Date.now() + 86_400_000)) };
  const save = (v: Values) =>
    body(
      api.POST('/api/llm-gateway/admin/model-pricing', {
        body: {
          model_pattern: v.model_pattern.trim(),
          ...place(v.where),
          ...costs(v, undefined),
          ...(v.later ? { effective_from: new Date(v.effective_from).toISOString() } : {}),
          ...(v.change_reason ? { change_reason: v.change_reason } : {}),
        },
      }),
    );
  return (
    <FormModal
      title={from ? `New price of ${from.model_pattern}` : 'Add a price'}
      submit={from ? 'Save price' : 'Add price'}
      initial={initial}
      params={params}
      checks={checks}
      save={save}
      done={(p) =>
        new Date(p.effective_from) > new Date() ? `The price of ${p.model_pattern} is scheduled` : `The price of ${p.model_pattern} is set`
      }
      onClose={onClose}
    >
      {(form) => (
        <Stack gap="md">
          {!from && <What form={form} />}
          <Costs form={form} />
          <Switch label="From a moment in the future" {...form.getInputProps('later', { type: 'checkbox' })} />
          {form.values.later && <From form={form} />}
          <TextInput label="Reason" description="For people who read the history." {...form.getInputProps('change_reason')} />
        </Stack>
      )}
    </FormModal>
  );
}

/** Changes a price that is only scheduled; one that held cannot be changed any more. */
export function EditScheduled({ of, onClose }: { of: ModelPricing; onClose: () => void }) {
  return (
    <EditModal
      title={`Scheduled price of ${of.model_pattern}`}
      submit="Save"
      load={() => read(api.GET('/api/llm-gateway/admin/model-pricing/version/{id}', { params: { path: { id: of.id } } }))}
      from={(p) => ({ ...valuesOf(p), later: true, change_reason: p.change_reason ?? '' })}
      params={params}
      checks={checks}
      save={(v) =>
        body(
          api.PUT('/api/llm-gateway/admin/model-pricing/{id}', {
            params: { path: { id: of.id } },
            body: { ...costs(v, null), effective_from: new Date(v.effective_from).toISOString(), change_reason: v.change_reason },
          }),
        )
      }
      done="The scheduled price is changed"
      onClose={onClose}
    >
      {(form) => (
        <Stack gap="md">
          <Costs form={form} />
          <From form={form} />
          <TextInput label="Reason" {...form.getInputProps('change_reason')} />
        </Stack>
      )}
    </EditModal>
  );
}

function What({ form }: { form: Form<Values> }) {
  const list = useQuery(providers).data ?? [];
  const where = [
    { value: '', label: 'Anywhere' },
    { group: 'A provider of yours', items: list.map((p) => ({ value: `provider:${p.id}`, label: p.name })) },
    { group: 'A vendor', items: familyOptions.map((f) => ({ value: `family:${f.value}`, label: f.label })) },
  ];
  return (
    <>
      <TextInput
        label="Model"
        description="As the provider calls it; with a * at the end, all that begin so."
        data-autofocus
        spellCheck={false}
        autoComplete="off"
        {...form.getInputProps('model_pattern')}
      />
      <Select
        label="Where"
        description="The price of a provider goes before that of a vendor."
        searchable
        allowDeselect={false}
        data={where}
        {...form.getInputProps('where')}
      />
    </>
  );
}

const fields = [
  ['input_cost_per_million_tokens', 'Input'],
  ['output_cost_per_million_tokens', 'Output'],
  ['cache_read_cost_per_million_tokens', 'Cache read'],
  ['cache_write_cost_per_million_tokens', 'Cache write'],
] as const;

function Costs({ form }: { form: Form<Values> }) {
  return (
    <>
      <div className={classes.costs}>
        {fields.map(([name, label]) => (
          <NumberInput
            key={name}
            label={label}
            prefix="$"
            min={0}
            decimalScale={6}
            hideControls
            clampBehavior="none"
            {...form.getInputProps(name)}
          />
        ))}
      </div>
      <Alert variant="outline" color="gray" p="xs">
        Dollars per million tokens. Without a price of their own, cached tokens cost as much as input.
      </Alert>
    </>
  );
}

function From({ form }: { form: Form<Values> }) {
  return <TextInput type="datetime-local" label="From" description="In your local time." {...form.getInputProps('effective_from')} />;
}
