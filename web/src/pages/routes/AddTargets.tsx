import { useQuery } from '@tanstack/react-query';
import { api, body } from '../../api/client';
import { ApiError } from '../../api/errors';
import { mappings } from '../../api/queries';
import type { ModelMapping, Route } from '../../api/schema';
import { count } from '../../shared/Confirm';
import { FormModal } from '../../shared/FormModal';
import { type Step, useOneByOne } from '../../shared/oneByOne';
import { isEnabled, noTarget, type Picked, TargetPicker, type TargetValues } from './TargetPicker';

const path = '/api/llm-gateway/admin/model-mappings' as const;

/** Targets after those that a route has. */
export function AddTargets({ route, onClose }: { route: Route; onClose: () => void }) {
  const models = useQuery(mappings).data ?? [];
  const { run, progress } = useOneByOne();
  const save = async (v: TargetValues) => {
    await run(steps(route, models, v));
    return v.targets.length;
  };
  return (
    <FormModal
      title={`Add targets to ${route.model_alias}`}
      size="lg"
      submit="Add targets"
      initial={{ targets: [noTarget], enable_models: true } as TargetValues}
      save={save}
      progress={progress}
      done={(n) => `${count(n, 'target')} added to ${route.model_alias}`}
      onClose={onClose}
    >
      {(form) => <TargetPicker form={form} first={route.targets.length + 1} />}
    </FormModal>
  );
}

/** What adding the targets takes: each is enabled where it has to be, and put after those that are there. */
function steps(route: Route, models: readonly ModelMapping[], { targets, enable_models }: TargetValues): Step[] {
  const first = Math.max(-1, ...route.targets.map((t) => t.priority)) + 1;
  return targets.flatMap((t, i) => {
    const of = JSON.stringify(named(t));
    const step = (what: string, run: () => Promise<unknown>): Step => ({
      key: `${what} ${of}`,
      run: () => run().catch((error: unknown) => Promise.reject(error instanceof ApiError ? at(i, error) : error)),
    });
    const add = step('add', () =>
      body(api.POST(path, { body: { ...named(t), model_alias: route.model_alias, priority: first + i, bare_alias: true } })),
    );
    return enable_models && !isEnabled(models, t) ? [step('enable', () => enable(t, models)), add] : [add];
  });
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
