import { notifications } from '@mantine/notifications';
import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError, explain } from './errors';

interface Change<Input, Output> {
  /** Makes the change. */
  run: (input: Input) => Promise<Output>;
  /** What to say when it is made; nothing where the page shows it itself. */
  done?: string | ((output: Output, input: Input) => string);
  after?: (output: Output, input: Input) => void;
  /** Puts an error where it belongs, and returns whether it did. Else it is shown in a corner. */
  refused?: (error: ApiError) => boolean;
}

/** A change of the configuration: afterwards everything that shows configuration is read again. */
export function useChange<Input = void, Output = unknown>(change: Change<Input, Output>): UseMutationResult<Output, Error, Input> {
  const client = useQueryClient();
  return useMutation<Output, Error, Input>({
    mutationFn: change.run,
    onSuccess: (output, input) => {
      void client.invalidateQueries({ predicate: (query) => query.meta?.topics !== undefined });
      const says = typeof change.done === 'function' ? change.done(output, input) : change.done;
      if (says) {
        notifications.show({ message: says, color: 'water' });
      }
      change.after?.(output, input);
    },
    onError: (error) => {
      if (error instanceof ApiError && change.refused?.(error)) {
        return;
      }
      showError(error);
    },
  });
}

export function showError(error: unknown): void {
  const { title, advice } = explain(error);
  notifications.show({ title, message: advice, color: 'red', autoClose: 10_000 });
}
