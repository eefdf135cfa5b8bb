import { MultiSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { IconFolders, IconPencil, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, body, read } from '../../api/client';
import { policies, routeGroups, routes } from '../../api/queries';
import type { ModelRouteGroup } from '../../api/schema';
import { Badge } from '../../shared/Badge';
import { Confirm, count, named } from '../../shared/Confirm';
import { EditModal, type Form, FormModal } from '../../shared/FormModal';
import { ListPage } from '../../shared/ListPage';
import { RowMenu } from '../../shared/RowMenu';
import { When } from '../../shared/When';

interface Values extends Record<string, unknown> {
  name: string;
  description: string;
  model_aliases: string[];
}

const path = '/api/llm-gateway/admin/model-route-groups' as const;

export function RouteGroupsPage() {
  const all = useQuery(policies).data ?? [];
  const naming = (g: ModelRouteGroup) => all.filter((p) => p.targets.some((t) => t.group_id === g.id)).map((p) => p.name);
  return (
    <ListPage
      title="Route Groups"
      about="Sets of routes that model access policies allow or forbid as one. A group grants nothing by itself."
      query={useQuery(routeGroups)}
      id={(g) => g.id}
      words={(g) => `${g.name} ${g.description ?? ''} ${g.model_aliases.join(' ')}`}
      empty={{
        icon: <IconFolders size={22} />,
        title: 'No route groups yet',
        words:
          'Put routes together, say those of one team, and name the group in a model access policy. What joins the group later is allowed with it.',
      }}
      create={{ act: 'Create group', form: (close) => <CreateGroup onClose={close} /> }}
      columns={[
        {
          title: 'Name',
          cell: (g) => (
            <>
              <strong>{g.name}</strong>
              {g.description && <div style={{ color: 'var(--mantine-color-dimmed)' }}>{g.description}</div>}
            </>
          ),
        },
        {
          title: 'Routes',
          cell: (g) => (
            <Link to="/routes" search={{ group: g.id }} style={{ color: 'var(--accent)' }}>
              {count(g.model_aliases.length, 'route')}
            </Link>
          ),
        },
        {
          title: 'Policies',
          cell: (g) =>
            naming(g).length ? (
              <Badge tone="info" tip={naming(g).join(', ')}>
                {count(naming(g).length, 'policy', 'policies')}
              </Badge>
            ) : (
              'none'
            ),
        },
        { title: 'Changed', width: '120px', wide: true, cell: (g) => <When at={g.updated_at} relative /> },
        {
          title: '',
          width: '32px',
          end: true,
          cell: (g) => (
            <RowMenu
              of={g.name}
              acts={[
                { title: 'Edit', icon: IconPencil, open: (close) => <EditGroup group={g} onClose={close} /> },
                {
                  title: 'Delete',
                  icon: IconTrash,
                  danger: true,
                  open: (close) => <DeleteGroup group={g} naming={naming(g)} onClose={close} />,
                },
              ]}
            />
          ),
        },
      ]}
    />
  );
}

function Fields({ form }: { form: Form<Values> }) {
  const names = (useQuery(routes).data ?? []).map((r) => r.model_alias);
  const known = [...new Set([...names, ...form.values.model_aliases])];
  return (
    <Stack gap="md">
      <TextInput label="Name" data-autofocus autoComplete="off" {...form.getInputProps('name')} />
      <Textarea label="Description" autosize minRows={2} {...form.getInputProps('description')} />
      <MultiSelect
        label="Routes"
        searchable
        clearable
        hidePickedOptions
        limit={100}
        data={known}
        {...form.getInputProps('model_aliases')}
      />
    </Stack>
  );
}

function CreateGroup({ onClose }: { onClose: () => void }) {
  return (
    <FormModal
      title="Create a route group"
      submit="Create group"
      initial={{ name: '', description: '', model_aliases: [] } as Values}
      save={(v) =>
        body(
          api.POST(path, {
            body: { name: v.name.trim(), model_aliases: v.model_aliases, ...(v.description ? { description: v.description } : {}) },
          }),
        )
      }
      done={(g) => `${g.name} is made`}
      onClose={onClose}
    >
      {(form) => <Fields form={form} />}
    </FormModal>
  );
}

function EditGroup({ group, onClose }: { group: ModelRouteGroup; onClose: () => void }) {
  const id = { path: { id: group.id } };
  return (
    <EditModal
      title={`Edit ${group.name}`}
      submit="Save"
      load={() => read(api.GET(`${path}/{id}`, { params: id }))}
      from={(g): Values => ({ name: g.name, description: g.description ?? '', model_aliases: g.model_aliases })}
      save={(v, etag) =>
        body(
          api.PUT(`${path}/{id}`, {
            params: { ...id, header: { 'If-Match': etag } },
            body: { name: v.name.trim(), description: v.description || null, model_aliases: v.model_aliases },
          }),
        )
      }
      done={(g) => `${g.name} is saved`}
      onClose={onClose}
    >
      {(form) => <Fields form={form} />}
    </EditModal>
  );
}

function DeleteGroup({ group: g, naming, onClose }: { group: ModelRouteGroup; naming: string[]; onClose: () => void }) {
  return (
    <Confirm
      title={`Delete ${g.name}?`}
      act={naming.length > 0 ? 'Delete it all the same' : 'Delete group'}
      run={() => body(api.DELETE(`${path}/{id}`, { params: { path: { id: g.id }, query: naming.length > 0 ? { force: true } : {} } }))}
      done={`${g.name} is deleted`}
      onClose={onClose}
    >
      {count(g.model_aliases.length, 'route')} {g.model_aliases.length === 1 ? 'leaves' : 'leave'} it and stay as they are.
      {naming.length > 0 && <> {named(naming)} name it: what they say of the group matches nothing then.</>}
    </Confirm>
  );
}
