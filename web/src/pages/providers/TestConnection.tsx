import { Button, Group, Loader, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, body } from '../../api/client';
import { providers } from '../../api/queries';
import type { Provider, ProviderProbe } from '../../api/schema';
import { Badge } from '../../shared/Badge';
import { Failure } from '../../shared/State';
import { Window } from '../../shared/Window';

const outcomes: Record<ProviderProbe['outcome'], { tone: 'ok' | 'bad' | 'warn' | 'note'; text: string; advice: string }> = {
  ok: { tone: 'ok', text: 'Connected', advice: 'The provider answered with its models.' },
  rejected: { tone: 'bad', text: 'Credential refused', advice: 'Edit the provider and give it a valid credential.' },
  unreachable: { tone: 'bad', text: 'Unreachable', advice: 'Check the address, and whether the nodes may reach it.' },
  inconclusive: { tone: 'warn', text: 'Inconclusive', advice: 'The answer says nothing about the credential, and changes nothing.' },
  unsupported: { tone: 'note', text: 'Not checkable', advice: 'This kind of provider has nothing to check with.' },
};

/** Has a node ask the provider now, and shows what it found. */
export function TestConnection({ provider, onClose }: { provider: Provider; onClose: () => void }) {
  const client = useQueryClient();
  const probe = useMutation({
    mutationFn: () => body(api.POST('/api/llm-gateway/admin/providers/{id}/probe', { params: { path: { id: provider.id } } })),
    onSettled: () => client.invalidateQueries(providers),
  });
  const { mutate } = probe;
  useEffect(() => mutate(), [mutate]);
  const found = probe.data && outcomes[probe.data.outcome];
  return (
    <Window onClose={onClose} title={`Connection of ${provider.name}`}>
      <Stack gap="md" aria-live="polite">
        {probe.isPending && (
          <Group gap="sm">
            <Loader size="sm" /> A node asks {provider.base_url} for its models …
          </Group>
        )}
        {probe.error && <Failure error={probe.error} retry={() => mutate()} />}
        {found && probe.data && (
          <>
            <div>
              <Badge tone={found.tone}>{found.text}</Badge>
            </div>
            <div>
              {probe.data.detail && <div>{probe.data.detail}</div>}
              {found.advice} Asked by {probe.data.node}.
            </div>
          </>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" loading={probe.isPending} onClick={() => mutate()}>
            Test again
          </Button>
          <Button onClick={onClose}>Close</Button>
        </Group>
      </Stack>
    </Window>
  );
}
