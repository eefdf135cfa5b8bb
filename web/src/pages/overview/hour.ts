import type { Node } from '../../api/schema';

export interface Minute {
  at: Date;
  requests: number;
  failovers: number;
  rescued: number;
  failed: number;
}

const minute = 60_000; // milliseconds

/** The last 60 minutes over all nodes, the running one last; minutes without a request are zero. */
export function minutes(nodes: readonly Pick<Node, 'activity'>[], now: Date): Minute[] {
  const last = Math.floor(now.getTime() / minute);
  const hour: Minute[] = Array.from({ length: 60 }, (_, i) => ({
    at: new Date((last - 59 + i) * minute),
    requests: 0,
    failovers: 0,
    rescued: 0,
    failed: 0,
  }));
  for (const a of nodes.flatMap((n) => n.activity)) {
    const m = hour[Math.floor(new Date(a.minute).getTime() / minute) - last + 59];
    if (m) {
      m.requests += a.requests;
      m.failovers += a.failovers;
      m.rescued += a.rescued;
      m.failed += a.failed;
    }
  }
  return hour;
}

export function total(hour: readonly Minute[]): Omit<Minute, 'at'> {
  const sum = { requests: 0, failovers: 0, rescued: 0, failed: 0 };
  for (const m of hour) {
    sum.requests += m.requests;
    sum.failovers += m.failovers;
    sum.rescued += m.rescued;
    sum.failed += m.failed;
  }
  return sum;
}

/** A round number at least as large, for the top of an axis. */
export function ceiling(n: number): number {
  if (n <= 4) {
    return 4;
  }
  const size = 10 ** Math.floor(Math.log10(n));
  const step = [1, 2, 5, 10].find((s) => s * size >= n) ?? 10;
  return step * size;
}
