import { Button, Group, List, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, body } from '../../api/client';
import { policies } from '../../api/queries';
import type { Route, RouteRenamed } from '../../api/schema';
import { Confirm, count, named } from '../../shared/Confirm';
import { type Form, FormModal } from '../../shared/FormModal';
import { Window } from '../../shared/Window';

interface Name extends Record<string, unknown> {
  model_alias: string;
}

function NameField({ form }: { form: Form<Name> }) {
  return (
    <TextInput
      label="Name"
      description="What callers put in “model”. At most 255 characters."
      data-autofocus
      autoComplete="off"
      spellCheck={false}
      {...form.getInputProps('model_alias')}
    />
  );
}

/** What a renaming did, and which route it was. */
export interface Renaming {
  from: string;
  renamed: RouteRenamed;
}

/** What it did is shown by the page: the row that asked is gone by then, with its name. */
export function RenameRoute({ alias, onClose, onRenamed }: { alias: string; onClose: () => void; onRenamed: (r: Renaming) => void }) {
  return (
    <FormModal
      title={`Rename ${alias}`}
      submit="Rename"
      initial={{ model_alias: alias } as Name}
      save={(v) =>
        body(
          api.PUT('/api/llm-gateway/admin/routes/{alias}/rename', {
            params: { path: { alias } },
            body: { model_alias: v.model_alias },
          }),
        )
      }
      after={(renamed) => onRenamed({ from: alias, renamed })}
      onClose={onClose}
    >
      {(form) => <NameField form={form} />}
    </FormModal>
  );
}

const plural = (what: string) => (what.endsWith('y') ? `${what.slice(0, -1)}ies` : `${what}s`);

/** What went along with a name. */
export function Moved({ from, renamed: { route, moved }, onClose }: Renaming & { onClose: () => void }) {
  const along = [
    ['route group', moved.model_route_groups],
    ['model access policy', moved.model_access_policies],
    ['rate limit', moved.rate_limits],
    ['budget', moved.budgets],
    ['routing policy', moved.routing_policies],
  ] as const;
  return (
    <Window onClose={onClose} title="The route is renamed">
      <Stack gap="md">
        <p style={{ margin: 0 }}>
          <span className="mono">{from}</span> is now <span className="mono">{route.model_alias}</span>. Whoever still asks for the old name
          is told that there is no such model.
        </p>
        <List size="sm" spacing={4}>
          <List.Item>{count(moved.targets, 'target')} moved</List.Item>
          {along
            .filter(([, list]) => list.length > 0)
            .map(([what, list]) => (
              <List.Item key={what}>
                {count(list.length, what, plural(what))} {list.length === 1 ? 'follows' : 'follow'}: {named(list.map((n) => n.name))}
              </List.Item>
            ))}
          {moved.kept_enablements > 0 && (
            <List.Item>
              {count(moved.kept_enablements, 'model')} kept enabled under the old name: the route is an alias over it now
            </List.Item>
          )}
        </List>
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </Group>
      </Stack>
    </Window>
  );
}

export function DuplicateRoute({ alias, onClose }: { alias: string; onClose: () => void }) {
  return (
    <FormModal
      title={`Duplicate ${alias}`}
      submit="Duplicate"
      initial={{ model_alias: `${alias}-copy` } as Name}
      save={(v) =>
        body(
          api.POST('/api/llm-gateway/admin/routes/{alias}/duplicate', {
            params: { path: { alias } },
            body: { model_alias: v.model_alias },
          }),
        )
      }
      done={(route) => `${route.model_alias} is made, with the targets of ${alias}`}
      onClose={onClose}
    >
      {(form) => <NameField form={form} />}
    </FormModal>
  );
}

export function DeleteRoute({ route, onClose }: { route: Route; onClose: () => void }) {
  const alias = route.model_alias;
  const naming = (useQuery(policies).data ?? []).filter((p) => p.targets.some((t) => t.kind === 'model_alias' && t.alias === alias));
  return (
    <Confirm
      title={`Delete ${alias}?`}
      act="Delete route"
      run={() => body(api.DELETE('/api/llm-gateway/admin/routes/{alias}', { params: { path: { alias } } }))}
      done={(gone) =>
        gone.kept_enablements > 0 ? `${alias} is deleted; ${count(gone.kept_enablements, 'model')} stay enabled` : `${alias} is deleted`
      }
      onClose={onClose}
    >
      <List size="sm" spacing={4}>
        <List.Item>
          {count(route.targets.length, 'target')}: {named(route.targets.map((t) => `${t.provider_name} / ${t.upstream_model}`))}. The models
          stay enabled on their providers.
        </List.Item>
        {route.model_route_groups.length > 0 && <List.Item>It leaves {named(route.model_route_groups.map((g) => g.name))}.</List.Item>}
        {naming.length > 0 && <List.Item>{named(naming.map((p) => p.name))} still name it, and match nothing.</List.Item>}
        <List.Item>Callers who ask for it are told that there is no such model, within two seconds.</List.Item>
      </List>
    </Confirm>
  );
}
