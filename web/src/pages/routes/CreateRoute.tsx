import { Stack, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { api, body } from '../../api/client';
import { FormModal } from '../../shared/FormModal';
import { noTarget, TargetPicker, type TargetValues, targetsOf } from './TargetPicker';

interface Values extends TargetValues {
  model_alias: string;
}

export function CreateRoute({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  return (
    <FormModal
      title="Create a route"
      size="lg"
      submit="Create route"
      initial={{ model_alias: '', targets: [noTarget], enable_models: true } as Values}
      save={(v) =>
        body(
          api.POST('/api/llm-gateway/admin/routes', {
            body: { model_alias: v.model_alias.trim(), ...targetsOf(v) },
          }),
        )
      }
      done={(route) => `${route.model_alias} is made; nodes serve it within two seconds`}
      after={(route) => void navigate({ to: '/routes', search: { open: route.model_alias } })}
      onClose={onClose}
    >
      {(form) => (
        <Stack gap="md">
          <TextInput
            label="Name"
            description="What callers put in “model”. Tools know more about a name like claude-sonnet-4-5 or gpt-5."
            data-autofocus
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps('model_alias')}
          />
          <TargetPicker form={form} />
        </Stack>
      )}
    </FormModal>
  );
}
