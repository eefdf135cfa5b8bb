import { Switch } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useChange } from '../api/change';
import { Confirm } from './Confirm';

interface Props {
  on: boolean;
  label: string;
  run: (on: boolean) => Promise<unknown>;
  done: (on: boolean) => string;
  /** What turning it off takes from whom; nothing where nobody misses it. It is asked about first. */
  off?: { title: string; touches: ReactNode };
}

/** A switch in a row: it saves at once, but asks before it takes something from callers. */
export function RowSwitch({ on, label, run, done, off }: Props) {
  const change = useChange<boolean>({ run, done: (_, wanted) => done(wanted) });
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Switch
        size="sm"
        checked={change.isPending ? change.variables : on}
        disabled={change.isPending}
        onChange={(e) => (off && !e.currentTarget.checked ? setAsking(true) : change.mutate(e.currentTarget.checked))}
        aria-label={label}
      />
      {asking && off && (
        <Confirm title={off.title} act="Disable" run={() => run(false)} done={done(false)} onClose={() => setAsking(false)}>
          {off.touches}
        </Confirm>
      )}
    </>
  );
}
