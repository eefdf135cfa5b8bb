import { Autocomplete, Button, Select, Stack, Switch } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconRoute } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { api, body } from '../../api/client';
import { ApiError, sentence } from '../../api/errors';
import { keys, routes } from '../../api/queries';
import type { ExplainEndpoint, Route } from '../../api/schema';
import { Boxed } from '../../shared/Boxed';
import { isOver } from '../../shared/KeyTable';
import { Page, Section } from '../../shared/Page';
import { Empty, Failure, Waiting } from '../../shared/State';
import { answerOf, answers } from './answers';
import classes from './explain.module.css';
import { Verdict } from './Verdict';

interface Question {
  model: string;
  api_key_id: string | null;
  endpoint: ExplainEndpoint;
  stream: boolean;
  own_credential: boolean;
  ignore_health: boolean;
  /** By the position of a target, what it answers. */
  given: Record<string, string>;
}

const endpoints = [
  { value: 'chat_completions', label: '/v1/chat/completions' },
  { value: 'messages', label: '/v1/messages' },
  { value: 'responses', label: '/v1/responses' },
  { value: 'embeddings', label: '/v1/embeddings' },
];

const ask = (q: Question) =>
  body(
    api.POST('/api/llm-gateway/admin/explain', {
      body: {
        model: q.model.trim(),
        endpoint: q.endpoint,
        stream: q.stream,
        own_credential: q.own_credential,
        ignore_health: q.ignore_health,
        ...(q.api_key_id ? { api_key_id: q.api_key_id } : {}),
        answers: Object.entries(q.given).flatMap(([position, id]) => answerOf(Number(position), id)),
      },
    }),
  );

/** What the gateway would do with a request, and why. */
export function ExplainPage() {
  const search = useSearch({ from: '/shell/admin/explain' });
  const form = useForm<Question>({
    initialValues: {
      model: search.model ?? '',
      api_key_id: null,
      endpoint: 'chat_completions',
      stream: false,
      own_credential: false,
      ignore_health: false,
      given: {},
    },
  });
  const question = useMutation({
    mutationFn: ask,
    onError: (error) => {
      if (error instanceof ApiError && error.field && error.field in form.values) {
        form.setFieldError(error.field, sentence(error.message));
      }
    },
  });
  const list = useQuery(routes).data ?? [];
  const all = useQuery(keys).data ?? [];
  const route = list.find((r) => r.model_alias === form.values.model);
  return (
    <Page
      title="Explain"
      about="What the gateway would do with a request, decided by the code that the nodes run. No provider is asked, and nothing changes."
    >
      <div className={classes.columns}>
        <form noValidate onSubmit={form.onSubmit((q) => question.mutate(q))}>
          <Section title="The request">
            <Stack gap="md">
              <Autocomplete
                label="Model"
                description="What the caller puts in “model”."
                data={list.map((r) => r.model_alias)}
                limit={50}
                spellCheck={false}
                {...form.getInputProps('model')}
                onChange={(model) => form.setValues({ model, given: {} })}
              />
              <Select
                label="Caller"
                description="Whose key it is; without one, a key that is nobody’s."
                placeholder="Nobody’s key"
                clearable
                searchable
                data={all.filter((k) => !isOver(k)).map((k) => ({ value: k.id, label: `${k.name} (${k.key_prefix}…)` }))}
                {...form.getInputProps('api_key_id')}
              />
              <Select label="Endpoint" allowDeselect={false} data={endpoints} {...form.getInputProps('endpoint')} />
              <Switch label="The caller asks for a stream" {...form.getInputProps('stream', { type: 'checkbox' })} />
              <Switch label="The caller brings a credential of their own" {...form.getInputProps('own_credential', { type: 'checkbox' })} />
              <Switch label="Take every target for healthy" {...form.getInputProps('ignore_health', { type: 'checkbox' })} />
              {route && <Answers route={route} given={form.values.given} onChange={(given) => form.setFieldValue('given', given)} />}
              <Button type="submit" loading={question.isPending}>
                Explain
              </Button>
            </Stack>
          </Section>
        </form>
        <div aria-live="polite">
          {question.isPending && <Waiting rows={4} />}
          {question.error && <Failure error={question.error} />}
          {question.data && !question.isPending && <Verdict explanation={question.data} />}
          {question.isIdle && (
            <Empty icon={<IconRoute size={22} />} title="Ask what would happen">
              Choose a model and a caller. Make up what targets answer, and see which one would serve, and what the caller would get.
            </Empty>
          )}
        </div>
      </div>
    </Page>
  );
}

function Answers({
  route,
  given,
  onChange,
}: {
  route: Route;
  given: Record<string, string>;
  onChange: (g: Record<string, string>) => void;
}) {
  return (
    <Boxed title="What the targets answer">
      {route.targets.map((t, i) => (
        <Select
          key={t.id}
          size="xs"
          label={`${i + 1}. ${t.provider_name} / ${t.upstream_model}`}
          allowDeselect={false}
          data={answers.map(({ id, title }) => ({ value: id, label: title }))}
          value={given[i + 1] ?? 'ok'}
          onChange={(id) => onChange({ ...given, [i + 1]: id ?? 'ok' })}
        />
      ))}
    </Boxed>
  );
}
