import { Button, SegmentedControl } from '@mantine/core';
import { IconArchive, IconCoin, IconDownload, IconHistory, IconPencil } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useChange } from '../../api/change';
import { api, body } from '../../api/client';
import { archivedPrices, configStatus, prices } from '../../api/queries';
import type { ModelPricing } from '../../api/schema';
import { Badge } from '../../shared/Badge';
import { Confirm, count } from '../../shared/Confirm';
import type { Column } from '../../shared/DataTable';
import { ListPage } from '../../shared/ListPage';
import { price } from '../../shared/money';
import { RowMenu } from '../../shared/RowMenu';
import { When } from '../../shared/When';
import { families } from '../../shared/words';
import { History } from './History';
import { ImportDefaults } from './ImportDefaults';
import { NewPrice } from './PriceForm';

const path = '/api/llm-gateway/admin/model-pricing/{id}' as const;

export function PricingPage() {
  const [which, setWhich] = useState('current');
  const [importing, setImporting] = useState(false);
  const current = useQuery(prices);
  const archived = useQuery(archivedPrices);
  const billed = useQuery(configStatus).data?.acts.model_pricing ?? true;
  const archive = which === 'archived';
  return (
    <ListPage
      title="Model Pricing"
      about={`What use of models costs, in dollars per million tokens. Prices are never overwritten: each change is a version from a moment on.${billed ? '' : ' Use is not billed yet.'}`}
      query={archive ? archived : current}
      id={(p) => p.id}
      words={(p) => `${p.model_pattern} ${scopeOf(p)}`}
      empty={
        archive
          ? {
              icon: <IconArchive size={22} />,
              title: 'Nothing is archived',
              words: 'A price that is archived is listed here, and can be restored.',
            }
          : {
              icon: <IconCoin size={22} />,
              title: 'No prices of your own',
              words:
                'Models have the default prices that come with Spillway until you set your own. Import the defaults to keep them as they are now.',
            }
      }
      create={archive ? undefined : { act: 'Add price', form: (close) => <NewPrice onClose={close} /> }}
      actions={
        <Button variant="default" leftSection={<IconDownload size={16} />} onClick={() => setImporting(true)}>
          Import defaults
        </Button>
      }
      tools={
        <SegmentedControl
          aria-label="Which prices"
          value={which}
          onChange={setWhich}
          data={[
            { value: 'current', label: 'Current' },
            { value: 'archived', label: `Archived${archived.data?.length ? ` (${archived.data.length})` : ''}` },
          ]}
        />
      }
      columns={archive ? archivedColumns : currentColumns}
    >
      {importing && <ImportDefaults onClose={() => setImporting(false)} />}
    </ListPage>
  );
}

/** Where a price counts, in words. */
export function scopeOf(p: Pick<ModelPricing, 'provider_name' | 'provider_id' | 'model_provider'>): string {
  if (p.provider_id) {
    return p.provider_name ?? 'a provider that is gone';
  }
  return p.model_provider ? (families[p.model_provider as keyof typeof families] ?? p.model_provider) : 'anywhere';
}

const figures: Column<ModelPricing>[] = [
  { title: 'Model', width: 'minmax(0, 1.4fr)', cell: (p) => <span className="mono">{p.model_pattern}</span> },
  { title: 'Where', cell: scopeOf },
  { title: 'Input', width: '76px', cell: (p) => <span className="figures">{price(p.input_cost_per_million_tokens)}</span> },
  { title: 'Output', width: '76px', cell: (p) => <span className="figures">{price(p.output_cost_per_million_tokens)}</span> },
  {
    title: 'Cache read',
    width: '84px',
    wide: true,
    cell: (p) => <span className="figures">{price(p.cache_read_cost_per_million_tokens)}</span>,
  },
  {
    title: 'Cache write',
    width: '84px',
    wide: true,
    cell: (p) => <span className="figures">{price(p.cache_write_cost_per_million_tokens)}</span>,
  },
];

const currentColumns: Column<ModelPricing>[] = [
  ...figures,
  {
    title: 'Since',
    width: '170px',
    wide: true,
    cell: (p) => (
      <>
        <When at={p.effective_from} relative />{' '}
        {(p.scheduled_count ?? 0) > 0 && (
          <Badge
            tone="info"
            tip={
              <>
                The next one holds from <When at={p.next_scheduled_effective_from} />.
              </>
            }
          >
            {p.scheduled_count} scheduled
          </Badge>
        )}
      </>
    ),
  },
  {
    title: '',
    width: '32px',
    end: true,
    cell: (p) => (
      <RowMenu
        of={p.model_pattern}
        acts={[
          { title: 'New price', icon: IconPencil, open: (close) => <NewPrice from={p} onClose={close} /> },
          { title: 'History', icon: IconHistory, open: (close) => <History of={p} onClose={close} /> },
          { title: 'Archive', icon: IconArchive, danger: true, open: (close) => <Archive of={p} onClose={close} /> },
        ]}
      />
    ),
  },
];

const archivedColumns: Column<ModelPricing>[] = [
  ...figures,
  { title: 'Archived', width: '130px', wide: true, cell: (p) => <When at={p.created_at} relative /> },
  { title: '', width: '84px', end: true, cell: (p) => <Restore of={p} /> },
];

function Archive({ of: p, onClose }: { of: ModelPricing; onClose: () => void }) {
  return (
    <Confirm
      title={`Archive the price of ${p.model_pattern}?`}
      act="Archive price"
      run={() => body(api.DELETE(path, { params: { path: { id: p.id } } }))}
      done={`The price of ${p.model_pattern} is archived`}
      onClose={onClose}
    >
      From now on {p.model_pattern} ({scopeOf(p)}) has the next price that fits, or the default.
      {(p.scheduled_count ?? 0) > 0 && <> {count(p.scheduled_count ?? 0, 'scheduled price')} of it will not come.</>} Its history stays, and
      it can be restored.
    </Confirm>
  );
}

function Restore({ of: p }: { of: ModelPricing }) {
  const change = useChange({
    run: () => body(api.POST(`${path}/restore`, { params: { path: { id: p.id } } })),
    done: `The price of ${p.model_pattern} holds again`,
  });
  return (
    <Button
      size="compact-xs"
      variant="default"
      loading={change.isPending}
      onClick={() => change.mutate()}
      aria-label={`Restore ${p.model_pattern}`}
    >
      Restore
    </Button>
  );
}
