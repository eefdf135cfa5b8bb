import { Select, Stack, TagsInput } from '@mantine/core';
import { IconBox, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../../api/client';
import { catalog, mappings, providers } from '../../api/queries';
import type { EffectivePricing, ModelMapping } from '../../api/schema';
import { Badge } from '../../shared/Badge';
import { Confirm, count, named } from '../../shared/Confirm';
import { routesUsing } from '../../shared/enablement';
import { FormModal } from '../../shared/FormModal';
import { TargetBadges } from '../../shared/health/HealthBadges';
import { ListPage } from '../../shared/ListPage';
import { price } from '../../shared/money';
import { useOneByOne } from '../../shared/oneByOne';
import { RowMenu } from '../../shared/RowMenu';
import { RowSwitch } from '../../shared/RowSwitch';

const path = '/api/llm-gateway/admin/model-mappings' as const;

export function ModelsPage() {
  const query = useQuery(mappings);
  const all = query.data ?? [];
  const [provider, setProvider] = useState<string | null>(null);
  const list = useQuery(providers).data ?? [];
  return (
    <ListPage<ModelMapping>
      title="Models"
      about="What may be used of each provider. A route can only have targets that are enabled here."
      query={query}
      keep={(m) => m.model_alias === m.upstream_model && (!provider || m.provider_id === provider)}
      id={(m) => m.id}
      words={(m) => `${m.upstream_model} ${m.provider_name}`}
      faint={(m) => !m.enabled}
      empty={{
        icon: <IconBox size={22} />,
        title: 'No models are enabled',
        words:
          list.length > 0 ? 'Enable models of a provider, so that routes can use them.' : 'Models are those of a provider: add one first.',
      }}
      create={{ act: 'Enable models', form: (close) => <EnableModels onClose={close} /> }}
      tools={
        <Select
          aria-label="Show only the models of a provider"
          placeholder="All providers"
          clearable
          searchable
          data={list.map((p) => ({ value: p.id, label: p.name }))}
          value={provider}
          onChange={setProvider}
        />
      }
      columns={[
        { title: 'Model', width: 'minmax(0, 1.3fr)', cell: (m) => <span className="mono">{m.upstream_model}</span> },
        { title: 'Provider', cell: (m) => m.provider_name },
        { title: 'State', width: '176px', cell: (m) => <TargetBadges mapping={m} at={query.dataUpdatedAt} /> },
        { title: 'Price per million', width: '170px', wide: true, cell: (m) => <Price pricing={m.effective_pricing} /> },
        { title: 'Used by', width: '84px', wide: true, cell: (m) => <Used names={routesUsing(all, m)} /> },
        {
          title: 'Enabled',
          width: '64px',
          cell: (m) => (
            <RowSwitch
              on={m.enabled}
              label={`${m.upstream_model} is enabled on ${m.provider_name}`}
              run={(enabled) => body(api.PUT(`${path}/{id}`, { params: { path: { id: m.id } }, body: { enabled } }))}
              done={(on) => `${m.upstream_model} is ${on ? 'enabled' : 'disabled'} on ${m.provider_name}`}
              off={darkens(m, routesUsing(all, m))}
            />
          ),
        },
        {
          title: '',
          width: '32px',
          end: true,
          cell: (m) => (
            <RowMenu
              of={m.upstream_model}
              acts={[
                {
                  title: 'Delete',
                  icon: IconTrash,
                  danger: true,
                  open: (close) => <DeleteModel mapping={m} routes={routesUsing(all, m)} onClose={close} />,
                },
              ]}
            />
          ),
        },
      ]}
    />
  );
}

/** What a model takes along when it is disabled. */
function darkens(m: ModelMapping, routes: string[]) {
  return routes.length === 0
    ? undefined
    : {
        title: `Disable ${m.upstream_model} on ${m.provider_name}?`,
        touches: `${named(routes)} ${routes.length === 1 ? 'skips' : 'skip'} it until it is enabled again. A route without another target serves nobody.`,
      };
}

const sources: Record<EffectivePricing['source'], string> = {
  org_instance: 'Your price for this provider',
  org_catalog: 'Your price for this vendor',
  org_generic: 'Your price for the model',
  barndoor_default: 'The default that comes with Spillway',
  none: 'Nothing knows a price: use is counted as unpriced',
  not_metered: 'The provider is not metered',
};

function Price({ pricing: p }: { pricing: EffectivePricing }) {
  if (p.source === 'not_metered') {
    return (
      <Badge tone="note" tip={sources.not_metered}>
        Not metered
      </Badge>
    );
  }
  if (p.input_cost_per_million_tokens === null) {
    return (
      <Badge tone="warn" tip={sources.none}>
        No price
      </Badge>
    );
  }
  return (
    <Badge tone="note" tip={sources[p.source]}>
      {price(p.input_cost_per_million_tokens)} in · {price(p.output_cost_per_million_tokens)} out
    </Badge>
  );
}

function Used({ names }: { names: string[] }) {
  return names.length === 0 ? (
    'no route'
  ) : (
    <Badge tone="note" tip={names.join(', ')}>
      {count(names.length, 'route')}
    </Badge>
  );
}

interface Enabling extends Record<string, unknown> {
  provider_id: string | null;
  models: string[];
}

function EnableModels({ onClose }: { onClose: () => void }) {
  const list = useQuery(providers).data ?? [];
  const usual = useQuery(catalog).data ?? [];
  const known = (id: string | null) => usual.find((c) => c.slug === list.find((p) => p.id === id)?.model_provider)?.default_models ?? [];
  const { run, progress } = useOneByOne();
  const enable = async ({ provider_id, models }: Enabling) => {
    await run(
      models.map((model) => ({
        key: `${provider_id} ${model}`,
        run: () => body(api.POST(path, { body: { provider_id: provider_id ?? '', model_alias: model, upstream_model: model } })),
      })),
    );
    return models.length;
  };
  return (
    <FormModal
      title="Enable models"
      submit="Enable"
      checks={(v) => ({
        provider_id: v.provider_id ? null : 'Choose a provider.',
        models: v.models.length > 0 ? null : 'Choose a model, or type its name and press Enter.',
      })}
      initial={{ provider_id: list.length === 1 ? (list[0]?.id ?? null) : null, models: [] } as Enabling}
      params={{ upstream_model: 'models', model_alias: 'models' }}
      save={enable}
      progress={progress}
      done={(n) => `${count(n, 'model')} enabled`}
      onClose={onClose}
    >
      {(form) => (
        <Stack gap="md">
          <Select
            label="Provider"
            searchable
            data={list.map((p) => ({ value: p.id, label: p.name }))}
            data-autofocus
            {...form.getInputProps('provider_id')}
          />
          <TagsInput
            label="Models"
            description="As the provider calls them."
            placeholder="Choose, or type and press Enter"
            data={known(form.values.provider_id)}
            {...form.getInputProps('models')}
          />
        </Stack>
      )}
    </FormModal>
  );
}

function DeleteModel({ mapping: m, routes, onClose }: { mapping: ModelMapping; routes: string[]; onClose: () => void }) {
  return (
    <Confirm
      title={`Delete ${m.upstream_model} of ${m.provider_name}?`}
      act="Delete model"
      run={() => body(api.DELETE(`${path}/{id}`, { params: { path: { id: m.id } } }))}
      done={`${m.upstream_model} is not enabled on ${m.provider_name} any more`}
      onClose={onClose}
    >
      {routes.length > 0 ? (
        <>{named(routes)} keep it as a target, and skip it until it is enabled again.</>
      ) : (
        'No route uses it. Callers can no longer ask for it by its provider’s name.'
      )}
    </Confirm>
  );
}
