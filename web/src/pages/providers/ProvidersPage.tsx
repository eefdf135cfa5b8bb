import { IconCloud, IconPencil, IconPlugConnected, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, body } from '../../api/client';
import { connections, mappings, providers } from '../../api/queries';
import type { Connection, ModelMapping, Provider } from '../../api/schema';
import { Badge } from '../../shared/Badge';
import { Confirm, count, named } from '../../shared/Confirm';
import { ListPage } from '../../shared/ListPage';
import { RowMenu } from '../../shared/RowMenu';
import { RowSwitch } from '../../shared/RowSwitch';
import { When } from '../../shared/When';
import { authTypes, families } from '../../shared/words';
import { CreateProvider, EditProvider } from './ProviderForm';
import classes from './providers.module.css';
import { TestConnection } from './TestConnection';

const path = '/api/llm-gateway/admin/providers/{id}' as const;

export function ProvidersPage() {
  const query = useQuery(providers);
  const shared = useQuery(connections).data ?? [];
  const rows = useQuery(mappings).data ?? [];
  return (
    <ListPage
      title="Providers"
      about="The accounts at model vendors that the gateway calls. Each brings models, which routes use as targets."
      query={query}
      id={(p) => p.id}
      words={(p) => `${p.name} ${families[p.model_provider]} ${p.base_url}`}
      faint={(p) => !p.enabled}
      empty={{
        icon: <IconCloud size={22} />,
        title: 'No providers yet',
        words: 'Connect an account at a model vendor: its address and a key. Its connection is checked at once, and every five minutes.',
      }}
      create={{ act: 'Add provider', form: (close) => <CreateProvider onClose={close} /> }}
      columns={[
        {
          title: 'Name',
          width: 'minmax(0, 1.2fr)',
          cell: (p) => (
            <>
              <div className={classes.name}>{p.name}</div>
              <div className={classes.dim}>{families[p.model_provider]}</div>
            </>
          ),
        },
        { title: 'Health', width: '124px', cell: (p) => <HealthBadge provider={p} /> },
        { title: 'Address', width: 'minmax(0, 1.4fr)', wide: true, cell: (p) => <span className="mono">{p.base_url}</span> },
        { title: 'Credential', width: 'minmax(0, 1.3fr)', wide: true, cell: (p) => <Credential provider={p} shared={shared} /> },
        { title: 'Billing', width: '104px', wide: true, cell: (p) => <Billing provider={p} /> },
        {
          title: 'Enabled',
          width: '64px',
          cell: (p) => (
            <RowSwitch
              on={p.enabled}
              label={`${p.name} is enabled`}
              run={(enabled) => body(api.PUT(path, { params: { path: { id: p.id } }, body: { enabled } }))}
              done={(on) => `${p.name} is ${on ? 'enabled' : 'disabled'}`}
              off={darkens(p, routesOn(rows, p))}
            />
          ),
        },
        {
          title: '',
          width: '32px',
          end: true,
          cell: (p) => (
            <RowMenu
              of={p.name}
              acts={[
                { title: 'Edit', icon: IconPencil, open: (close) => <EditProvider provider={p} onClose={close} /> },
                { title: 'Test connection', icon: IconPlugConnected, open: (close) => <TestConnection provider={p} onClose={close} /> },
                { title: 'Delete', icon: IconTrash, danger: true, open: (close) => <DeleteProvider provider={p} onClose={close} /> },
              ]}
            />
          ),
        },
      ]}
    />
  );
}

/** The routes that have a target on a provider, by name. */
export function routesOn(rows: readonly ModelMapping[], p: Provider): string[] {
  return [...new Set(rows.filter((m) => m.provider_id === p.id && m.bare_alias).map((m) => m.model_alias))];
}

/** What a provider takes along when it is disabled. */
function darkens(p: Provider, routes: string[]) {
  return routes.length === 0
    ? undefined
    : {
        title: `Disable ${p.name}?`,
        touches: `${named(routes)} ${routes.length === 1 ? 'skips its' : 'skip their'} targets on it until it is enabled again. A route without another target serves nobody.`,
      };
}

const healths = {
  healthy: { tone: 'ok', text: 'Healthy' },
  unhealthy: { tone: 'bad', text: 'Unhealthy' },
  unverified: { tone: 'note', text: 'Unverified' },
} as const;

export function HealthBadge({ provider: p }: { provider: Provider }) {
  const { tone, text } = healths[p.health_status];
  const serves = p.health_status !== 'unhealthy' || !p.enforce_health_check;
  const passes = p.auth_type === 'claude_oauth' || p.auth_type === 'codex_oauth';
  return (
    <Badge
      tone={serves && tone === 'bad' ? 'warn' : tone}
      tip={
        <>
          {p.health_detail ??
            (passes
              ? 'Callers bring their own credential, so there is none to check.'
              : p.health_status === 'healthy' && 'The last connection check found all well.')}
          <div>
            {p.health_checked_at ? (
              <>
                Checked <When at={p.health_checked_at} relative />.
              </>
            ) : (
              'Not checked yet.'
            )}
          </div>
          {p.health_status === 'unhealthy' && (
            <div>{serves ? 'It serves all the same: the check is not enforced.' : 'It does not serve until it is well.'}</div>
          )}
        </>
      }
    >
      {text}
    </Badge>
  );
}

function Credential({ provider: p, shared }: { provider: Provider; shared: readonly Connection[] }) {
  const connection = shared.find((c) => c.id === p.connection_id);
  return (
    <>
      <div>{connection ? `Shared: ${connection.name}` : p.secret_path ? 'Own credential' : 'None stored'}</div>
      <div className={classes.dim}>{authTypes[p.auth_type]}</div>
    </>
  );
}

function Billing({ provider: p }: { provider: Provider }) {
  return p.billing_mode === 'per_token' ? (
    'Per token'
  ) : (
    <Badge tone="note" tip={p.billing_note ?? undefined}>{`Not metered: ${p.billing_reason}`}</Badge>
  );
}

function DeleteProvider({ provider: p, onClose }: { provider: Provider; onClose: () => void }) {
  const rows = useQuery(mappings).data ?? [];
  const models = rows.filter((m) => m.provider_id === p.id && m.model_alias === m.upstream_model).length;
  const routes = routesOn(rows, p);
  return (
    <Confirm
      title={`Delete ${p.name}?`}
      act="Delete provider"
      run={() => body(api.DELETE(path, { params: { path: { id: p.id } } }))}
      done={`${p.name} is deleted`}
      onClose={onClose}
    >
      Its credential is forgotten, and {count(models, 'model')} of it can no longer be called.
      {routes.length > 0 && (
        <>
          {' '}
          {named(routes)} {routes.length === 1 ? 'loses its' : 'lose their'} targets on it, and a route without any other ends.
        </>
      )}{' '}
      It cannot be brought back.
    </Confirm>
  );
}
