import { useQuery } from '@tanstack/react-query';
import { api, body } from '../../api/client';
import { mappings } from '../../api/queries';
import { Confirm, named } from '../Confirm';

interface Props {
  providerId: string;
  providerName: string;
  model: string;
  onClose: () => void;
}

/** Asks before it ends a cooldown, and says for whom. */
export function ResetCooldown({ providerId, providerName, model, onClose }: Props) {
  const sharing = (useQuery(mappings).data ?? []).filter(
    (m) => m.provider_id === providerId && m.upstream_model === model && m.model_alias !== model,
  );
  const shared = [...new Set(sharing.map((m) => m.model_alias))];
  return (
    <Confirm
      title="End the cooldown?"
      act="End cooldown"
      gentle
      run={() =>
        body(
          api.POST('/api/llm-gateway/admin/llm-gw/route-health/{provider_id}/reset', {
            params: { path: { provider_id: providerId } },
            body: { upstream_model: model },
          }),
        )
      }
      done={(r) => (r.was_ejected ? `${model} is asked again` : `${model} was not cooling down`)}
      onClose={onClose}
    >
      This clears what all nodes remember of <span className="mono">{model}</span> on {providerName}: its failures, and how long it has to
      stay away. All traffic returns to it at once{shared.length > 0 && <>, in {named(shared)}</>}. If it still fails, it cools down again.
    </Confirm>
  );
}
