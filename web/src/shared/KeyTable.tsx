import { Alert, Button, Group, NumberInput, Select, Stack, TextInput } from '@mantine/core';
import { IconBan, IconKey, IconPlayerPause, IconPlayerPlay, IconRefresh } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useChange } from '../api/change';
import type { ApiKey, ApiKeySecret } from '../api/schema';
import { Badge } from './Badge';
import { Confirm } from './Confirm';
import { CopyLine } from './Copy';
import type { Column } from './DataTable';
import { lifetimes } from './expiry';
import { type Form, FormModal, needed } from './FormModal';
import { type MenuAct, RowMenu } from './RowMenu';
import { Setup } from './setup/Setup';
import { When } from './When';
import { Window } from './Window';

/** What can be done with keys: an administrator's calls, or one's own. */
export interface KeyCalls {
  disable: (id: string, disabled: boolean) => Promise<unknown>;
  rotate: (id: string, graceSecs: number) => Promise<ApiKeySecret>;
  revoke: (id: string) => Promise<unknown>;
}

interface KeyState {
  tone: 'ok' | 'warn' | 'note';
  text: string;
  tip?: ReactNode;
}

export function stateOf(k: Pick<ApiKey, 'revoked_at' | 'expires_at' | 'disabled_at'>, now: Date): KeyState {
  if (k.revoked_at) {
    return { tone: 'note', text: 'Revoked', tip: <When at={k.revoked_at} /> };
  }
  if (k.expires_at && new Date(k.expires_at) <= now) {
    return { tone: 'note', text: 'Expired', tip: <When at={k.expires_at} /> };
  }
  return k.disabled_at ? { tone: 'warn', text: 'Disabled', tip: <When at={k.disabled_at} /> } : { tone: 'ok', text: 'Active' };
}

/** Whether nothing can be done with a key any more. */
export const isOver = (k: ApiKey) => stateOf(k, new Date()).tone === 'note';

/**
 * The columns that a list of keys has, whosever they are; `middle` are those of the page. A key that takes the place of
 * another goes to onMade, since the row of the old one may be gone by then.
 */
export function keyColumns(calls: KeyCalls, onMade: (made: ApiKeySecret) => void, middle: Column<ApiKey>[] = []): Column<ApiKey>[] {
  return [
    { title: 'Name', cell: (k) => <strong>{k.name}</strong> },
    { title: 'Key', width: '120px', cell: (k) => <span className="mono">{k.key_prefix}…</span> },
    ...middle,
    { title: 'State', width: '96px', cell: (k) => <State of={k} /> },
    { title: 'Last used', width: '120px', wide: true, cell: (k) => <When at={k.last_used_at} relative /> },
    { title: 'Expires', width: '120px', wide: true, cell: (k) => <When at={k.expires_at} relative /> },
    { title: '', width: '32px', end: true, cell: (k) => (isOver(k) ? null : <KeyMenu of={k} calls={calls} onMade={onMade} />) },
  ];
}

function State({ of }: { of: ApiKey }) {
  const { tone, text, tip } = stateOf(of, new Date());
  return (
    <Badge tone={tone} tip={tip}>
      {text}
    </Badge>
  );
}

interface Rotating {
  of: ApiKey;
  calls: KeyCalls;
  onMade: (made: ApiKeySecret) => void;
}

function KeyMenu({ of: k, calls, onMade }: Rotating) {
  const enable = useChange({ run: () => calls.disable(k.id, false), done: `${k.name} is enabled` });
  const shown = <span className="mono">{k.key_prefix}…</span>;
  const power: MenuAct = k.disabled_at
    ? { title: 'Enable', icon: IconPlayerPlay, run: () => enable.mutate() }
    : {
        title: 'Disable',
        icon: IconPlayerPause,
        open: (close) => (
          <Confirm
            title={`Disable ${k.name}?`}
            act="Disable key"
            gentle
            run={() => calls.disable(k.id, true)}
            done={`${k.name} is disabled`}
            onClose={close}
          >
            Every request with {shown} is refused within two seconds, until the key is enabled again.
          </Confirm>
        ),
      };
  return (
    <RowMenu
      of={k.name}
      acts={[
        power,
        { title: 'Rotate', icon: IconRefresh, open: (close) => <Rotate of={k} calls={calls} onMade={onMade} onClose={close} /> },
        {
          title: 'Revoke',
          icon: IconBan,
          danger: true,
          open: (close) => (
            <Confirm
              title={`Revoke ${k.name}?`}
              act="Revoke key"
              run={() => calls.revoke(k.id)}
              done={`${k.name} is revoked`}
              onClose={close}
            >
              Every request with {shown} is refused from then on, for good.
            </Confirm>
          ),
        },
      ]}
    />
  );
}

interface Grace extends Record<string, unknown> {
  grace_secs: number | string;
}

function Rotate({ of: k, calls, onMade, onClose }: Rotating & { onClose: () => void }) {
  return (
    <FormModal
      title={`Rotate ${k.name}`}
      submit="Rotate"
      initial={{ grace_secs: 3600 } as Grace}
      checks={(v) => ({ grace_secs: needed(v.grace_secs) })}
      save={(v) => calls.rotate(k.id, Number(v.grace_secs))}
      after={onMade}
      onClose={onClose}
    >
      {(form) => (
        <NumberInput
          label="The old key stays good for"
          description="Seconds, so that there is time to put the new one in its place. 0 ends it at once."
          suffix=" s"
          min={0}
          step={600}
          clampBehavior="none"
          data-autofocus
          {...form.getInputProps('grace_secs')}
        />
      )}
    </FormModal>
  );
}

/** A key that was just made, the only time that it is shown. */
export function NewKey({ made, models, onClose }: { made: ApiKeySecret; models: string[]; onClose: () => void }) {
  return (
    <Window onClose={onClose} title={`The key ${made.name}`} size="lg" closeOnClickOutside={false}>
      <Stack gap="md">
        <Alert color="yellow" variant="outline" icon={<IconKey />} title="Copy it now">
          It is shown this once. The gateway keeps only its hash.
        </Alert>
        <CopyLine value={made.key} what="the key" />
        <Setup apiKey={made.key} models={models} />
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Window>
  );
}

export interface KeyValues extends Record<string, unknown> {
  name: string;
  /** How long it lives; see expiry.ts. */
  days: string | null;
}

interface Making<V extends KeyValues> {
  initial: V;
  where: string;
  create: (values: V) => Promise<ApiKeySecret>;
  models: string[];
  onClose: () => void;
  /** Fields of the page between the name and the end. */
  children?: (form: Form<V>) => ReactNode;
}

/** Makes a key, and then shows it. */
export function MakeKey<V extends KeyValues>({ initial, where, create, models, onClose, children }: Making<V>) {
  const [made, setMade] = useState<ApiKeySecret>();
  if (made) {
    return <NewKey made={made} models={models} onClose={onClose} />;
  }
  return (
    <FormModal
      title="Create a key"
      submit="Create key"
      initial={initial}
      params={{ expires_at: 'days' }}
      save={create}
      after={setMade}
      stays
      onClose={onClose}
    >
      {(form) => (
        <Stack gap="md">
          <TextInput label="Name" description={where} data-autofocus autoComplete="off" {...form.getInputProps('name')} />
          {children?.(form)}
          <Select label="Expires" allowDeselect={false} data={lifetimes} {...form.getInputProps('days')} />
        </Stack>
      )}
    </FormModal>
  );
}
