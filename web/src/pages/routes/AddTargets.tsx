import { useQuery } from '@tanstack/react-query';
import { api, body } from '../../api/client';
import { ApiError } from '../../api/errors';
import { mappings } from '../../api/queries';
import type { ModelMapping, Route } from '../../api/schema';
import { count } from '../../shared/Confirm';
import { FormModal } from '../../shared/FormModal';
import { isEnabled, noTarget, type Picked, TargetPicker, type TargetValues } from './TargetPicker';

const path = '/api/llm-gateway/admin/model-mappings' as const;

/** Targets after those that a route has. */
export function AddTargets({ route, onClose }: { route: Route; onClose: () => void }) {
  const models = useQuery(mappings).data ?? [];
  return (
    <FormModal
      title={`Add targets to ${route.model_alias}`}
      size="lg"
      submit="Add targets"
      initial={{ targets: [noTarget], enable_models: true } as TargetValues}
      save={(v) => addAll(route, models, v)}
      done={(n) => `${count(n, 'target')} added to ${route.model_alias}`}
      onClose={onClose}
    >
      {(form) => <TargetPicker form={form} first={route.targets.length + 1} />}
    </FormModal>
  );
}

/** One after the other: what was added before one is refused stays. */
async function addAll(route: Route, models: readonly ModelMapping[], { targets, enable_models }: TargetValues): Promise<number> {
  let priority = Math.max(-1, ...route.targets.map((t) => t.priority));
  for (const [i, t] of targets.entries()) {
    try {
      if (enable_models && !isEnabled(models, t)) {
        await enable(t, models);
      }
      priority++;
      await body(api.POST(path, { body: { ...named(t), model_alias: route.model_alias, priority, bare_alias: true } }));
    } catch (error) {
      throw error instanceof ApiError ? at(i, error) : error;
    }
  }
  return targets.length;
}

const named = (t: Picked) => ({ provider_id: t.provider_id ?? '', upstream_model: t.upstream_model.trim() });

async function enable(t: Picked, models: readonly ModelMapping[]): Promise<void> {
  const off = models.find(
    (m) => m.provider_id === t.provider_id && m.upstream_model === t.upstream_model && m.model_alias === t.upstream_model,
  );
  if (off) {
    await body(api.PUT(`${path}/{id}`, { params: { path: { id: off.id } }, body: { enabled: true } }));
  } else {
    await body(api.POST(path, { body: { ...named(t), model_alias: t.upstream_model.trim() } }));
  }
}

/** The error as one about the target at an index of the form. */
function at(index: number, error: ApiError): ApiError {
  const field = error.field === 'model_alias' ? 'upstream_model' : error.field;
  return new ApiError(error.status, {
    message: error.message,
    code: error.code,
    type: 'invalid_request_error',
    param: field && `targets[${index}].${field}`,
  });
}
