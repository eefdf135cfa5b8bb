import { Alert, Button, Group, Stack } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useChange } from '../api/change';
import type { Read } from '../api/client';
import { type ApiError, explain, sentence } from '../api/errors';
import classes from './FormModal.module.css';
import { Loaded } from './State';
import { Window } from './Window';

type Values = Record<string, unknown>;
export type Form<V extends Values> = UseFormReturnType<V>;

interface Common<V extends Values, Output> {
  /** The verb on the button. */
  submit: string;
  /** The etag is that of `load`, or undefined. */
  save: (values: V, etag: string | undefined) => Promise<Output>;
  done?: string | ((output: Output) => string);
  after?: (output: Output) => void;
  onClose: () => void;
  /** Does not close by itself when it is saved. */
  stays?: boolean;
  /** How far saving is, where it is more than one call. */
  progress?: string;
  /** What the API calls a field, by what the form calls it, where they differ. */
  params?: Record<string, string>;
  /** What cannot even be sent, by field: an error, or null. The rest is judged by the API. */
  checks?: (values: V) => Record<string, string | null>;
}

interface Creating<V extends Values, Output> extends Common<V, Output> {
  title: string;
  initial: V;
  size?: string;
  children: (form: Form<V>) => ReactNode;
}

/** A form in a window that makes something. */
export function FormModal<V extends Values, Output>({ title, size, children, ...rest }: Creating<V, Output>) {
  return (
    <Window onClose={rest.onClose} title={title} size={size ?? 'md'} closeOnClickOutside={false}>
      <FormBody {...rest}>{(form) => children(form)}</FormBody>
    </Window>
  );
}

interface Editing<Row, V extends Values, Output> extends Common<V, Output> {
  title: string;
  size?: string;
  /** Reads the resource with its revision. */
  load: () => Promise<Read<Row>>;
  from: (row: Row) => V;
  children: (form: Form<V>, row: Row) => ReactNode;
}

/** A form in a window that changes something: it reads it first, so that a change of somebody else's is not lost. */
export function EditModal<Row, V extends Values, Output>({ title, size, ...rest }: Editing<Row, V, Output>) {
  return (
    <Window onClose={rest.onClose} title={title} size={size ?? 'md'} closeOnClickOutside={false}>
      <EditBody {...rest} />
    </Window>
  );
}

/** The same where it stands in something else than a window. */
export function EditBody<Row, V extends Values, Output>({
  load,
  from,
  children,
  ...rest
}: Omit<Editing<Row, V, Output>, 'title' | 'size'>) {
  const [id] = useState(() => crypto.randomUUID());
  const query = useQuery({ queryKey: ['edit', id], queryFn: load, gcTime: 0, staleTime: Number.POSITIVE_INFINITY });
  return (
    <Loaded query={query} rows={3}>
      {({ row, etag }) => (
        <FormBody
          {...rest}
          initial={from(row)}
          etag={etag}
          reload={async () => {
            const again = await query.refetch({ throwOnError: true });
            return again.data ? from(again.data.row) : undefined;
          }}
        >
          {(form) => children(form, row)}
        </FormBody>
      )}
    </Loaded>
  );
}

interface BodyProps<V extends Values, Output> extends Common<V, Output> {
  initial: V;
  etag?: string;
  reload?: () => Promise<V | undefined>;
  children: (form: Form<V>) => ReactNode;
}

function FormBody<V extends Values, Output>({
  initial,
  etag,
  reload,
  submit,
  save,
  done,
  after,
  onClose,
  stays,
  params,
  checks,
  progress,
  children,
}: BodyProps<V, Output>) {
  const form = useForm<V>({ initialValues: initial, validate: checks });
  const [failure, setFailure] = useState<ApiError>();
  const change = useChange<V, Output>({
    run: (values) => save(values, etag),
    done,
    after: (output) => {
      after?.(output);
      if (!stays) {
        onClose();
      }
    },
    refused: (error) => {
      setFailure(error);
      const field = fieldOf(error, form.getValues(), params);
      if (field) {
        form.setFieldError(field, sentence(error.message));
        form.getInputNode(field)?.focus();
      }
      return true;
    },
  });
  const merge = async () => {
    const fresh = await reload?.();
    if (fresh) {
      form.setValues(merged(fresh, form.getInitialValues(), form.getValues()));
      form.setInitialValues(fresh);
      setFailure(undefined);
    }
  };
  return (
    <form
      noValidate
      onSubmit={form.onSubmit((values) => {
        setFailure(undefined);
        change.mutate(values);
      })}
    >
      <Stack gap="md">
        {children(form)}
        {failure && <Refusal failure={failure} shown={fieldOf(failure, form.getValues(), params) !== undefined} onReload={merge} />}
        <Group justify="flex-end" gap="xs">
          {progress && <output className={classes.progress}>{progress}</output>}
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={change.isPending}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Refusal({ failure, shown, onReload }: { failure: ApiError; shown: boolean; onReload: () => void }) {
  if (shown) {
    return null; // it stands at its field
  }
  const { title, advice } = explain(failure);
  return (
    <Alert color={failure.stale ? 'yellow' : 'red'} variant="outline" title={title} role="alert">
      <Stack gap="xs" align="flex-start">
        {advice}
        {failure.stale && (
          <Button size="xs" variant="default" onClick={onReload}>
            Load the new version
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** The field of the form that an error is about, if the form has it. */
export function fieldOf(error: ApiError, values: Values, params: Record<string, string> = {}): string | undefined {
  if (!error.field) {
    return undefined;
  }
  const field = params[error.field] ?? error.field;
  let at: unknown = values;
  for (const part of field.split('.')) {
    if (typeof at !== 'object' || at === null || !(part in at)) {
      return undefined;
    }
    at = (at as Values)[part];
  }
  return field;
}

/** A number that has to be there: what is empty is not 0. */
export const needed = (value: unknown) => (value === '' || value === null ? 'Enter a number.' : null);

/** What somebody else saved, with what was typed here over it. */
export function merged<V extends Values>(fresh: V, before: V, typed: V): V {
  const touched = Object.entries(typed).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]));
  return { ...fresh, ...Object.fromEntries(touched) };
}
