import { Button, Select } from '@mantine/core';
import { IconChevronRight, IconHistory } from '@tabler/icons-react';
import { infiniteQueryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, body } from '../../api/client';
import { users } from '../../api/queries';
import type { AuditChange, AuditEvent } from '../../api/schema';
import { Badge } from '../../shared/Badge';
import { count } from '../../shared/Confirm';
import { Page, Toolbar } from '../../shared/Page';
import { Empty, Failure, Waiting } from '../../shared/State';
import { When } from '../../shared/When';
import { operationWords } from '../../shared/words';
import classes from './audit.module.css';
import { fieldsOf, nameOf, show } from './changes';

const pageLen = 50;

interface Filter {
  actor_id?: string;
  operation?: string;
}

const events = (filter: Filter) =>
  infiniteQueryOptions({
    queryKey: ['audit', filter],
    queryFn: ({ pageParam, signal }) =>
      body(
        api.GET('/api/llm-gateway/admin/audit-events', {
          signal,
          params: { query: { limit: pageLen, ...filter, ...(pageParam ? { after: pageParam } : {}) } },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (last) => (last.length < pageLen ? undefined : last.at(-1)?.id),
    meta: { topics: ['config'] },
  });

export function AuditPage() {
  const [filter, setFilter] = useState<Filter>({});
  const query = useInfiniteQuery(events(filter));
  const list = query.data?.pages.flat() ?? [];
  const seen = useSeen(query.data?.pages);
  return (
    <Page title="Audit" about="Who changed what, the newest first. It is written with the change itself, and cannot be changed.">
      <Filters filter={filter} seen={seen} onChange={setFilter} />
      {query.isPending && <Waiting />}
      {query.isError && <Failure error={query.error} retry={() => void query.refetch()} />}
      {query.data && list.length === 0 && (
        <Empty icon={<IconHistory size={22} />} title="Nothing here">
          {filter.actor_id || filter.operation ? 'Nothing matches. Show more.' : 'Every change of the configuration will be listed here.'}
        </Empty>
      )}
      {list.length > 0 && (
        <ul className={classes.list} aria-label="Changes">
          {list.map((e) => (
            <Event key={e.id} event={e} />
          ))}
        </ul>
      )}
      {query.hasNextPage && (
        <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Show older changes
        </Button>
      )}
    </Page>
  );
}

/** One event of each kind and actor that was listed since the page was opened: a filter hides the others from the list, not from itself. */
function useSeen(pages: readonly AuditEvent[][] | undefined): readonly AuditEvent[] {
  const [seen, setSeen] = useState<ReadonlyMap<string, AuditEvent>>(new Map());
  useEffect(() => {
    const all = (pages ?? []).flat().map((e) => [`${e.operation} ${e.actor_id}`, e] as const);
    setSeen((before) => (all.every(([key]) => before.has(key)) ? before : new Map([...before, ...all])));
  }, [pages]);
  return [...seen.values()];
}

function Filters({ filter, seen, onChange }: { filter: Filter; seen: readonly AuditEvent[]; onChange: (f: Filter) => void }) {
  const people = (useQuery(users).data ?? []).map((u) => ({ value: u.id, label: u.name }));
  const machines = new Map(seen.filter((e) => e.actor_kind !== 'user' && e.actor_id).map((e) => [e.actor_id as string, e.actor_name]));
  const others = [...machines].map(([value, label]) => ({ value, label }));
  const operations = [...new Set([...seen.map((e) => e.operation), ...(filter.operation ? [filter.operation] : [])])].sort();
  const clean = (f: Filter) => Object.fromEntries(Object.entries(f).filter(([, v]) => v)) as Filter;
  return (
    <Toolbar>
      <Select
        aria-label="Show only what somebody did"
        placeholder="Anybody"
        clearable
        searchable
        data={[...people, ...others]}
        value={filter.actor_id ?? null}
        onChange={(v) => onChange(clean({ ...filter, actor_id: v ?? undefined }))}
      />
      <Select
        aria-label="Show only one kind of change"
        placeholder="Any change"
        clearable
        searchable
        data={operations.map((value) => ({ value, label: operationWords(value) }))}
        value={filter.operation ?? null}
        onChange={(v) => onChange(clean({ ...filter, operation: v ?? undefined }))}
      />
    </Toolbar>
  );
}

function Event({ event: e }: { event: AuditEvent }) {
  const [open, setOpen] = useState(false);
  const id = `changes-of-${e.id}`;
  return (
    <li className={classes.event}>
      <button type="button" className={classes.line} aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
        <IconChevronRight size={15} className={classes.chevron} data-open={open || undefined} aria-hidden />
        <span className={classes.what}>
          <strong>{operationWords(e.operation)}</strong> <span className={classes.subject}>{nameOf(e)}</span>
          {e.change_note && <span className={classes.note}>“{e.change_note}”</span>}
        </span>
        <span className={classes.who}>
          {e.actor_name || 'the command line'}
          {e.actor_kind === 'service_account' && <Badge tone="note">machine</Badge>}
        </span>
        <span className={classes.when}>
          <When at={e.at} />
        </span>
      </button>
      {open && (
        <div id={id} className={classes.changes}>
          <div className={classes.meta}>
            Configuration version {e.version}, {count(e.changes.length, 'row')}
          </div>
          {e.changes.map((c) => (
            <Change key={`${c.kind}-${c.resource_id}-${c.action}`} change={c} />
          ))}
        </div>
      )}
    </li>
  );
}

const tones = { create: 'ok', update: 'info', delete: 'bad' } as const;

function Change({ change: c }: { change: AuditChange }) {
  return (
    <div className={classes.change}>
      <div className={classes.changeHead}>
        <Badge tone={tones[c.action]}>{c.action}</Badge>
        <span>{c.kind.replaceAll('_', ' ')}</span>
        <span className="mono">{c.resource_id}</span>
      </div>
      <table className={classes.fields}>
        <thead>
          <tr>
            <th scope="col">Field</th>
            {c.action !== 'create' && <th scope="col">Before</th>}
            {c.action !== 'delete' && <th scope="col">After</th>}
          </tr>
        </thead>
        <tbody>
          {fieldsOf(c).map((field) => (
            <tr key={field}>
              <th scope="row">{field}</th>
              {c.action !== 'create' && <td>{show(c.before?.[field])}</td>}
              {c.action !== 'delete' && <td>{show(c.after?.[field])}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
