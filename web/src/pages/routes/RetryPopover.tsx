import { ActionIcon, NumberInput, Popover, Stack, Tooltip } from '@mantine/core';
import { IconRepeat } from '@tabler/icons-react';
import { useId, useState } from 'react';
import { api, body, read } from '../../api/client';
import type { ModelMapping } from '../../api/schema';
import { EditBody, needed } from '../../shared/FormModal';
import { called } from '../../shared/health/badges';
import { effective } from './effective';
import classes from './routes.module.css';

interface Retries extends Record<string, unknown> {
  retry_on_429_count: number | string;
  retry_on_429_max_wait_secs: number | string;
}

const path = '/api/llm-gateway/admin/model-mappings/{id}' as const;

export const loadMapping = (id: string) => () => read(api.GET(path, { params: { path: { id } } }));

/** How often a target is tried again on a rate limit before the next one is. */
export function RetryPopover({ target: t }: { target: ModelMapping }) {
  const [opened, setOpened] = useState(false);
  const title = useId();
  const close = () => setOpened(false);
  return (
    <Popover opened={opened} onChange={setOpened} width={320} position="bottom-end" trapFocus returnFocus shadow="md" withinPortal>
      <Popover.Target>
        <Tooltip label={t.effective_behavior} maw={260} fz="xs" disabled={opened}>
          <ActionIcon variant="subtle" color="gray" onClick={() => setOpened(!opened)} aria-label={`Rate limit retries of ${called(t)}`}>
            <IconRepeat size={16} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-labelledby={title}>
        <h3 id={title} className={classes.popTitle}>
          Rate limit retries
        </h3>
        {opened && (
          <EditBody
            load={loadMapping(t.id)}
            from={(m): Retries => ({
              retry_on_429_count: m.retry_on_429_count,
              retry_on_429_max_wait_secs: m.retry_on_429_max_wait_secs,
            })}
            checks={(v) => ({
              retry_on_429_count: needed(v.retry_on_429_count),
              retry_on_429_max_wait_secs: needed(v.retry_on_429_max_wait_secs),
            })}
            submit="Save"
            save={(v, etag) =>
              body(
                api.PUT(path, {
                  params: { path: { id: t.id }, header: { 'If-Match': etag } },
                  body: {
                    retry_on_429_count: Number(v.retry_on_429_count),
                    retry_on_429_max_wait_secs: Number(v.retry_on_429_max_wait_secs),
                  },
                }),
              )
            }
            done={(m) => m.effective_behavior}
            onClose={close}
          >
            {(form, m) => (
              <Stack gap="sm">
                <NumberInput
                  label="Retries"
                  description="0 to 10; 0 fails over at once"
                  min={0}
                  max={10}
                  allowDecimal={false}
                  clampBehavior="none"
                  data-autofocus
                  {...form.getInputProps('retry_on_429_count')}
                />
                <NumberInput
                  label="Longest wait"
                  description="0 to 180 s; 0 waits about 1 s, whatever the provider asks"
                  min={0}
                  max={180}
                  suffix=" s"
                  allowDecimal={false}
                  clampBehavior="none"
                  {...form.getInputProps('retry_on_429_max_wait_secs')}
                />
                <p className={classes.effective} role="status">
                  <strong>Effective behavior</strong>
                  {form.isDirty()
                    ? effective(Number(form.values.retry_on_429_count), Number(form.values.retry_on_429_max_wait_secs))
                    : m.effective_behavior}
                </p>
              </Stack>
            )}
          </EditBody>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
