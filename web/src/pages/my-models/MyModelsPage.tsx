import { Button } from '@mantine/core';
import { IconKey, IconPlus, IconSparkles } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../../api/client';
import { ownKeys, ownModels } from '../../api/queries';
import { useRecovery } from '../../api/recovery';
import type { ApiKeySecret, OwnModel } from '../../api/schema';
import { useGateway } from '../../app/session';
import { Badge } from '../../shared/Badge';
import { Copy, CopyLine } from '../../shared/Copy';
import { DataTable } from '../../shared/DataTable';
import { expiry } from '../../shared/expiry';
import { cooldownBadge } from '../../shared/health/badges';
import { StateBadge } from '../../shared/health/HealthBadges';
import { isOver, type KeyCalls, type KeyValues, keyColumns, MakeKey, NewKey } from '../../shared/KeyTable';
import { Page, Section } from '../../shared/Page';
import { Empty, Loaded } from '../../shared/State';
import { Setup } from '../../shared/setup/Setup';
import classes from './my-models.module.css';

const path = '/api/llm-gateway/user/api-keys/{id}' as const;

const calls: KeyCalls = {
  disable: (id, disabled) => body(api.PATCH(path, { params: { path: { id } }, body: { disabled } })),
  rotate: (id, grace_secs) => body(api.POST(`${path}/rotate`, { params: { path: { id } }, body: { grace_secs } })),
  revoke: (id) => body(api.DELETE(path, { params: { path: { id } } })),
};

/** What I can call, and how. */
export function MyModelsPage() {
  const query = useQuery(ownModels);
  const gateway = useGateway();
  const names = routesFirst(query.data?.models ?? []).map((m) => m.model_alias);
  return (
    <Page title="My Models" about="The models you may call through the gateway, your keys, and how to set up your tools.">
      <Section title="Endpoint" about="Tools that speak OpenAI’s API want the address with /v1; those that speak Anthropic’s, without.">
        <div className={classes.endpoints}>
          <div>
            <div className={classes.label}>OpenAI base URL</div>
            <CopyLine value={`${gateway}/v1`} what="the OpenAI base URL" />
          </div>
          <div>
            <div className={classes.label}>Anthropic base URL</div>
            <CopyLine value={gateway} what="the Anthropic base URL" />
          </div>
        </div>
      </Section>
      <OwnKeys models={names} />
      <Section title="Models" about={query.data ? `You may call ${query.data.model_count}. Put the name in “model”.` : undefined}>
        <Loaded query={query} rows={3}>
          {(data) => <Models list={routesFirst(data.models)} at={query.dataUpdatedAt} />}
        </Loaded>
      </Section>
      {names.length > 0 && (
        <Section title="Set up a tool" about="Put one of your keys in place of bd-...; a new key comes with its setup ready to paste.">
          <Setup models={names} />
        </Section>
      )}
    </Page>
  );
}

/** What was made for callers goes before the models that they can also name by their provider. */
export const routesFirst = (list: readonly OwnModel[]) => [
  ...list.filter((m) => m.model_kind !== 'direct'),
  ...list.filter((m) => m.model_kind === 'direct'),
];

function Models({ list, at }: { list: readonly OwnModel[]; at: number }) {
  useRecovery(
    at,
    list.map((m) => m.route_health_status?.recovers_in_secs),
  );
  return (
    <DataTable
      label="Models"
      rows={list}
      id={(m) => m.model_alias}
      empty={
        <Empty icon={<IconSparkles size={22} />} title="No models yet">
          Nothing is set up that you may call. Ask an administrator to give you access to a route.
        </Empty>
      }
      columns={[
        {
          title: 'Name',
          width: 'minmax(0, 1.4fr)',
          cell: (m) => (
            <span className={classes.model}>
              <span className="mono">{m.model_alias}</span>
              <Copy value={m.model_alias} what={m.model_alias} />
            </span>
          ),
        },
        {
          title: 'Answered by',
          cell: (m) => (
            <>
              {m.provider_name} <span className={classes.dim}>{m.upstream_model}</span>
            </>
          ),
        },
        {
          title: 'Kind',
          width: '110px',
          cell: (m) =>
            m.model_kind === 'route' ? <Badge tone="info">{m.is_grouped ? 'Route' : 'Alias'}</Badge> : <Badge tone="note">Direct</Badge>,
        },
        { title: 'State', width: '180px', cell: (m) => <State model={m} at={at} /> },
      ]}
    />
  );
}

function State({ model, at }: { model: OwnModel; at: number }) {
  const badge = cooldownBadge(model.route_health_status);
  return badge ? <StateBadge badge={badge} at={at} /> : <Badge tone="ok">Available</Badge>;
}

function OwnKeys({ models }: { models: string[] }) {
  const query = useQuery(ownKeys);
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<ApiKeySecret>();
  const create = (
    <Button size="xs" leftSection={<IconPlus size={14} />} onClick={() => setCreating(true)}>
      Create key
    </Button>
  );
  return (
    <Section title="My keys" about="Keep one for each tool, so that you can end it alone." actions={create}>
      <Loaded query={query} rows={2}>
        {(list) => (
          <DataTable
            label="My keys"
            rows={list.filter((k) => !k.revoked_at)}
            id={(k) => k.id}
            faint={isOver}
            columns={keyColumns(calls, setMade)}
            empty={
              <Empty icon={<IconKey size={22} />} title="You have no key yet">
                Create one, and paste the setup that comes with it into your tool.
              </Empty>
            }
          />
        )}
      </Loaded>
      {made && <NewKey made={made} models={models} onClose={() => setMade(undefined)} />}
      {creating && <CreateOwnKey models={models} onClose={() => setCreating(false)} />}
    </Section>
  );
}

function CreateOwnKey({ models, onClose }: { models: string[]; onClose: () => void }) {
  return (
    <MakeKey
      initial={{ name: '', days: '' } as KeyValues}
      where="Where you use it, say “laptop”."
      create={(v) => body(api.POST('/api/llm-gateway/user/api-keys', { body: { name: v.name.trim(), ...expiry(v.days, new Date()) } }))}
      models={models}
      onClose={onClose}
    />
  );
}
