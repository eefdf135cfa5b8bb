import { SegmentedControl, Select, Switch } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../../api/client';
import { groups, keys, routes, users } from '../../api/queries';
import type { ApiKey, ApiKeySecret, User } from '../../api/schema';
import { expiry } from '../../shared/expiry';
import { isOver, type KeyCalls, type KeyValues, keyColumns, MakeKey, NewKey } from '../../shared/KeyTable';
import { ListPage } from '../../shared/ListPage';

const path = '/api/llm-gateway/admin/api-keys/{id}' as const;

const calls: KeyCalls = {
  disable: (id, disabled) => body(api.PATCH(path, { params: { path: { id } }, body: { disabled } })),
  rotate: (id, grace_secs) => body(api.POST(`${path}/rotate`, { params: { path: { id } }, body: { grace_secs } })),
  revoke: (id) => body(api.DELETE(path, { params: { path: { id } } })),
};

export function KeysPage() {
  const people = useQuery(users).data ?? [];
  const models = (useQuery(routes).data ?? []).map((r) => r.model_alias);
  const [all, setAll] = useState(false);
  const [made, setMade] = useState<ApiKeySecret>();
  return (
    <ListPage
      title="API Keys"
      about="What callers of the gateway show. A key of a person or a group may call what they may call."
      query={useQuery(keys)}
      id={(k) => k.id}
      keep={(k) => all || !isOver(k)}
      words={(k) => `${k.name} ${k.key_prefix} ${ownerOf(k, people)}`}
      faint={isOver}
      empty={{
        icon: <IconKey size={22} />,
        title: 'No keys yet',
        words: 'A tool needs a key to call the gateway. Create one, and paste the setup that comes with it.',
      }}
      create={{ act: 'Create key', form: (close) => <CreateKey models={models} onClose={close} /> }}
      tools={<Switch label="Show ended keys" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} />}
      columns={keyColumns(calls, setMade, [{ title: 'Whose', cell: (k) => ownerOf(k, people) }])}
    >
      {made && <NewKey made={made} models={models} onClose={() => setMade(undefined)} />}
    </ListPage>
  );
}

/** Whose key it is, in words. */
export function ownerOf(k: ApiKey, people: readonly User[]): string {
  if (k.group_name) {
    return `Group ${k.group_name}`;
  }
  if (k.user_id) {
    const user = people.find((u) => u.id === k.user_id);
    return user ? user.name : (k.user_email ?? 'Somebody outside');
  }
  return 'Nobody’s';
}

interface Values extends KeyValues {
  whose: 'nobody' | 'user' | 'group';
  user_id: string | null;
  group_name: string | null;
}

function CreateKey({ models, onClose }: { models: string[]; onClose: () => void }) {
  const people = useQuery(users).data ?? [];
  const teams = useQuery(groups).data ?? [];
  const create = (v: Values) =>
    body(
      api.POST('/api/llm-gateway/admin/api-keys', {
        body: {
          name: v.name.trim(),
          ...expiry(v.days, new Date()),
          ...(v.whose === 'user' ? { user_id: v.user_id ?? '' } : {}),
          ...(v.whose === 'group' ? { group_name: v.group_name ?? '' } : {}),
        },
      }),
    );
  return (
    <MakeKey
      initial={{ name: '', whose: 'nobody', user_id: null, group_name: null, days: '' } as Values}
      where="Where it is used, say “CI” or “Dana’s laptop”."
      create={create}
      models={models}
      onClose={onClose}
    >
      {(form) => (
        <>
          <SegmentedControl
            aria-label="Whose key it is"
            data={[
              { value: 'nobody', label: 'A machine’s' },
              { value: 'user', label: 'A person’s' },
              { value: 'group', label: 'A group’s' },
            ]}
            {...form.getInputProps('whose')}
          />
          {form.values.whose === 'user' && (
            <Select
              label="Person"
              searchable
              data={people.map((u) => ({ value: u.id, label: `${u.name} (${u.email})` }))}
              {...form.getInputProps('user_id')}
            />
          )}
          {form.values.whose === 'group' && (
            <Select label="Group" searchable data={teams.map((g) => g.name)} {...form.getInputProps('group_name')} />
          )}
        </>
      )}
    </MakeKey>
  );
}
