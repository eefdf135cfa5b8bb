import { expect, it } from 'vitest';
import { effective } from './effective';

it.each([
  [0, 30, 'On a rate limit, fails over at once.'],
  [1, 0, 'On a rate limit, tries this target 1 more time, waiting about 1 s, then fails over.'],
  [1, 5, 'On a rate limit, tries this target 1 more time, waiting what the provider asks, at most 5 s, then fails over.'],
  [3, 0, 'On a rate limit, tries this target up to 3 more times, waiting about 1 s each time, then fails over.'],
  [
    2,
    10,
    'On a rate limit, tries this target up to 2 more times, waiting what the provider asks, at most 10 s each time, then fails over.',
  ],
])('%i retries, at most %i s', (retries, wait, want) => {
  expect(effective(retries, wait)).toBe(want);
});
