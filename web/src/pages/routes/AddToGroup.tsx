import { SegmentedControl, Select, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, body } from '../../api/client';
import { routeGroups } from '../../api/queries';
import { count, named } from '../../shared/Confirm';
import { FormModal } from '../../shared/FormModal';

interface Choice extends Record<string, unknown> {
  how: 'existing' | 'new';
  id: string | null;
  name: string;
}

const admin = '/api/llm-gateway/admin/model-route-groups' as const;

/** Adds routes to a group that there is, or to one that is made for them. */
export function AddToGroup({ aliases, onClose, onDone }: { aliases: string[]; onClose: () => void; onDone?: () => void }) {
  const groups = useQuery(routeGroups).data;
  if (!groups) {
    return null;
  }
  const save = ({ how, id, name }: Choice) =>
    how === 'new'
      ? body(api.POST(admin, { body: { name, model_aliases: aliases } }))
      : body(api.POST(`${admin}/{id}/members`, { params: { path: { id: id ?? '' } }, body: { model_aliases: aliases } }));
  return (
    <FormModal
      title={`Add ${aliases.length === 1 ? aliases[0] : count(aliases.length, 'route')} to a group`}
      submit="Add to group"
      initial={{ how: groups.length > 0 ? 'existing' : 'new', id: groups[0]?.id ?? null, name: '' } as Choice}
      save={save}
      done={(group) => `${named(aliases)} ${aliases.length === 1 ? 'is' : 'are'} in ${group.name}`}
      after={onDone}
      onClose={onClose}
    >
      {(form) => (
        <Stack gap="sm">
          {groups.length > 0 && (
            <SegmentedControl
              aria-label="Which group"
              fullWidth
              data={[
                { value: 'existing', label: 'A group' },
                { value: 'new', label: 'A new group' },
              ]}
              {...form.getInputProps('how')}
            />
          )}
          {form.values.how === 'existing' ? (
            <Select
              label="Group"
              searchable
              allowDeselect={false}
              data={groups.map((g) => ({ value: g.id, label: g.name }))}
              {...form.getInputProps('id')}
            />
          ) : (
            <TextInput label="Name of the new group" autoComplete="off" data-autofocus {...form.getInputProps('name')} />
          )}
        </Stack>
      )}
    </FormModal>
  );
}
