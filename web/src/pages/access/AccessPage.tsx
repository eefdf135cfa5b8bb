import { SegmentedControl, Stack, Switch, TextInput } from '@mantine/core';
import { IconAdjustmentsHorizontal, IconPencil, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useChange } from '../../api/change';
import { api, body, read } from '../../api/client';
import { governance, policies } from '../../api/queries';
import type { DefaultModelAccess, ModelAccessPolicy } from '../../api/schema';
import { Badge } from '../../shared/Badge';
import { Confirm, named } from '../../shared/Confirm';
import { EditModal, type Form, FormModal } from '../../shared/FormModal';
import { ListPage } from '../../shared/ListPage';
import { Section } from '../../shared/Page';
import { RowMenu } from '../../shared/RowMenu';
import { RowSwitch } from '../../shared/RowSwitch';
import { When } from '../../shared/When';
import { useNames } from './names';
import { ScopeFields } from './ScopeFields';
import { noTarget, TargetFields } from './TargetFields';
import { type AccessValues, bodyOf, scopeWords, targetWords, valuesOf } from './values';

const path = '/api/llm-gateway/admin/model-access' as const;

export function AccessPage() {
  const names = useNames();
  return (
    <ListPage
      title="Model Access"
      about="Who may call which models. All policies that are for a caller hold together: a denylist forbids, and where any allowlist is for the caller, one must name the model."
      query={useQuery(policies)}
      id={(p) => p.id}
      words={(p) => `${p.name} ${scopeWords(p, names)} ${p.targets.map((t) => targetWords(t, names)).join(' ')}`}
      faint={(p) => !p.enabled}
      empty={{
        icon: <IconAdjustmentsHorizontal size={22} />,
        title: 'No policies yet',
        words:
          'Until there is one, what is set above decides for everybody. Make a policy to allow a route group to a team, or to keep a model from them.',
      }}
      create={{ act: 'Create policy', form: (close) => <CreatePolicy onClose={close} /> }}
      columns={[
        { title: 'Name', cell: (p) => <strong>{p.name}</strong> },
        {
          title: 'Does',
          width: '76px',
          cell: (p) => (p.policy_type === 'allowlist' ? <Badge tone="ok">Allows</Badge> : <Badge tone="bad">Forbids</Badge>),
        },
        { title: 'What', width: 'minmax(0, 1.6fr)', cell: (p) => p.targets.map((t) => targetWords(t, names)).join(', ') },
        { title: 'Whom', cell: (p) => scopeWords(p, names) },
        { title: 'Changed', width: '110px', wide: true, cell: (p) => <When at={p.updated_at} relative /> },
        {
          title: 'Enabled',
          width: '64px',
          cell: (p) => (
            <RowSwitch
              on={p.enabled}
              label={`${p.name} is enabled`}
              run={(enabled) => body(api.PUT(`${path}/{id}`, { params: { path: { id: p.id } }, body: { enabled } }))}
              done={(on) => `${p.name} ${on ? 'holds' : 'does not hold any more'}`}
              off={{
                title: `Disable ${p.name}?`,
                touches: `It ${p.policy_type === 'allowlist' ? 'allows' : 'forbids'} ${p.targets.map((t) => targetWords(t, names)).join(', ')} for ${scopeWords(p, names)}. Within two seconds that holds no more, until it is enabled again.`,
              }}
            />
          ),
        },
        {
          title: '',
          width: '32px',
          end: true,
          cell: (p) => (
            <RowMenu
              of={p.name}
              acts={[
                { title: 'Edit', icon: IconPencil, open: (close) => <EditPolicy policy={p} onClose={close} /> },
                { title: 'Delete', icon: IconTrash, danger: true, open: (close) => <DeletePolicy policy={p} onClose={close} /> },
              ]}
            />
          ),
        },
      ]}
    >
      <Otherwise />
    </ListPage>
  );
}

