import {
  type Announcements,
  closestCenter,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  PointerSensor,
  useSensor,
  useSensors,
} from '@dnd-kit/core';
import { arrayMove, SortableContext, sortableKeyboardCoordinates, verticalListSortingStrategy } from '@dnd-kit/sortable';
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useChange } from '../../api/change';
import { api, body } from '../../api/client';
import { routes } from '../../api/queries';
import type { ModelMapping, Route } from '../../api/schema';
import { called } from '../../shared/health/badges';
import { AddTargets } from './AddTargets';
import classes from './routes.module.css';
import { TargetRow } from './TargetRow';

/** The targets of a route in the order in which they are tried, to be dragged into another. */
export function Targets({ route, at }: { route: Route; at: number }) {
  const [adding, setAdding] = useState(false);
  const { order, move } = useOrder(route);
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const announcements = useMemo(() => announce(order), [order]);
  const onDragEnd = ({ active, over }: DragEndEvent) => {
    const from = order.findIndex((t) => t.id === active.id);
    const to = order.findIndex((t) => t.id === over?.id);
    if (from >= 0 && to >= 0 && from !== to) {
      move(arrayMove([...order], from, to));
    }
  };
  return (
    <>
      <DndContext sensors={sensors} collisionDetection={closestCenter} onDragEnd={onDragEnd} accessibility={{ announcements }}>
        <SortableContext items={order.map((t) => t.id)} strategy={verticalListSortingStrategy}>
          <ol className={classes.targetList}>
            {order.map((target, i) => (
              <TargetRow key={target.id} target={target} position={i + 1} only={order.length === 1} at={at} />
            ))}
          </ol>
        </SortableContext>
      </DndContext>
      <Button size="xs" variant="default" leftSection={<IconPlus size={14} />} onClick={() => setAdding(true)}>
        Add targets
      </Button>
      {adding && <AddTargets route={route} onClose={() => setAdding(false)} />}
    </>
  );
}

/** The order as it is shown: as dragged while that is being saved, as it was when saving fails. */
function useOrder(route: Route) {
  const client = useQueryClient();
  const show = (targets: readonly ModelMapping[]) =>
    client.setQueryData(routes.queryKey, (list) =>
      list?.map((r) => (r.model_alias === route.model_alias ? { ...r, targets: [...targets] } : r)),
    );
  const change = useChange({
    run: async (targets: readonly ModelMapping[]) => {
      await client.cancelQueries({ queryKey: routes.queryKey }); // an older answer would undo it on the screen
      const before = route.targets;
      show(targets);
      try {
        return await body(
          api.PUT('/api/llm-gateway/admin/model-mappings/reorder', {
            body: { entries: targets.map((t, priority) => ({ id: t.id, priority })) },
          }),
        );
      } catch (error) {
        show(before);
        throw error;
      }
    },
  });
  // Until the list above has it too, what was dragged is what is shown.
  const order = change.isPending ? change.variables : route.targets;
  return { order, move: change.mutate };
}

/** What a screen reader says while a target is moved. */
function announce(order: readonly ModelMapping[]): Announcements {
  const name = (id: unknown) => {
    const target = order.find((t) => t.id === id);
    return target ? called(target) : 'the target';
  };
  const place = (id: unknown) => `${order.findIndex((t) => t.id === id) + 1} of ${order.length}`;
  let moved = false; // it is over itself at first, and what it hears then would hide how to move it
  return {
    onDragStart: ({ active }) => {
      moved = false;
      return `Picked up ${name(active.id)}, which is ${place(active.id)}. The arrow keys move it, space drops it, escape leaves it.`;
    },
    onDragOver: ({ active, over }) => {
      moved ||= over !== null && over.id !== active.id;
      return over && moved ? `${name(active.id)} would be ${place(over.id)}.` : undefined;
    },
    onDragEnd: ({ active, over }) => (over ? `${name(active.id)} is now ${place(over.id)}.` : `${name(active.id)} stays.`),
    onDragCancel: ({ active }) => `${name(active.id)} stays where it was.`,
  };
}
