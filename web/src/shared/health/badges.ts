import type { ModelMapping, RouteHealthStatus, ServingStatus } from '../../api/schema';
import type { Tone } from '../Badge';

export interface HealthBadge {
  text: string;
  tone: Tone;
  /** Why, in a sentence. */
  reason: string;
  /** Seconds until it recovers, as the answer said it. */
  recoversIn?: number;
  /** It cools for everybody, so that an administrator can end it. */
  resettable?: boolean;
}

const serving: Partial<Record<ServingStatus, { text: string; reason: string }>> = {
  provider_disabled: { text: 'Provider disabled', reason: 'The provider is disabled. Enable it under Providers.' },
  provider_model_disabled: {
    text: 'Provider model disabled',
    reason: 'The model is not enabled on the provider. Enable it under Models.',
  },
  provider_not_serving: {
    text: 'Provider not serving',
    reason: 'The provider’s connection check fails, and it is held to it. See Providers.',
  },
};

/** The badge of what keeps a target from serving by configuration; a target's own power button has none. */
export function servingBadge(status: ServingStatus | null): HealthBadge | undefined {
  const known = status ? serving[status] : undefined;
  return known && { ...known, tone: 'note' };
}

/** The badge of a cooldown: for everybody, or for the caller's own credential only. */
export function cooldownBadge(health: RouteHealthStatus | undefined): HealthBadge | undefined {
  if (!health) {
    return undefined;
  }
  const own = health.scope === 'current_credential';
  const common = { reason: health.message, recoversIn: health.recovers_in_secs };
  if (health.state === 'recovering') {
    return {
      ...common,
      text: own ? 'Recovering for you' : 'Recovering',
      tone: 'info',
      recoversIn: undefined,
      resettable: !own,
    };
  }
  if (!own) {
    return { ...common, text: 'Temporarily unavailable', tone: 'bad', resettable: true };
  }
  if (health.reason === 'auth_failed') {
    return { ...common, text: 'Reconnect required', tone: 'warn', recoversIn: undefined };
  }
  return { ...common, text: 'Unavailable for you', tone: 'warn' };
}

/** What people see of a target's state, the gravest first. */
export function healthBadges(m: Pick<ModelMapping, 'serving_status' | 'route_health_status' | 'budget_status'>): HealthBadge[] {
  const budget: HealthBadge | undefined = m.budget_status
    ? {
        text: 'Budget exhausted',
        tone: 'warn',
        reason: String(m.budget_status.message ?? 'A budget of this target is used up.'),
      }
    : undefined;
  return [servingBadge(m.serving_status), budget, cooldownBadge(m.route_health_status)].filter((b) => b !== undefined);
}

export const cooldownRows = [
  { field: 'cooldown_failure_threshold', title: 'Failures to cool down', unit: '', standard: 10 },
  { field: 'cooldown_window_secs', title: 'Failure window', unit: ' s', standard: 60 },
  { field: 'cooldown_first_secs', title: 'First cooldown', unit: ' s', standard: 30 },
  { field: 'cooldown_max_secs', title: 'Longest cooldown', unit: ' s', standard: 300 },
  { field: 'cooldown_rate_limited_secs', title: 'Rate-limited (429) cooldown', unit: ' s', standard: 30 },
  { field: 'cooldown_overloaded_secs', title: 'Overloaded (529) cooldown', unit: ' s', standard: 10 },
] as const;

export type CooldownPolicy = Pick<ModelMapping, (typeof cooldownRows)[number]['field']>;

export const isCustomCooldown = (m: CooldownPolicy) => cooldownRows.some((r) => m[r.field] !== r.standard);

/** What people call a target: two of a route may be the same model at different providers. */
export const called = (t: Pick<ModelMapping, 'upstream_model' | 'provider_name'>) => `${t.upstream_model} of ${t.provider_name}`;

export interface Availability {
  text: string;
  tone: Tone;
}

/** What a collapsed route shows of its targets; nothing where all can serve. */
export function availability(targets: readonly ModelMapping[], available: number): Availability | undefined {
  if (available === targets.length) {
    return undefined;
  }
  const wanted = targets.filter((t) => t.enabled);
  const cooling = wanted.filter((t) => t.route_health_status?.state === 'suspended' && t.route_health_status.scope === 'all_users').length;
  if (available === 0 && cooling > 0 && cooling === wanted.length) {
    return { text: 'Temporarily unavailable', tone: 'bad' };
  }
  // What somebody turned off is no alarm.
  const calm = wanted.length === available && available > 0;
  return { text: `${available} of ${targets.length} available`, tone: calm ? 'note' : available === 0 ? 'bad' : 'warn' };
}