/** What holds for a caller for whom there is no allowlist. */
function Otherwise() {
  const config = useQuery(governance).data;
  const allowing = (useQuery(policies).data ?? []).filter((p) => p.enabled && p.policy_type === 'allowlist').map((p) => p.name);
  const [asking, setAsking] = useState(false);
  const set = (default_model_access: DefaultModelAccess) =>
    body(
      api.PUT('/api/llm-gateway/admin/governance-config', {
        body: { require_pricing_for_mappings: config?.require_pricing_for_mappings ?? false, default_model_access },
      }),
    );
  const change = useChange({
    run: set,
    done: (g) =>
      g.default_model_access === 'allow' ? 'Who has no allowlist may call everything' : 'Who has no allowlist may call nothing',
  });
  return (
    <Section title="Callers without an allowlist" about="What they may call, where no policy allows anything to them.">
      <SegmentedControl
        aria-label="What callers without an allowlist may call"
        disabled={!config || change.isPending}
        value={(change.isPending ? change.variables : config?.default_model_access) ?? 'allow'}
        onChange={(v) => (v === 'deny' ? setAsking(true) : change.mutate(v as DefaultModelAccess))}
        data={[
          { value: 'allow', label: 'Everything' },
          { value: 'deny', label: 'Nothing' },
        ]}
      />
      {asking && (
        <Confirm title="Nothing without an allowlist?" act="Allow nothing" run={() => set('deny')} onClose={() => setAsking(false)}>
          Within two seconds every caller for whom no policy allows anything is refused, whatever they ask for.
          {allowing.length > 0 ? (
            <>
              {' '}
              {named(allowing)} still {allowing.length === 1 ? 'allows' : 'allow'} what {allowing.length === 1 ? 'it names' : 'they name'}.
            </>
          ) : (
            ' There is no such policy: that is everybody.'
          )}
        </Confirm>
      )}
    </Section>
  );
}

function Fields({ form }: { form: Form<AccessValues> }) {
  return (
    <Stack gap="md">
      <TextInput
        label="Name"
        description="A caller who is refused is told it."
        data-autofocus
        autoComplete="off"
        {...form.getInputProps('name')}
      />
      <SegmentedControl
        aria-label="What the policy does"
        data={[
          { value: 'allowlist', label: 'Allows' },
          { value: 'denylist', label: 'Forbids' },
        ]}
        {...form.getInputProps('policy_type')}
      />
      <ScopeFields form={form} />
      <TargetFields form={form} />
      <Switch label="It holds" {...form.getInputProps('enabled', { type: 'checkbox' })} />
    </Stack>
  );
}

const empty: AccessValues = {
  name: '',
  policy_type: 'allowlist',
  scope_type: 'user',
  scope_id: null,
  scope_value: '',
  enabled: true,
  targets: [noTarget],
};

function CreatePolicy({ onClose }: { onClose: () => void }) {
  return (
    <FormModal
      title="Create a policy"
      size="lg"
      submit="Create policy"
      initial={empty}
      save={(v) => {
        const { scope_id, scope_value, ...rest } = bodyOf(v);
        return body(api.POST(path, { body: { ...rest, ...(scope_id ? { scope_id } : {}), ...(scope_value ? { scope_value } : {}) } }));
      }}
      done={(p) => `${p.name} is made; nodes hold to it within two seconds`}
      onClose={onClose}
    >
      {(form) => <Fields form={form} />}
    </FormModal>
  );
}

function EditPolicy({ policy, onClose }: { policy: ModelAccessPolicy; onClose: () => void }) {
  const id = { path: { id: policy.id } };
  return (
    <EditModal
      title={`Edit ${policy.name}`}
      size="lg"
      submit="Save"
      load={() => read(api.GET(`${path}/{id}`, { params: id }))}
      from={valuesOf}
      save={(v, etag) => body(api.PUT(`${path}/{id}`, { params: { ...id, header: { 'If-Match': etag } }, body: bodyOf(v) }))}
      done={(p) => `${p.name} is saved`}
      onClose={onClose}
    >
      {(form) => <Fields form={form} />}
    </EditModal>
  );
}

function DeletePolicy({ policy: p, onClose }: { policy: ModelAccessPolicy; onClose: () => void }) {
  const names = useNames();
  return (
    <Confirm
      title={`Delete ${p.name}?`}
      act="Delete policy"
      run={() => body(api.DELETE(`${path}/{id}`, { params: { path: { id: p.id } } }))}
      done={`${p.name} is deleted`}
      onClose={onClose}
    >
      It {p.policy_type === 'allowlist' ? 'allows' : 'forbids'} {p.targets.map((t) => targetWords(t, names)).join(', ')} for{' '}
      {scopeWords(p, names)}. Within two seconds that holds no more; what else is for them still does.
    </Confirm>
  );
}
