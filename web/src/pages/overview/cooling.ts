import type { ModelMapping } from '../../api/schema';

const key = (m: ModelMapping) => `${m.provider_id} ${m.upstream_model}`;
const severity = (m: ModelMapping) => (m.route_health_status?.state === 'suspended' ? 1 + m.route_health_status.recovers_in_secs : 0);

/**
 * Each upstream model of a provider once, however many routes use it: its health is one. Targets judge it each by
 * their own policy; the longest cooldown is what counts. What concerns one's own credential is not of the whole gateway.
 */
export function coolingOf(list: readonly ModelMapping[]): ModelMapping[] {
  const worst = new Map<string, ModelMapping>();
  for (const m of list.filter((m) => m.route_health_status?.scope === 'all_users')) {
    const had = worst.get(key(m));
    if (!had || severity(m) > severity(had)) {
      worst.set(key(m), m);
    }
  }
  return [...worst.values()];
}

/** The routes that skip the model now: one with a more patient policy may not. */
export function routesHit(list: readonly ModelMapping[], m: ModelMapping): string[] {
  return [...new Set(list.filter((o) => key(o) === key(m) && o.bare_alias && o.route_health_status).map((o) => o.model_alias))];
}
