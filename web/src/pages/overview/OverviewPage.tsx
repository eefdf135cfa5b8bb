import { IconCircleCheck, IconServer } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { anyRoute, configStatus, nodes, providers, unhealthy } from '../../api/queries';
import { useRecovery } from '../../api/recovery';
import type { ConfigStatus, ModelMapping, Node } from '../../api/schema';
import { Badge, Dot } from '../../shared/Badge';
import { DataTable } from '../../shared/DataTable';
import { cooldownBadge } from '../../shared/health/badges';
import { StateBadge } from '../../shared/health/HealthBadges';
import { ResetCooldown } from '../../shared/health/ResetCooldown';
import { Page, Section } from '../../shared/Page';
import { Empty, Loaded } from '../../shared/State';
import { ToProviders } from '../../shared/ToProviders';
import { When } from '../../shared/When';
import { coolingOf, routesHit } from './cooling';
import { HourChart } from './HourChart';
import { minutes, total } from './hour';
import classes from './overview.module.css';

export function OverviewPage() {
  return (
    <Page title="Overview" about="How the gateway is doing just now.">
      <LastHour />
      <Cooling />
      <Nodes />
    </Page>
  );
}

function LastHour() {
  const query = useQuery(nodes);
  return (
    <Section
      title="The last hour"
      about="What the nodes did with callers’ requests, minute by minute. A failover is a target that was tried in vain."
    >
      <Loaded query={query} rows={3}>
        {(list) => {
          const hour = minutes(list, new Date(query.dataUpdatedAt));
          const sum = total(hour);
          return (
            <>
              <dl className={classes.figures}>
                <Figure title="Requests" value={sum.requests} />
                <Figure title="Failovers" value={sum.failovers} />
                <Figure title="Rescued by a failover" value={sum.rescued} tone={sum.rescued > 0 ? 'ok' : undefined} />
                <Figure title="Failed" value={sum.failed} tone={sum.failed > 0 ? 'bad' : undefined} />
              </dl>
              <HourChart hour={hour} />
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}

function Figure({ title, value, tone }: { title: string; value: number; tone?: 'ok' | 'bad' }) {
  return (
    <div className={classes.figure}>
      <dt>{title}</dt>
      <dd data-tone={tone}>{value.toLocaleString('en')}</dd>
    </div>
  );
}

function Cooling() {
  const query = useQuery(unhealthy);
  const [resetting, setResetting] = useState<ModelMapping>();
  const cooling = coolingOf(query.data ?? []);
  useRecovery(
    query.dataUpdatedAt,
    cooling.map((m) => m.route_health_status?.recovers_in_secs),
  );
  return (
    <Section
      title="Cooling down now"
      about="Targets that failed too often, or were rate-limited. Routes skip them and come back by themselves."
    >
      <Loaded query={query} rows={2}>
        {() => (
          <DataTable
            label="Cooling down now"
            rows={cooling}
            id={(m) => m.id}
            empty={<Quiet />}
            columns={[
              { title: 'Model', cell: (m) => <span className="mono">{m.upstream_model}</span> },
              { title: 'Provider', cell: (m) => m.provider_name },
              { title: 'Routes', cell: (m) => <RouteLinks names={routesHit(query.data ?? [], m)} /> },
              {
                title: 'State',
                width: '190px',
                cell: (m) => {
                  const badge = cooldownBadge(m.route_health_status);
                  return (
                    badge && (
                      <StateBadge badge={badge} at={query.dataUpdatedAt} onClick={badge.resettable ? () => setResetting(m) : undefined} />
                    )
                  );
                },
              },
            ]}
          />
        )}
      </Loaded>
      {resetting && (
        <ResetCooldown
          providerId={resetting.provider_id}
          providerName={resetting.provider_name}
          model={resetting.upstream_model}
          onClose={() => setResetting(undefined)}
        />
      )}
    </Section>
  );
}

function RouteLinks({ names }: { names: string[] }) {
  return (
    <>
      {names.map((name, i) => (
        <span key={name}>
          {i > 0 && ', '}
          <Link to="/routes" search={{ q: name, open: name }} className={classes.link}>
            {name}
          </Link>
        </span>
      ))}
    </>
  );
}

/** Nothing cools. Where nothing is set up yet that is no news, and the next step is. */
function Quiet() {
  const made = useQuery(providers).data?.length;
  const named = useQuery(anyRoute).data?.length;
  if (made === 0) {
    return (
      <Empty title="Start with a provider" action={<ToProviders />}>
        Connect an account at a model vendor. Then make a route over its models, and a key to call it with.
      </Empty>
    );
  }
  if (named === 0) {
    return (
      <Empty
        title="Make a route"
        action={
          <Link to="/routes" className={classes.link}>
            Go to Model Routes
          </Link>
        }
      >
        Give callers a name over the models of your providers.
      </Empty>
    );
  }
  return (
    <p className={classes.quiet}>
      <IconCircleCheck size={18} aria-hidden /> Nothing is cooling down.
    </p>
  );
}

function Nodes() {
  const status = useQuery(configStatus);
  const query = useQuery(nodes);
  return (
    <Section title="Nodes" about={status.data && revisionWords(status.data)}>
      <Loaded query={query} rows={2}>
        {(list) => (
          <DataTable
            label="Nodes"
            rows={list}
            id={(n) => n.node}
            empty={
              <Empty icon={<IconServer size={22} />} title="No node answers">
                Start a data-plane node, or look whether the bus (NATS) runs. What is configured here reaches the nodes once they are back.
              </Empty>
            }
            columns={[
              { title: 'Node', cell: (n) => <strong>{n.node}</strong> },
              { title: 'State', cell: (n) => <NodeState node={n} /> },
              { title: 'Revision', width: '90px', cell: (n) => n.version ?? '–' },
              { title: 'Build', width: '140px', wide: true, cell: (n) => <span className="mono">{n.build ?? '–'}</span> },
              { title: 'Started', width: '130px', cell: (n) => <When at={n.started_at} otherwise="–" relative /> },
            ]}
          />
        )}
      </Loaded>
    </Section>
  );
}

/** "Revision 42 is live on 3 of 3 nodes." */
export function revisionWords(s: ConfigStatus): string {
  return s.reachable
    ? `Revision ${s.version} is live on ${s.live_nodes} of ${s.nodes.length} nodes.`
    : `Revision ${s.version} is stored; the nodes cannot be asked just now.`;
}

function NodeState({ node: n }: { node: Node }) {
  if (n.refused) {
    return (
      <Badge tone="bad" tip={`Revision ${n.refused.version}: ${n.refused.message} It goes on with the one before.`}>
        Refused revision {n.refused.version}
      </Badge>
    );
  }
  if (!n.answered) {
    return <Dot tone="bad">Does not answer</Dot>;
  }
  if (n.joining) {
    return <Dot tone="info">Joining</Dot>;
  }
  return n.live ? <Dot tone="ok">Live</Dot> : <Dot tone="warn">Catching up</Dot>;
}
