import { Alert, Button, Skeleton, Stack } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { explain } from '../api/errors';
import classes from './State.module.css';

/** What a query answered, or that it is still to come, or why it does not. */
export function Loaded<T>({ query, children, rows = 6 }: { query: UseQueryResult<T>; children: (data: T) => ReactNode; rows?: number }) {
  if (query.data !== undefined) {
    return <>{children(query.data)}</>;
  }
  if (query.isError) {
    return <Failure error={query.error} retry={() => void query.refetch()} />;
  }
  return <Waiting rows={rows} />;
}

export function Waiting({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap={8} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <Skeleton key={i} height={44} radius="md" />
      ))}
    </Stack>
  );
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const { title, advice } = explain(error);
  return (
    <Alert color="red" variant="outline" icon={<IconAlertTriangle />} title={title} role="alert">
      <p className={classes.advice}>{advice}</p>
      {retry && (
        <Button size="xs" variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

/** A page without anything on it yet: what it is for, and the next step. */
export function Empty({ icon, title, children, action }: { icon?: ReactNode; title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className={classes.empty}>
      {icon && <div className={classes.icon}>{icon}</div>}
      <h2 className={classes.title}>{title}</h2>
      <p className={classes.words}>{children}</p>
      {action}
    </div>
  );
}
