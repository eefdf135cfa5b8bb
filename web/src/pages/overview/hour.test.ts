import { describe, expect, it } from 'vitest';
import { ceiling, minutes, total } from './hour';

const at = (minute: string, requests: number) => ({ minute, requests, failovers: 1, rescued: 0, failed: 2 });

describe('the last hour', () => {
  const now = new Date('2026-11-30T10:00:30Z');

  it('adds up the nodes, and leaves out what is older', () => {
    const hour = minutes(
      [
        { activity: [at('2026-11-30T10:00:00Z', 3), at('2026-11-30T09:01:00Z', 5)] },
        { activity: [at('2026-11-30T10:00:00Z', 4), at('2026-11-30T09:00:00Z', 100), at('2026-11-30T10:01:00Z', 100)] },
      ],
      now,
    );
    expect(hour).toHaveLength(60);
    expect(hour[59]).toMatchObject({ requests: 7, failovers: 2, failed: 4 });
    expect(hour[0]).toMatchObject({ requests: 5, at: new Date('2026-11-30T09:01:00Z') });
    expect(total(hour)).toEqual({ requests: 12, failovers: 3, rescued: 0, failed: 6 });
  });
});

it.each([
  [0, 4],
  [4, 4],
  [5, 5],
  [11, 20],
  [201, 500],
  [999, 1000],
])('the axis over %i ends at %i', (n, want) => {
  expect(ceiling(n)).toBe(want);
});
