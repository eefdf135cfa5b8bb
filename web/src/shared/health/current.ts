import type { ModelMapping, Route } from '../../api/schema';

/** Routes with how their targets are now, `unhealthy` being all that are not well; the same route where nothing changed. */
export function currentRoutes(list: readonly Route[], unhealthy: readonly ModelMapping[] | undefined): readonly Route[] {
  if (!unhealthy) {
    return list; // as they were when they were read
  }
  const status = new Map(unhealthy.map((m) => [m.id, m.route_health_status]));
  return list.map((route) => {
    if (route.targets.every((t) => !t.route_health_status && !status.has(t.id))) {
      return route;
    }
    const targets = route.targets.map((t) => ({ ...t, route_health_status: status.get(t.id) }));
    return { ...route, targets, targets_available: targets.filter(available).length };
  });
}

/** What concerns one's own credential keeps a target from nobody else. */
const available = (t: ModelMapping) =>
  t.serving_status === null && !(t.route_health_status?.state === 'suspended' && t.route_health_status.scope === 'all_users');
