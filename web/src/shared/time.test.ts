import { describe, expect, it } from 'vitest';
import { ago, inUTC, span, toInput } from './time';

const now = new Date('2026-11-30T10:00:00Z');
const after = (seconds: number) => new Date(now.getTime() + seconds * 1000);

it.each([
  [0.2, '1 s'],
  [59.1, '1 min'],
  [61, '1 min 1 s'],
  [120, '2 min'],
  [3725, '1 h 2 min'],
  [7200, '2 h'],
])('a span of %s s', (seconds, want) => {
  expect(span(seconds)).toBe(want);
});

it.each([
  [0, 'just now'],
  [-59, 'just now'],
  [30, 'in a moment'],
  [-60, '1 min. ago'],
  [-7200, '2 hr. ago'],
  [86_400, 'tomorrow'],
])('%s s from now', (seconds, want) => {
  expect(ago(after(seconds), now)).toBe(want);
});

describe('a moment', () => {
  it('in UTC', () => {
    expect(inUTC(now)).toBe('2026-11-30 10:00:00 UTC');
  });

  it('goes into an input and comes back', () => {
    expect(new Date(toInput(now))).toEqual(now);
  });
});
