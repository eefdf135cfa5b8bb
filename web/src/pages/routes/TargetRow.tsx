import { useSortable } from '@dnd-kit/sortable';
import { CSS } from '@dnd-kit/utilities';
import { ActionIcon, Tooltip } from '@mantine/core';
import { IconGripVertical, IconPower, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useChange } from '../../api/change';
import { api, body } from '../../api/client';
import { mappings } from '../../api/queries';
import type { ModelMapping } from '../../api/schema';
import { Confirm, named } from '../../shared/Confirm';
import { routesUsing } from '../../shared/enablement';
import { called } from '../../shared/health/badges';
import { TargetBadges } from '../../shared/health/HealthBadges';
import { ResetCooldown } from '../../shared/health/ResetCooldown';
import { RetryPopover } from './RetryPopover';
import classes from './routes.module.css';
import { TimeoutsPopover } from './TimeoutsPopover';

interface Props {
  target: ModelMapping;
  position: number;
  only: boolean;
  at: number;
}

export function TargetRow({ target: t, position, only, at }: Props) {
  const { attributes, listeners, setNodeRef, setActivatorNodeRef, transform, transition, isDragging } = useSortable({
    id: t.id,
  });
  const [asking, setAsking] = useState<'remove' | 'reset'>();
  return (
    <li
      ref={setNodeRef}
      className={classes.target}
      data-off={!t.enabled || undefined}
      data-dragging={isDragging || undefined}
      style={{ transform: CSS.Translate.toString(transform), transition }}
    >
      <button
        type="button"
        ref={setActivatorNodeRef}
        className={classes.handle}
        disabled={only}
        {...attributes}
        {...listeners}
        aria-label={`Move ${called(t)}, now number ${position}`}
      >
        <IconGripVertical size={16} aria-hidden />
      </button>
      <span className={classes.number}>{position}</span>
      <span className={classes.model}>
        <span className={classes.provider}>{t.provider_name}</span>
        <span className="mono">{t.upstream_model}</span>
      </span>
      <span className={classes.badges}>
        <TargetBadges mapping={t} at={at} onReset={() => setAsking('reset')} />
      </span>
      <span className={classes.buttons}>
        <RetryPopover target={t} />
        <TimeoutsPopover target={t} />
        <Power target={t} />
        <Tooltip label="Remove from the route" fz="xs">
          <ActionIcon variant="subtle" color="gray" onClick={() => setAsking('remove')} aria-label={`Remove ${called(t)} from the route`}>
            <IconTrash size={16} />
          </ActionIcon>
        </Tooltip>
      </span>
      {asking === 'remove' && <RemoveTarget target={t} only={only} onClose={() => setAsking(undefined)} />}
      {asking === 'reset' && (
        <ResetCooldown
          providerId={t.provider_id}
          providerName={t.provider_name}
          model={t.upstream_model}
          onClose={() => setAsking(undefined)}
        />
      )}
    </li>
  );
}

/** Turns this target on and off; the provider goes on serving the model to other routes. */
function Power({ target: t }: { target: ModelMapping }) {
  const turn = (enabled: boolean) =>
    body(api.PUT('/api/llm-gateway/admin/model-mappings/{id}', { params: { path: { id: t.id } }, body: { enabled } }));
  const change = useChange({
    run: turn,
    done: (m) => `${m.upstream_model} is ${m.enabled ? 'on' : 'off'} in ${m.model_alias}`,
  });
  const own = t.model_alias === t.upstream_model;
  const effect = own
    ? 'This is also what enables the model on its provider: turning it off stops every route that uses it.'
    : 'This target only; other routes keep the model.';
  const others = routesUsing(useQuery({ ...mappings, enabled: own }).data ?? [], t);
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Tooltip label={`${t.enabled ? 'On: click to turn off.' : 'Off: click to turn on.'} ${effect}`} maw={260} fz="xs">
        <ActionIcon
          variant="subtle"
          color={t.enabled ? 'water' : 'gray'}
          loading={change.isPending}
          role="switch"
          aria-checked={t.enabled}
          aria-label={`${called(t)} serves in this route`}
          onClick={() => (t.enabled && others.length > 0 ? setAsking(true) : change.mutate(!t.enabled))}
        >
          <IconPower size={16} />
        </ActionIcon>
      </Tooltip>
      {asking && (
        <Confirm title={`Disable ${called(t)}?`} act="Disable" run={() => turn(false)} onClose={() => setAsking(false)}>
          This target is also what enables the model on its provider: {named(others)} {others.length === 1 ? 'skips' : 'skip'} it too.
        </Confirm>
      )}
    </>
  );
}

function RemoveTarget({ target: t, only, onClose }: { target: ModelMapping; only: boolean; onClose: () => void }) {
  const own = t.model_alias === t.upstream_model;
  return (
    <Confirm
      title={`Remove ${called(t)} from ${t.model_alias}?`}
      act="Remove target"
      run={() => body(api.DELETE('/api/llm-gateway/admin/model-mappings/{id}', { params: { path: { id: t.id } } }))}
      done={`${t.upstream_model} is no target of ${t.model_alias} any more`}
      onClose={onClose}
    >
      {only
        ? `It is the last target: the route ${t.model_alias} ends with it, and leaves its groups.`
        : `Requests for ${t.model_alias} are no longer sent to ${t.provider_name} for it.`}{' '}
      {own
        ? 'This row also enables the model on the provider: every route that uses it there stops using it.'
        : `The model stays enabled on ${t.provider_name}.`}
    </Confirm>
  );
}
