import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { IconLogout } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body, read } from '../../api/client';
import { ownSessions, profile, session } from '../../api/queries';
import type { Session } from '../../api/schema';
import { useSession } from '../../app/session';
import { Badge } from '../../shared/Badge';
import { Confirm } from '../../shared/Confirm';
import { DataTable } from '../../shared/DataTable';
import { EditModal, FormModal } from '../../shared/FormModal';
import { Page, Section } from '../../shared/Page';
import { Loaded } from '../../shared/State';
import { When } from '../../shared/When';
import classes from './account.module.css';

export function AccountPage() {
  return (
    <Page title="Account" about="Who you are here, your password, and where you are signed in.">
      <Profile />
      <Password />
      <Sessions />
    </Page>
  );
}

interface Named extends Record<string, unknown> {
  name: string;
}

function Profile() {
  const query = useQuery(profile);
  const client = useQueryClient();
  const { organization } = useSession();
  const [editing, setEditing] = useState(false);
  return (
    <Section
      title="Profile"
      actions={
        <Button size="xs" variant="default" onClick={() => setEditing(true)}>
          Change name
        </Button>
      }
    >
      <Loaded query={query} rows={1}>
        {(me) => (
          <dl className={classes.facts}>
            <dt>Name</dt>
            <dd>{me.name}</dd>
            <dt>Email address</dt>
            <dd>{me.email}</dd>
            <dt>Organization</dt>
            <dd>{organization.name}</dd>
            <dt>Role</dt>
            <dd>{{ owner: 'Owner', admin: 'Administrator', member: 'Member' }[me.role]}</dd>
            <dt>Groups</dt>
            <dd>{me.groups.join(', ') || 'none'}</dd>
          </dl>
        )}
      </Loaded>
      {editing && (
        <EditModal
          title="Change your name"
          submit="Save"
          load={() => read(api.GET('/api/llm-gateway/user/profile'))}
          from={(me): Named => ({ name: me.name })}
          save={(v, etag) =>
            body(api.PUT('/api/llm-gateway/user/profile', { params: { header: { 'If-Match': etag } }, body: { name: v.name.trim() } }))
          }
          done="Your name is changed"
          after={() => void client.invalidateQueries(session)}
          onClose={() => setEditing(false)}
        >
          {(form) => <TextInput label="Name" data-autofocus {...form.getInputProps('name')} />}
        </EditModal>
      )}
    </Section>
  );
}

interface Passwords extends Record<string, unknown> {
  current_password: string;
  new_password: string;
}

function Password() {
  const [changing, setChanging] = useState(false);
  return (
    <Section
      title="Password"
      about="A new one ends your sessions everywhere but here."
      actions={
        <Button size="xs" variant="default" onClick={() => setChanging(true)}>
          Change password
        </Button>
      }
    >
      {changing && (
        <FormModal
          title="Change your password"
          submit="Change password"
          initial={{ current_password: '', new_password: '' } as Passwords}
          save={(v) => body(api.PUT('/api/llm-gateway/user/password', { body: v }))}
          done="Your password is changed; your other sessions are ended"
          onClose={() => setChanging(false)}
        >
          {(form) => (
            <Stack gap="md">
              <PasswordInput
                label="Current password"
                autoComplete="current-password"
                data-autofocus
                {...form.getInputProps('current_password')}
              />
              <PasswordInput
                label="New password"
                description="12 to 256 characters, of any kind."
                autoComplete="new-password"
                {...form.getInputProps('new_password')}
              />
            </Stack>
          )}
        </FormModal>
      )}
    </Section>
  );
}

function Sessions() {
  const query = useQuery(ownSessions);
  const [ending, setEnding] = useState<Session>();
  return (
    <Section title="Sessions" about="Where you are signed in. End what you do not know.">
      <Loaded query={query} rows={2}>
        {(list) => (
          <DataTable
            label="Sessions"
            rows={list}
            id={(s) => s.id}
            empty={null}
            columns={[
              { title: 'Browser', width: 'minmax(0, 2fr)', cell: (s) => <span className={classes.client}>{s.client || 'unknown'}</span> },
              { title: 'Signed in', width: '150px', cell: (s) => <When at={s.created_at} relative /> },
              { title: 'Last seen', width: '150px', cell: (s) => <When at={s.last_seen_at} relative /> },
              {
                title: 'This one',
                width: '130px',
                cell: (s) =>
                  s.current ? (
                    <Badge tone="ok">This session</Badge>
                  ) : (
                    <Button size="compact-xs" variant="default" leftSection={<IconLogout size={13} />} onClick={() => setEnding(s)}>
                      End
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      {ending && (
        <Confirm
          title="End the session?"
          act="End session"
          run={() => body(api.DELETE('/api/llm-gateway/user/sessions/{id}', { params: { path: { id: ending.id } } }))}
          done="The session is ended"
          onClose={() => setEnding(undefined)}
        >
          Whoever uses “{ending.client}” has to sign in again. Gateway keys go on working.
        </Confirm>
      )}
    </Section>
  );
}
