import { Tooltip } from '@mantine/core';
import { useEffect, useState } from 'react';
import { ago, inLocal, inUTC, span } from './time';

/** The time, again every `every` milliseconds. */
function useNow(every: number): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** A moment in local time, in UTC on hover. */
export function When({ at, otherwise = 'never', relative = false }: { at?: string | null; otherwise?: string; relative?: boolean }) {
  const now = useNow(30_000);
  if (!at) {
    return <>{otherwise}</>;
  }
  const moment = new Date(at);
  return (
    <Tooltip label={relative ? `${inLocal(moment)} · ${inUTC(moment)}` : inUTC(moment)} fz="xs">
      <time dateTime={at}>{relative ? ago(moment, now) : inLocal(moment)}</time>
    </Tooltip>
  );
}

/** Seconds until a moment (milliseconds since 1970), counted down. */
export function Countdown({ until }: { until: number }) {
  const now = useNow(1_000);
  const left = (until - now.getTime()) / 1000;
  return <span className="figures">{left > 0 ? `in ${span(left)}` : 'any moment'}</span>;
}
