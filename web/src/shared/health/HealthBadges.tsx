import { IconHourglass, IconRefresh, IconRepeat } from '@tabler/icons-react';
import type { ModelMapping } from '../../api/schema';
import { Badge } from '../Badge';
import { Countdown } from '../When';
import { type CooldownPolicy, called, cooldownRows, type HealthBadge, healthBadges, isCustomCooldown } from './badges';
import classes from './HealthBadges.module.css';

/** A badge that tells on hover why, and when it recovers. `at` is when the answer came (milliseconds since 1970). */
export function StateBadge({ badge, at, onClick }: { badge: HealthBadge; at: number; onClick?: () => void }) {
  return (
    <Badge
      tone={badge.tone}
      icon={badge.recoversIn === undefined ? undefined : <IconHourglass aria-hidden />}
      onClick={onClick}
      tip={
        <>
          {badge.reason}
          {badge.recoversIn !== undefined && (
            <div>
              Recovers <Countdown until={at + badge.recoversIn * 1000} />
            </div>
          )}
          {onClick && <div>Click to end the cooldown.</div>}
        </>
      }
    >
      {badge.text}
    </Badge>
  );
}

/** What keeps each of a route's targets from serving, and when it recovers. */
export function WhyNot({ targets, at }: { targets: readonly ModelMapping[]; at: number }) {
  return (
    <span className={classes.policy}>
      {targets.map((t, i) => {
        const [badge] = healthBadges(t);
        const off = t.enabled ? undefined : 'Off';
        return (
          (off ?? badge) && (
            <span key={t.id} className={classes.row}>
              <span>
                {i + 1}. {called(t)}
              </span>
              <span>
                {off ?? badge?.text}
                {!off && badge?.recoversIn !== undefined && (
                  <>
                    , recovers <Countdown until={at + badge.recoversIn * 1000} />
                  </>
                )}
              </span>
            </span>
          )
        );
      })}
    </span>
  );
}

interface Props {
  mapping: ModelMapping;
  at: number;
  onReset?: () => void;
}

/** All badges of a target. */
export function TargetBadges({ mapping: m, at, onReset }: Props) {
  return (
    <>
      {healthBadges(m).map((b) => (
        <StateBadge key={b.text} badge={b} at={at} onClick={b.resettable ? onReset : undefined} />
      ))}
      {isCustomCooldown(m) && (
        <Badge tone="note" icon={<IconRefresh aria-hidden />} tip={<CooldownTip policy={m} />}>
          Custom cooldown
        </Badge>
      )}
      {m.retry_on_429_count > 0 && (
        <Badge
          tone="note"
          icon={<IconRepeat aria-hidden />}
          tip={m.effective_behavior}
          label={`${m.retry_on_429_count} retries on a rate limit`}
        >
          {m.retry_on_429_count}
        </Badge>
      )}
    </>
  );
}

/** The six rows of a cooldown policy; what differs from the default is bold. */
export function CooldownTip({ policy }: { policy: CooldownPolicy }) {
  return (
    <span className={classes.policy}>
      {cooldownRows.map((r) => (
        <span key={r.field} className={classes.row} data-custom={policy[r.field] !== r.standard || undefined}>
          <span>{r.title}</span>
          <span className="figures">
            {policy[r.field]}
            {r.unit}
          </span>
        </span>
      ))}
    </span>
  );
}
