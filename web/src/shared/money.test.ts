import { expect, it } from 'vitest';
import { price } from './money';

it.each([
  [1.25, '$1.25'],
  [10, '$10.00'],
  [0.025, '$0.025'],
  [0.3, '$0.30'],
  [0.00015, '$0.00015'],
  [0, 'free'],
  [null, '–'],
])('%s', (cost, want) => {
  expect(price(cost)).toBe(want);
});
