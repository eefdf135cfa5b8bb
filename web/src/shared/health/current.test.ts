import { describe, expect, it } from 'vitest';
import type { ModelMapping, Route, RouteHealthStatus } from '../../api/schema';
import { currentRoutes } from './current';

const cooling = { state: 'suspended', scope: 'all_users', recovers_in_secs: 20 } as RouteHealthStatus;
const recovering = { state: 'recovering', recovers_in_secs: 0 } as RouteHealthStatus;

const target = (id: string, over: Partial<ModelMapping> = {}) => ({ id, serving_status: null, ...over }) as ModelMapping;
const route = (...targets: ModelMapping[]) => ({ model_alias: 'smart', targets, targets_available: targets.length }) as unknown as Route;
const states = (r: Route | undefined) => r?.targets.map((t) => t.route_health_status?.state);

describe('routes as they are now', () => {
  it('have the health that was read last', () => {
    const [now] = currentRoutes([route(target('a'), target('b'))], [target('b', { route_health_status: cooling })]);
    expect(states(now)).toEqual([undefined, 'suspended']);
    expect(now?.targets_available).toBe(1);
  });

  it('are well again when nothing is said of them', () => {
    const before = { ...route(target('a', { route_health_status: cooling })), targets_available: 0 };
    const [now] = currentRoutes([before], []);
    expect(states(now)).toEqual([undefined]);
    expect(now?.targets_available).toBe(1);
  });

  it('count a recovering target, and none that configuration keeps from serving', () => {
    const off = target('c', { serving_status: 'provider_disabled' });
    const [now] = currentRoutes([route(target('a'), target('b'), off)], [target('a', { route_health_status: recovering })]);
    expect(now?.targets_available).toBe(2);
  });

  it('count a target that is kept from oneself alone', () => {
    const own = { ...cooling, scope: 'current_credential' } as RouteHealthStatus;
    const [now] = currentRoutes([route(target('a'))], [target('a', { route_health_status: own })]);
    expect(states(now)).toEqual(['suspended']);
    expect(now?.targets_available).toBe(1);
  });

  it('stay as they are where nothing changed, or nothing is known', () => {
    const quiet = route(target('a'));
    const busy = route(target('b', { route_health_status: cooling }));
    expect(currentRoutes([quiet, busy], [])[0]).toBe(quiet);
    expect(currentRoutes([busy], undefined)[0]).toBe(busy);
  });
});
