import { describe, expect, it } from 'vitest';
import type { ModelMapping, RouteHealthStatus } from '../../api/schema';
import { availability, cooldownBadge, cooldownRows, healthBadges, isCustomCooldown, servingBadge } from './badges';

const cooling: RouteHealthStatus = {
  state: 'suspended',
  reason: 'rate_limited',
  scope: 'all_users',
  recovers_in_secs: 20,
  message: 'The provider is rate-limited.',
};

describe('the badges of a target', () => {
  it.each([
    [cooling, 'Temporarily unavailable', 20],
    [{ ...cooling, state: 'recovering' }, 'Recovering', undefined],
    [{ ...cooling, scope: 'current_credential' }, 'Unavailable for you', 20],
    [{ ...cooling, scope: 'current_credential', state: 'recovering' }, 'Recovering for you', undefined],
    [{ ...cooling, scope: 'current_credential', reason: 'auth_failed' }, 'Reconnect required', undefined],
  ] as const)('of a cooldown', (health, text, recoversIn) => {
    const badge = cooldownBadge(health);
    expect(badge?.text).toBe(text);
    expect(badge?.recoversIn).toBe(recoversIn);
    expect(badge?.resettable ?? false).toBe(health.scope === 'all_users');
  });

  it.each([
    ['provider_disabled', 'Provider disabled'],
    ['provider_model_disabled', 'Provider model disabled'],
    ['provider_not_serving', 'Provider not serving'],
    ['disabled', undefined],
    [null, undefined],
  ] as const)('of %s', (status, text) => {
    expect(servingBadge(status)?.text).toBe(text);
  });

  it('of a budget come with the others', () => {
    const badges = healthBadges({ serving_status: 'provider_disabled', budget_status: { message: 'spent' }, route_health_status: cooling });
    expect(badges.map((b) => b.text)).toEqual(['Provider disabled', 'Budget exhausted', 'Temporarily unavailable']);
  });
});

describe('a custom cooldown', () => {
  const standard = Object.fromEntries(cooldownRows.map((r) => [r.field, r.standard])) as unknown as ModelMapping;

  it('is any of the six that differs', () => {
    expect(isCustomCooldown(standard)).toBe(false);
    for (const row of cooldownRows) {
      expect(isCustomCooldown({ ...standard, [row.field]: row.standard + 1 })).toBe(true);
    }
  });
});

describe('what a collapsed route shows', () => {
  const target = (over: Partial<ModelMapping>) => ({ enabled: true, ...over }) as ModelMapping;
  const cold = target({ route_health_status: cooling });

  it.each([
    ['nothing where all can serve', [target({}), target({})], 2, undefined],
    ['how many can', [target({}), cold], 1, '1 of 2 available'],
    [
      'nothing of what concerns oneself alone',
      [target({ route_health_status: { ...cooling, scope: 'current_credential' } })],
      1,
      undefined,
    ],
    [
      'that none can, though oneself is told more',
      [target({ serving_status: 'provider_disabled', route_health_status: { ...cooling, scope: 'current_credential' } })],
      0,
      '0 of 1 available',
    ],
    ['that none can for now', [cold, cold], 0, 'Temporarily unavailable'],
    ['that none can for now, whatever is off', [cold, target({ enabled: false })], 0, 'Temporarily unavailable'],
    ['that none can, for other reasons', [cold, target({ serving_status: 'provider_disabled' })], 0, '0 of 2 available'],
  ] as const)('%s', (_, targets, available, text) => {
    expect(availability([...targets], available)?.text).toBe(text);
  });
});
