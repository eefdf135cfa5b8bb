import { Alert, Button, Group, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useChange } from '../api/change';
import { type ApiError, explain } from '../api/errors';
import { Window } from './Window';

interface Props<Output> {
  title: string;
  /** What it will touch, by name. */
  children: ReactNode;
  /** The verb on the button. */
  act: string;
  run: () => Promise<Output>;
  done?: string | ((output: Output) => string);
  onClose: () => void;
  /** Nothing is lost by it, so that Enter may mean yes. */
  gentle?: boolean;
}

/** Asks before an act that cannot be taken back, and says what it touches. */
export function Confirm<Output>({ title, children, act, run, done, onClose, gentle }: Props<Output>) {
  const [failure, setFailure] = useState<ApiError>();
  const change = useChange<void, Output>({
    run,
    done,
    after: onClose,
    refused: (error) => {
      setFailure(error);
      return true;
    },
  });
  const why = failure && explain(failure);
  return (
    <Window onClose={onClose} title={title} size="md">
      <Stack gap="md">
        <div>{children}</div>
        {why && (
          <Alert color="red" variant="outline" title={why.title} role="alert">
            {why.advice}
          </Alert>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} data-autofocus={gentle ? undefined : true}>
            Cancel
          </Button>
          <Button
            color={gentle ? undefined : 'red.9'}
            loading={change.isPending}
            onClick={() => change.mutate()}
            data-autofocus={gentle || undefined}
          >
            {act}
          </Button>
        </Group>
      </Stack>
    </Window>
  );
}

/** Names in a sentence: "a, b and 3 more". */
export function named(names: readonly string[], most = 4): string {
  const quoted = names.slice(0, most).map((n) => `“${n}”`);
  const more = names.length - quoted.length;
  if (more > 0) {
    return `${quoted.join(', ')} and ${more} more`;
  }
  return quoted.length > 1 ? `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}` : (quoted[0] ?? 'nothing');
}

/** "1 target", "3 targets". */
export const count = (n: number, one: string, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
