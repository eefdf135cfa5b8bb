import { Select, Stack, TextInput } from '@mantine/core';
import { IconLock, IconPencil, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, body, read } from '../../api/client';
import { catalog, connections, providers } from '../../api/queries';
import type { Connection } from '../../api/schema';
import { Confirm, named } from '../../shared/Confirm';
import { EditModal, type Form, FormModal } from '../../shared/FormModal';
import { ListPage } from '../../shared/ListPage';
import { RowMenu } from '../../shared/RowMenu';
import { checkDocument, noSecret, SecretFields, type SecretValues, secretBody } from '../../shared/SecretFields';
import { When } from '../../shared/When';
import { authTypes, families, familyOptions } from '../../shared/words';

interface Values extends SecretValues {
  name: string;
  base_url: string;
}

const path = '/api/llm-gateway/admin/connections' as const;

export function CredentialsPage() {
  const used = useQuery(providers).data ?? [];
  const usersOf = (c: Connection) => used.filter((p) => p.connection_id === c.id).map((p) => p.name);
  return (
    <ListPage
      title="Credentials"
      about="Secrets that several providers share. Rotating one rotates it for all of them."
      query={useQuery(connections)}
      id={(c) => c.id}
      words={(c) => `${c.name} ${families[c.model_provider]} ${c.base_url}`}
      empty={{
        icon: <IconLock size={22} />,
        title: 'No shared credentials',
        words:
          'A provider can have a secret of its own. Make a shared one when several providers use the same account, so that it is rotated in one place.',
      }}
      create={{ act: 'Add credential', form: (close) => <CreateCredential onClose={close} /> }}
      columns={[
        { title: 'Name', cell: (c) => <strong>{c.name}</strong> },
        { title: 'Vendor', width: '96px', cell: (c) => families[c.model_provider] },
        {
          title: 'Secret',
          width: 'minmax(0, 1.6fr)',
          cell: (c) => (
            <>
              <div>{authTypes[c.auth_type]}</div>
              {c.key_last4 && <div className="mono">···{c.key_last4}</div>}
            </>
          ),
        },
        { title: 'Address', width: 'minmax(0, 1.5fr)', wide: true, cell: (c) => <span className="mono">{c.base_url}</span> },
        { title: 'Used by', wide: true, cell: (c) => usersOf(c).join(', ') || 'no provider' },
        { title: 'Changed', width: '110px', wide: true, cell: (c) => <When at={c.updated_at} relative /> },
        {
          title: '',
          width: '32px',
          end: true,
          cell: (c) => (
            <RowMenu
              of={c.name}
              acts={[
                { title: 'Edit or rotate', icon: IconPencil, open: (close) => <EditCredential connection={c} onClose={close} /> },
                {
                  title: 'Delete',
                  icon: IconTrash,
                  danger: true,
                  open: (close) => <DeleteCredential connection={c} users={usersOf(c)} onClose={close} />,
                },
              ]}
            />
          ),
        },
      ]}
    />
  );
}

function CreateCredential({ onClose }: { onClose: () => void }) {
  const known = useQuery(catalog).data ?? [];
  const initial: Values = {
    ...noSecret,
    name: '',
    model_provider: 'openai',
    auth_type: 'bearer_api_key',
    base_url: 'https://api.openai.com/v1',
  };
  return (
    <FormModal
      title="Add a shared credential"
      submit="Add credential"
      initial={initial}
      checks={(v) => ({ credentials: checkDocument(v.credentials) })}
      save={(v) =>
        body(
          api.POST(path, {
            body: {
              name: v.name.trim(),
              model_provider: v.model_provider,
              base_url: v.base_url.trim(),
              auth_type: v.auth_type,
              ...secretBody(v),
            },
          }),
        )
      }
      done={(c) => `${c.name} is stored, sealed to the nodes`}
      onClose={onClose}
    >
      {(form) => (
        <Stack gap="md">
          <Select
            label="Vendor"
            searchable
            allowDeselect={false}
            data={familyOptions}
            value={form.values.model_provider}
            onChange={(family) => {
              const entry = known.find((c) => c.slug === family);
              if (entry) {
                form.setValues({ model_provider: entry.slug, base_url: entry.default_base_url ?? '', auth_type: entry.auth_type });
              }
            }}
          />
          <Fields form={form} stored={false} />
        </Stack>
      )}
    </FormModal>
  );
}

function EditCredential({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const id = { path: { id: connection.id } };
  return (
    <EditModal
      title={`Edit ${connection.name}`}
      submit="Save"
      load={() => read(api.GET(`${path}/{id}`, { params: id }))}
      from={(c): Values => ({ ...noSecret, name: c.name, model_provider: c.model_provider, auth_type: c.auth_type, base_url: c.base_url })}
      save={(v, etag) =>
        body(
          api.PUT(`${path}/{id}`, {
            params: { ...id, header: { 'If-Match': etag } },
            body: { name: v.name.trim(), base_url: v.base_url.trim(), auth_type: v.auth_type, ...secretBody(v) },
          }),
        )
      }
      checks={(v) => ({ credentials: checkDocument(v.credentials) })}
      done={(c) => `${c.name} is saved`}
      onClose={onClose}
    >
      {(form, c) => <Fields form={form} stored={c.stores_key_material} />}
    </EditModal>
  );
}

function Fields({ form, stored }: { form: Form<Values>; stored: boolean }) {
  return (
    <Stack gap="md">
      <TextInput label="Name" data-autofocus autoComplete="off" {...form.getInputProps('name')} />
      <TextInput
        label="Base URL"
        description="The secret is sent to this host and no other."
        type="url"
        spellCheck={false}
        {...form.getInputProps('base_url')}
      />
      <SecretFields form={form} stored={stored} />
    </Stack>
  );
}

function DeleteCredential({ connection: c, users, onClose }: { connection: Connection; users: string[]; onClose: () => void }) {
  return (
    <Confirm
      title={`Delete ${c.name}?`}
      act="Delete credential"
      run={() => body(api.DELETE(`${path}/{id}`, { params: { path: { id: c.id } } }))}
      done={`${c.name} is deleted`}
      onClose={onClose}
    >
      {users.length > 0 ? (
        <>{named(users)} use it: give them another credential first, or this is refused.</>
      ) : (
        'No provider uses it. The secret is forgotten and cannot be brought back.'
      )}
    </Confirm>
  );
}
