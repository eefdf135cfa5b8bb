import { expect, it } from 'vitest';
import type { ModelMapping } from '../../api/schema';
import { coolingOf, routesHit } from './cooling';

const target = (model_alias: string, upstream_model: string, secs?: number, scope = 'all_users') =>
  ({
    model_alias,
    upstream_model,
    provider_id: 'p',
    bare_alias: true,
    ...(secs === undefined ? {} : { route_health_status: { state: secs ? 'suspended' : 'recovering', scope, recovers_in_secs: secs } }),
  }) as ModelMapping;

it('lists a model once, as the strictest policy has it, with the routes that skip it', () => {
  const list = [
    target('a', 'm', 5),
    target('b', 'm', 9),
    target('c', 'm', 0),
    target('d', 'm'),
    target('e', 'well'),
    target('f', 'mine', 7, 'current_credential'),
  ];
  const cooling = coolingOf(list);
  expect(cooling.map((m) => m.route_health_status?.recovers_in_secs)).toEqual([9]);
  expect(routesHit(list, cooling[0] as ModelMapping)).toEqual(['a', 'b', 'c']);
});
