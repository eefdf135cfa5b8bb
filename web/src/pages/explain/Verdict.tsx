import type { ExplainOutcome, ExplainStep, ExplainTry, Explanation } from '../../api/schema';
import { Badge, type Tone } from '../../shared/Badge';
import { Section } from '../../shared/Page';
import { span } from '../../shared/time';
import classes from './explain.module.css';

/** An explanation, in the order in which things would happen. */
export function Verdict({ explanation: e }: { explanation: Explanation }) {
  return (
    <div className={classes.verdict}>
      <Outcome outcome={e.outcome} steps={e.steps} />
      <Section title="Step by step" about={judgedBy(e)}>
        <ol className={classes.steps}>
          <Step tone={e.caller.valid ? 'ok' : 'bad'} title={e.caller.valid ? 'The caller is known' : 'The caller is refused'}>
            {e.caller.reason}
          </Step>
          <Step
            tone={e.resolution.kind === 'route' || e.resolution.kind === 'direct' ? 'ok' : 'bad'}
            title={resolutions[e.resolution.kind]}
          >
            {e.resolution.reason}
          </Step>
          {e.steps.map((s) => (
            <TargetStep key={s.position} step={s} />
          ))}
        </ol>
      </Section>
    </div>
  );
}

function judgedBy(e: Explanation): string {
  const health = e.health.included
    ? `the health that ${e.health.answered.join(', ') || 'no node'} reports${e.health.silent.length ? ` (${e.health.silent.join(', ')} did not answer)` : ''}`
    : 'every target taken for healthy';
  return `Revision ${e.configuration.version}, and ${health}.`;
}

const resolutions: Record<Explanation['resolution']['kind'], string> = {
  route: 'The name is a route',
  direct: 'The name is a model of a provider',
  none: 'There is no such model',
  denied: 'The caller may not use the model',
  not_reached: 'The model is not looked up',
};

const outcomes: Record<ExplainOutcome['kind'], { tone: Tone; title: string }> = {
  served: { tone: 'ok', title: 'Served' },
  passed_on: { tone: 'warn', title: 'The provider’s refusal is passed on' },
  broke_off: { tone: 'bad', title: 'The stream breaks off' },
  caller_left: { tone: 'note', title: 'The caller left' },
  failed: { tone: 'bad', title: 'Every target failed' },
  refused: { tone: 'bad', title: 'Refused by the gateway' },
};

function Outcome({ outcome: o, steps }: { outcome: ExplainOutcome; steps: readonly ExplainStep[] }) {
  const { tone, title } = outcomes[o.kind];
  const by = steps.find((s) => s.position === o.position);
  return (
    <section className={classes.outcome} data-tone={tone} aria-label="What the caller gets">
      <strong>
        {title}
        {o.kind === 'served' && by && ` by target ${by.position}, ${by.provider_name} / ${by.upstream_model}`}
      </strong>
      <span>
        {o.status !== null && `Status ${o.status}`}
        {o.code && `, ${o.code}`}
        {o.retry_after_secs !== null && `, retry after ${span(o.retry_after_secs)}`}
      </span>
      {o.message && <span>{o.message}</span>}
    </section>
  );
}

function Step({ tone, title, children }: { tone: Tone; title: string; children?: React.ReactNode }) {
  return (
    <li className={classes.step} data-tone={tone}>
      <div className={classes.stepTitle}>{title}</div>
      {children && <div className={classes.words}>{children}</div>}
    </li>
  );
}

const decisions: Record<ExplainStep['decision'], { tone: Tone; text: string }> = {
  tried: { tone: 'info', text: 'Tried' },
  skipped: { tone: 'note', text: 'Skipped' },
  not_reached: { tone: 'note', text: 'Not reached' },
};

function TargetStep({ step: s }: { step: ExplainStep }) {
  const served = s.tries.some((t) => t.next === 'served');
  const { tone, text } = served ? { tone: 'ok' as const, text: 'Serves' } : decisions[s.decision];
  return (
    <li className={classes.step} data-tone={served ? 'ok' : s.decision === 'tried' ? 'bad' : 'note'}>
      <div className={classes.stepTitle}>
        <span>
          Target {s.position}: {s.provider_name} / <span className="mono">{s.upstream_model}</span>
        </span>
        <Badge tone={tone}>{text}</Badge>
        {s.probe && <Badge tone="info">Probe</Badge>}
      </div>
      <div className={classes.words}>
        {s.reason && <div>{[s.reason.replaceAll('_', ' '), s.message].filter(Boolean).join(': ')}</div>}
        {s.denied_by && <div>Denied by the policy “{s.denied_by}”.</div>}
        {s.recovers_in_secs !== null && s.recovers_in_secs > 0 && <div>Recovers in {span(s.recovers_in_secs)}.</div>}
        {s.tries.map((t, i) => (
          <Try key={i} of={t} number={i + 1} />
        ))}
        {s.health && (
          <div>
            Health: {s.health.kind.replaceAll('_', ' ')}
            {s.health.cools_for_secs > 0 && `, cools for ${span(s.health.cools_for_secs)}`}
            {s.health.scope === 'current_credential' ? ', for this caller only' : ''}.
          </div>
        )}
      </div>
    </li>
  );
}

const nexts: Record<ExplainTry['next'], string> = {
  served: 'the caller gets it',
  passed_on: 'the caller gets it as it is',
  broke_off: 'the answer breaks off',
  caller_left: 'the caller left',
  try_again: 'the same target is tried again',
  next_target: 'the next target is tried',
};

function Try({ of: t, number }: { of: ExplainTry; number: number }) {
  return (
    <div>
      Try {number}: {t.status ?? t.class.replaceAll('_', ' ')}
      {t.message && ` (${t.message})`}, so {nexts[t.next]}
      {t.wait_secs !== null && t.wait_secs > 0 && ` after ${span(t.wait_secs)}`}.
    </div>
  );
}
