import { expect, it } from 'vitest';
import { inside } from './inside';

it.each([
  ['/routes?q=a', '/routes?q=a'],
  ['//evil.example', '/'],
  ['/\\evil.example', '/'],
  ['https://evil.example', '/'],
  ['javascript:alert(1)', '/'],
  [undefined, '/'],
])('goes inside only: %s', (to, want) => {
  expect(inside(to)).toBe(want);
});
