import { Switch } from '@mantine/core';
import { useChange } from '../api/change';

interface Props {
  on: boolean;
  label: string;
  run: (on: boolean) => Promise<unknown>;
  done: (on: boolean) => string;
}

/** A switch in a row: it saves at once. */
export function RowSwitch({ on, label, run, done }: Props) {
  const change = useChange<boolean>({ run, done: (_, wanted) => done(wanted) });
  return (
    <Switch
      size="sm"
      checked={change.isPending ? change.variables : on}
      disabled={change.isPending}
      onChange={(e) => change.mutate(e.currentTarget.checked)}
      aria-label={label}
    />
  );
}
