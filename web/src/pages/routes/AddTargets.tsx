import { api, body } from '../../api/client';
import type { Route } from '../../api/schema';
import { count } from '../../shared/Confirm';
import { FormModal } from '../../shared/FormModal';
import { noTarget, TargetPicker, type TargetValues, targetsOf } from './TargetPicker';

/** Targets after those that a route has: all of them, or none where one is refused. */
export function AddTargets({ route, onClose }: { route: Route; onClose: () => void }) {
  return (
    <FormModal
      title={`Add targets to ${route.model_alias}`}
      size="lg"
      submit="Add targets"
      initial={{ targets: [noTarget], enable_models: true } as TargetValues}
      save={(v) =>
        body(
          api.POST('/api/llm-gateway/admin/routes/{alias}/targets', { params: { path: { alias: route.model_alias } }, body: targetsOf(v) }),
        )
      }
      done={(r) => `${count(r.targets.length - route.targets.length, 'target')} added to ${route.model_alias}`}
      onClose={onClose}
    >
      {(form) => <TargetPicker form={form} first={route.targets.length + 1} />}
    </FormModal>
  );
}
