import { Button, Select, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconArrowsSplit2, IconPlus, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { providers, routeGroups, routes, unhealthy } from '../../api/queries';
import { useRecovery } from '../../api/recovery';
import type { Route } from '../../api/schema';
import { count } from '../../shared/Confirm';
import { Rows } from '../../shared/DataTable';
import { currentRoutes } from '../../shared/health/current';
import { Page, Toolbar } from '../../shared/Page';
import { Empty, Loaded } from '../../shared/State';
import { ToProviders } from '../../shared/ToProviders';
import { AddToGroup } from './AddToGroup';
import { CreateRoute } from './CreateRoute';
import { Moved, type Renaming } from './RouteActs';
import { RouteRow } from './RouteRow';
import classes from './routes.module.css';

/** Routes by what somebody looks for: part of a name, of a provider or of a model. */
export function matching(list: readonly Route[], q: string, group: string | undefined): Route[] {
  const wanted = q.trim().toLowerCase();
  return list.filter(
    (r) =>
      (!group || r.model_route_groups.some((g) => g.id === group)) &&
      (!wanted ||
        r.model_alias.toLowerCase().includes(wanted) ||
        r.targets.some((t) => t.provider_name.toLowerCase().includes(wanted) || t.upstream_model.toLowerCase().includes(wanted))),
  );
}

export function RoutesPage() {
  const query = useQuery(routes);
  const [creating, setCreating] = useState(false);
  const create = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
      Create route
    </Button>
  );
  return (
    <Page
      title="Model Routes"
      about="A route is a name that callers put in “model”. Its targets are tried from the top; when one fails, the next answers."
      actions={create}
    >
      <Loaded query={query}>
        {(list) => (list.length === 0 ? <NoRoutes create={create} /> : <Listing configured={list} readAt={query.dataUpdatedAt} />)}
      </Loaded>
      {creating && <CreateRoute onClose={() => setCreating(false)} />}
    </Page>
  );
}

function NoRoutes({ create }: { create: ReactNode }) {
  const none = useQuery(providers).data?.length === 0;
  return (
    <Empty icon={<IconArrowsSplit2 size={22} />} title="No routes yet" action={none ? <ToProviders /> : create}>
      Give callers one name for several models: they call the route, and it fails over between the targets you choose.
      {none && ' For that you need a provider first.'}
    </Empty>
  );
}

function Listing({ configured, readAt }: { configured: readonly Route[]; readAt: number }) {
  const health = useQuery(unhealthy);
  const list = useMemo(() => currentRoutes(configured, health.data), [configured, health.data]);
  const at = health.dataUpdatedAt || readAt;
  const search = useSearch({ from: '/shell/admin/routes' });
  const navigate = useNavigate({ from: '/routes' });
  const [typed, setTyped] = useState(search.q ?? '');
  const [q] = useDebouncedValue(typed, 120);
  useEffect(() => {
    void navigate({ search: (s) => ({ ...s, q: q || undefined }), replace: true });
  }, [q, navigate]);
  useRecovery(
    at,
    useMemo(() => list.flatMap((r) => r.targets.map((t) => t.route_health_status?.recovers_in_secs)), [list]),
  );
  const shown = useMemo(() => matching(list, q, search.group), [list, q, search.group]);
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(search.open ? [search.open] : []));
  useEffect(() => {
    if (search.open) {
      setOpen((before) => new Set([...before, search.open as string]));
    }
  }, [search.open]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [renaming, setRenaming] = useState<Renaming>();
  const picked = shown.filter((r) => chosen.has(r.model_alias)).map((r) => r.model_alias);
  return (
    <>
      <Toolbar>
        <TextInput
          className={classes.search}
          leftSection={<IconSearch size={16} />}
          placeholder="Search routes, providers, models"
          aria-label="Search routes"
          value={typed}
          onChange={(e) => setTyped(e.currentTarget.value)}
        />
        <GroupFilter value={search.group} onChange={(group) => void navigate({ search: (s) => ({ ...s, group }), replace: true })} />
        <span className={classes.total} role="status">
          {shown.length === list.length ? count(list.length, 'route') : `${shown.length} of ${count(list.length, 'route')}`}
        </span>
      </Toolbar>
      {renaming && <Moved {...renaming} onClose={() => setRenaming(undefined)} />}
      {picked.length > 0 && (
        <Selection
          picked={picked}
          of={shown.length}
          onAll={() => setChosen(new Set(shown.map((r) => r.model_alias)))}
          onClear={() => setChosen(new Set())}
        />
      )}
      {shown.length === 0 ? (
        <Empty icon={<IconSearch size={22} />} title="No route matches">
          Look for something else, or show all groups.
        </Empty>
      ) : (
        <div className={classes.list}>
          <Rows count={shown.length} role="list" label="Model routes" estimate={57}>
            {(index, ref) => {
              const route = shown[index] as Route;
              const alias = route.model_alias;
              return (
                <div key={alias} role="listitem" data-index={index} ref={ref} className={classes.item}>
                  <RouteRow
                    route={route}
                    at={at}
                    open={open.has(alias)}
                    chosen={chosen.has(alias)}
                    onOpen={() => setOpen((before) => toggled(before, alias))}
                    onChoose={() => setChosen((before) => toggled(before, alias))}
                    onRenamed={setRenaming}
                  />
                </div>
              );
            }}
          </Rows>
        </div>
      )}
    </>
  );
}

function toggled(set: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(name)) {
    next.add(name);
  }
  return next;
}

function GroupFilter({ value, onChange }: { value?: string; onChange: (id?: string) => void }) {
  const groups = useQuery(routeGroups).data ?? [];
  if (groups.length === 0 && !value) {
    return null;
  }
  return (
    <Select
      aria-label="Show only the routes of a group"
      placeholder="All groups"
      clearable
      searchable
      className={classes.filter}
      data={groups.map((g) => ({ value: g.id, label: g.name }))}
      value={value ?? null}
      onChange={(id) => onChange(id ?? undefined)}
    />
  );
}

interface SelectionProps {
  picked: string[];
  /** How many routes could be chosen: those that are searched for. */
  of: number;
  onAll: () => void;
  onClear: () => void;
}

function Selection({ picked, of, onAll, onClear }: SelectionProps) {
  const [adding, setAdding] = useState(false);
  return (
    <section className={classes.selection} aria-label="Chosen routes">
      <strong>{count(picked.length, 'route')} chosen</strong>
      <Button size="xs" onClick={() => setAdding(true)}>
        Add to group
      </Button>
      {picked.length < of && (
        <Button size="xs" variant="default" onClick={onAll}>
          Choose all {of}
        </Button>
      )}
      <Button size="xs" variant="default" onClick={onClear}>
        Choose none
      </Button>
      {adding && <AddToGroup aliases={picked} onClose={() => setAdding(false)} onDone={onClear} />}
    </section>
  );
}
