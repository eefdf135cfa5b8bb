import { Tooltip } from '@mantine/core';
import { inUTC } from '../../shared/time';
import { ceiling, type Minute } from './hour';
import classes from './overview.module.css';

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

/** A bar for each minute: requests that were served, and failed; a mark where targets were tried in vain. */
export function HourChart({ hour }: { hour: readonly Minute[] }) {
  const top = ceiling(Math.max(...hour.map((m) => m.requests)));
  const high = (n: number) => `${(n / top) * 100}%`;
  return (
    <figure className={classes.chart} aria-label="Requests by minute over the last hour">
      <div className={classes.axis} aria-hidden>
        <span>{top}</span>
        <span>{top / 2}</span>
        <span>0</span>
      </div>
      <div className={classes.plot}>
        {hour.map((m) => (
          <Tooltip
            key={m.at.getTime()}
            fz="xs"
            label={
              <>
                {clock.format(m.at)} ({inUTC(m.at).slice(11, 16)} UTC)
                <br />
                {m.requests} requests, {m.failed} failed
                <br />
                {m.failovers} failovers, {m.rescued} rescued
              </>
            }
          >
            <div className={classes.minute}>
              {m.failovers > 0 && <span className={classes.mark} style={{ bottom: `calc(${high(m.requests)} + 3px)` }} />}
              <span className={classes.bar} data-tone="bad" style={{ height: high(m.failed) }} />
              <span className={classes.bar} style={{ height: high(m.requests - m.failed) }} />
            </div>
          </Tooltip>
        ))}
      </div>
      <div className={classes.hours} aria-hidden>
        {[0, 15, 30, 45, 59].map((i) => (
          <span key={i}>{hour[i] && clock.format(hour[i].at)}</span>
        ))}
      </div>
      <figcaption className={classes.legend}>
        <span>
          <i className={classes.key} /> served
        </span>
        <span>
          <i className={classes.key} data-tone="bad" /> failed
        </span>
        <span>
          <i className={classes.key} data-tone="warn" /> with failovers
        </span>
      </figcaption>
    </figure>
  );
}
