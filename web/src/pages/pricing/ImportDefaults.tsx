import { Button, Checkbox, Group, Stack, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useChange } from '../../api/change';
import { api, body } from '../../api/client';
import { defaultPrices } from '../../api/queries';
import type { ModelPricingDefault } from '../../api/schema';
import { count } from '../../shared/Confirm';
import { price } from '../../shared/money';
import { Loaded } from '../../shared/State';
import { Window } from '../../shared/Window';
import { families } from '../../shared/words';
import classes from './pricing.module.css';

/** Makes prices of one's own of the defaults that come with the product. */
export function ImportDefaults({ onClose }: { onClose: () => void }) {
  const query = useQuery(defaultPrices);
  return (
    <Window onClose={onClose} title="Import default prices" size="lg">
      <Loaded query={query}>{(list) => <Choose list={list} onClose={onClose} />}</Loaded>
    </Window>
  );
}

function Choose({ list, onClose }: { list: readonly ModelPricingDefault[]; onClose: () => void }) {
  const [q, setQ] = useState('');
  const [follow, setFollow] = useState(false);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const wanted = q.trim().toLowerCase();
  const familyOf = (d: ModelPricingDefault) => families[d.model_provider as keyof typeof families] ?? d.model_provider;
  const shown = list.filter((d) => `${d.model_pattern} ${familyOf(d)}`.toLowerCase().includes(wanted));
  const all = shown.length > 0 && shown.every((d) => chosen.has(d.id));
  const set = (ids: string[], on: boolean) =>
    setChosen((before) => new Set(on ? [...before, ...ids] : [...before].filter((id) => !ids.includes(id))));
  const change = useChange({
    run: () =>
      body(
        api.POST('/api/llm-gateway/admin/model-pricing/import-defaults', {
          body: { ids: [...chosen], sync_mode: follow ? 'tracking' : 'pinned' },
        }),
      ),
    done: ({ imported }) => (imported === 0 ? 'All of them were there already' : `${count(imported, 'price')} imported`),
    after: onClose,
  });
  return (
    <Stack gap="sm">
      <TextInput
        leftSection={<IconSearch size={16} />}
        placeholder="Search models and vendors"
        aria-label="Search the defaults"
        data-autofocus
        value={q}
        onChange={(e) => setQ(e.currentTarget.value)}
      />
      <Group justify="space-between">
        <Checkbox
          label={wanted ? 'All that match' : 'All'}
          checked={all}
          indeterminate={!all && shown.some((d) => chosen.has(d.id))}
          disabled={shown.length === 0}
          onChange={() =>
            set(
              shown.map((d) => d.id),
              !all,
            )
          }
        />
        <p className={classes.count} role="status">
          {shown.length} of {list.length} shown, {chosen.size} chosen
        </p>
      </Group>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to get into it */}
      <section className={classes.defaults} aria-label="Default prices" tabIndex={0}>
        {shown.map((d) => (
          <div key={d.id} className={classes.default}>
            <Checkbox
              className={classes.defaultName}
              checked={chosen.has(d.id)}
              onChange={(e) => set([d.id], e.currentTarget.checked)}
              label={
                <>
                  <span className="mono">{d.model_pattern}</span> <span className={classes.dim}>{familyOf(d)}</span>
                </>
              }
            />
            <span className={classes.dim}>
              {price(d.input_cost_per_million_tokens)} in · {price(d.output_cost_per_million_tokens)} out
            </span>
          </div>
        ))}
      </section>
      <Checkbox
        label="Follow the defaults when they change"
        description="Else they stay as they are now."
        checked={follow}
        onChange={(e) => setFollow(e.currentTarget.checked)}
      />
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button disabled={chosen.size === 0} loading={change.isPending} onClick={() => change.mutate()}>
          Import {count(chosen.size, 'price')}
        </Button>
      </Group>
    </Stack>
  );
}
