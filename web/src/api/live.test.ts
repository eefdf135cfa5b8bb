import { expect, it } from 'vitest';
import { topicsOf } from './live';

it('reads what changed, and takes everything for changed where it cannot', () => {
  expect(topicsOf('{"topics":["health"]}')).toEqual(['health']);
  expect(topicsOf('{}')).toEqual(['config', 'health', 'nodes']);
  expect(topicsOf('no JSON')).toEqual(['config', 'health', 'nodes']);
});
