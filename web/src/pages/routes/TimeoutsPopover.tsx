import { ActionIcon, NumberInput, Popover, Stack, Tooltip } from '@mantine/core';
import { IconClock } from '@tabler/icons-react';
import { useId, useState } from 'react';
import { api, body } from '../../api/client';
import type { ModelMapping } from '../../api/schema';
import { EditBody } from '../../shared/FormModal';
import { called } from '../../shared/health/badges';
import { loadMapping } from './RetryPopover';
import classes from './routes.module.css';

interface Timeouts extends Record<string, unknown> {
  request_timeout_secs: number | string;
  stream_idle_timeout_secs: number | string;
}

/** An empty field leaves it to the provider's setting, or the default. */
const secs = (v: number | string) => (v === '' ? null : Number(v));

export function TimeoutsPopover({ target: t }: { target: ModelMapping }) {
  const [opened, setOpened] = useState(false);
  const title = useId();
  const says = `A whole answer within ${t.request_timeout_secs} s; a stream is never silent for ${t.stream_idle_timeout_secs} s.`;
  return (
    <Popover opened={opened} onChange={setOpened} width={320} position="bottom-end" trapFocus returnFocus shadow="md" withinPortal>
      <Popover.Target>
        <Tooltip label={says} maw={260} fz="xs" disabled={opened}>
          <ActionIcon variant="subtle" color="gray" onClick={() => setOpened(!opened)} aria-label={`Timeouts of ${called(t)}`}>
            <IconClock size={16} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-labelledby={title}>
        <h3 id={title} className={classes.popTitle}>
          Timeouts
        </h3>
        {opened && (
          <EditBody
            load={loadMapping(t.id)}
            from={(m): Timeouts => ({
              request_timeout_secs: m.request_timeout_secs,
              stream_idle_timeout_secs: m.stream_idle_timeout_secs,
            })}
            submit="Save"
            save={(v, etag) =>
              body(
                api.PUT('/api/llm-gateway/admin/model-mappings/{id}', {
                  params: { path: { id: t.id }, header: { 'If-Match': etag } },
                  body: {
                    request_timeout_secs: secs(v.request_timeout_secs),
                    stream_idle_timeout_secs: secs(v.stream_idle_timeout_secs),
                  },
                }),
              )
            }
            done={(m) =>
              `${m.upstream_model}: ${m.request_timeout_secs} s for a whole answer, ${m.stream_idle_timeout_secs} s between parts of a stream`
            }
            onClose={() => setOpened(false)}
          >
            {(form) => (
              <Stack gap="sm">
                <NumberInput
                  label="Whole answer"
                  description="1 to 600 s, without streaming. Empty: as the provider is set, else 120 s"
                  suffix=" s"
                  allowDecimal={false}
                  clampBehavior="none"
                  data-autofocus
                  {...form.getInputProps('request_timeout_secs')}
                />
                <NumberInput
                  label="Silence of a stream"
                  description="1 to 300 s, also before the first part. Empty: as the provider is set, else 180 s"
                  suffix=" s"
                  allowDecimal={false}
                  clampBehavior="none"
                  {...form.getInputProps('stream_idle_timeout_secs')}
                />
              </Stack>
            )}
          </EditBody>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
