import { Checkbox } from '@mantine/core';
import { IconChevronRight, IconCopy, IconFolderPlus, IconPencil, IconTrash } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import type { Route } from '../../api/schema';
import { Badge } from '../../shared/Badge';
import { count } from '../../shared/Confirm';
import { availability } from '../../shared/health/badges';
import { WhyNot } from '../../shared/health/HealthBadges';
import { RowMenu } from '../../shared/RowMenu';
import { AddToGroup } from './AddToGroup';
import { DeleteRoute, DuplicateRoute, RenameRoute, type Renaming } from './RouteActs';
import classes from './routes.module.css';
import { Targets } from './Targets';

interface Props {
  route: Route;
  at: number;
  open: boolean;
  chosen: boolean;
  onOpen: () => void;
  onChoose: () => void;
  onRenamed: (r: Renaming) => void;
}

/** A route: collapsed what matters at a glance, expanded its targets. */
export const RouteRow = memo(
  function RouteRow({ route, at, open, chosen, onOpen, onChoose, onRenamed }: Props) {
    const alias = route.model_alias;
    const state = availability(route.targets, route.targets_available);
    const panel = `targets-of-${alias}`;
    return (
      <>
        <div className={classes.row} data-chosen={chosen || undefined}>
          <Checkbox size="xs" checked={chosen} onChange={onChoose} aria-label={`Choose ${alias}`} />
          <button type="button" className={classes.name} aria-expanded={open} aria-controls={panel} onClick={onOpen}>
            <IconChevronRight size={16} className={classes.chevron} data-open={open || undefined} aria-hidden />
            <span className="mono">{alias}</span>
          </button>
          <span className={classes.via} title={providersOf(route).join(' → ')}>
            {providersOf(route).join(' → ')}
          </span>
          <span className={classes.groups}>
            {route.model_route_groups.map((g) => (
              <Link key={g.id} to="/routes" search={{ group: g.id }} className={classes.group} title={`Show the routes of ${g.name}`}>
                {g.name}
              </Link>
            ))}
          </span>
          <span className={classes.state}>
            {state && (
              <Badge tone={state.tone} tip={<WhyNot targets={route.targets} at={at} />}>
                {state.text}
              </Badge>
            )}
            <span className={classes.dim}>{count(route.targets.length, 'target')}</span>
          </span>
          <RouteMenu route={route} onRenamed={onRenamed} />
        </div>
        {open && (
          <section id={panel} className={classes.targets} aria-label={`Targets of ${alias}`}>
            <Targets route={route} at={at} />
          </section>
        )}
      </>
    );
  },
  // The handlers are new each time, and depend on nothing but the route's name.
  (a, b) => a.route === b.route && a.open === b.open && a.chosen === b.chosen && ((!b.open && isWell(b.route)) || a.at === b.at),
);

/** Whether nothing on the row says when something recovers. */
const isWell = (r: Route) => r.targets_available === r.targets.length;

/** Through whom it goes, each once, in order. */
function providersOf(route: Route): string[] {
  return [...new Set(route.targets.map((t) => t.provider_name))];
}

function RouteMenu({ route, onRenamed }: Pick<Props, 'route' | 'onRenamed'>) {
  const alias = route.model_alias;
  return (
    <RowMenu
      of={alias}
      acts={[
        { title: 'Rename', icon: IconPencil, open: (close) => <RenameRoute alias={alias} onClose={close} onRenamed={onRenamed} /> },
        { title: 'Duplicate', icon: IconCopy, open: (close) => <DuplicateRoute alias={alias} onClose={close} /> },
        { title: 'Add to group', icon: IconFolderPlus, open: (close) => <AddToGroup aliases={[alias]} onClose={close} /> },
        { title: 'Delete', icon: IconTrash, danger: true, open: (close) => <DeleteRoute route={route} onClose={close} /> },
      ]}
    />
  );
}
