import { Button, Group, Timeline } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../../api/client';
import { priceHistory } from '../../api/queries';
import type { ModelPricing, PricingChangeSource } from '../../api/schema';
import { Badge } from '../../shared/Badge';
import { Confirm } from '../../shared/Confirm';
import { price } from '../../shared/money';
import { Loaded } from '../../shared/State';
import { When } from '../../shared/When';
import { Window } from '../../shared/Window';
import { EditScheduled } from './PriceForm';
import classes from './pricing.module.css';

const sources: Record<PricingChangeSource, string> = {
  admin_create: 'Added',
  admin_edit: 'Changed',
  admin_schedule: 'Scheduled',
  import: 'Imported from the defaults',
  sync_manual: 'Followed the defaults',
  sync_auto: 'Followed the defaults by itself',
  admin_archive: 'Archived',
  admin_restore: 'Restored',
};

/** Every version of a price, the newest first. */
export function History({ of, onClose }: { of: ModelPricing; onClose: () => void }) {
  const query = useQuery(priceHistory(of.model_pattern, of.model_provider));
  const [editing, setEditing] = useState<ModelPricing>();
  const [cancelling, setCancelling] = useState<ModelPricing>();
  if (editing) {
    return <EditScheduled of={editing} onClose={() => setEditing(undefined)} />;
  }
  if (cancelling) {
    return <CancelScheduled of={cancelling} onClose={() => setCancelling(undefined)} />;
  }
  return (
    <Window onClose={onClose} title={`Prices of ${of.model_pattern}`} size="lg">
      <Loaded query={query} rows={3}>
        {(versions) => {
          const now = new Date();
          const held = versions.findIndex((v) => new Date(v.effective_from) <= now);
          return (
            <Timeline bulletSize={14} lineWidth={2} active={versions.length}>
              {versions.map((v, i) => (
                <Timeline.Item key={v.id} title={sources[v.change_source]}>
                  <Version
                    of={v}
                    scheduled={held < 0 || i < held}
                    current={i === held}
                    onEdit={() => setEditing(v)}
                    onCancel={() => setCancelling(v)}
                  />
                </Timeline.Item>
              ))}
            </Timeline>
          );
        }}
      </Loaded>
    </Window>
  );
}

function CancelScheduled({ of: v, onClose }: { of: ModelPricing; onClose: () => void }) {
  return (
    <Confirm
      title={`Cancel the scheduled price of ${v.model_pattern}?`}
      act="Cancel the price"
      run={() => body(api.DELETE('/api/llm-gateway/admin/model-pricing/{id}', { params: { path: { id: v.id } } }))}
      done="The scheduled price will not come"
      onClose={onClose}
    >
      {price(v.input_cost_per_million_tokens)} in and {price(v.output_cost_per_million_tokens)} out would hold from{' '}
      <When at={v.effective_from} />. Without it the price before goes on.
    </Confirm>
  );
}

interface VersionProps {
  of: ModelPricing;
  scheduled: boolean;
  current: boolean;
  onEdit: () => void;
  onCancel: () => void;
}

function Version({ of: v, scheduled, current, onEdit, onCancel }: VersionProps) {
  return (
    <>
      <div className={classes.version}>
        {!v.is_archived && (
          <span>
            {price(v.input_cost_per_million_tokens)} in · {price(v.output_cost_per_million_tokens)} out
          </span>
        )}
        {current && <Badge tone={v.is_archived ? 'note' : 'ok'}>{v.is_archived ? 'Archived' : 'Current'}</Badge>}
        {scheduled && <Badge tone="info">Scheduled</Badge>}
      </div>
      <div className={classes.dim}>
        From <When at={v.effective_from} />
        {v.created_by_name && `, by ${v.created_by_name}`}
        {v.change_reason && `: ${v.change_reason}`}
      </div>
      {scheduled && (
        <Group gap="xs" mt={6}>
          <Button size="compact-xs" variant="default" onClick={onEdit}>
            Change
          </Button>
          <Button size="compact-xs" variant="default" onClick={onCancel}>
            Cancel it
          </Button>
        </Group>
      )}
    </>
  );
}
