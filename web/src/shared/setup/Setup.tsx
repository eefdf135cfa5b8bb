import { Select, Stack, Tabs } from '@mantine/core';
import { useState } from 'react';
import page from '../../../../docs/clients.md?raw';
import { useGateway } from '../../app/session';
import { CopyBlock } from '../Copy';
import { snippets, type Tool, tools } from './page';
import classes from './Setup.module.css';

interface Props {
  /** The key, while it can be shown; else a place for it. */
  apiKey?: string;
  /** What may be called. */
  models: string[];
}

/** How each tool is set up, ready to paste. */
export function Setup({ apiKey = 'bd-...', models }: Props) {
  const gateway = useGateway();
  const [model, setModel] = useState(models[0] ?? 'model');
  const values = { gateway, key: apiKey, model };
  return (
    <Stack gap="sm">
      {models.length > 1 && (
        <Select
          label="Model"
          searchable
          allowDeselect={false}
          data={models}
          value={model}
          onChange={(m) => setModel(m ?? model)}
          maw={320}
        />
      )}
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List>
          {tools.map((t) => (
            <Tabs.Tab key={t.id} value={t.id} className={classes.tab}>
              {t.title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tools.map((t) => (
          <Tabs.Panel key={t.id} value={t.id} pt="sm">
            <Blocks tool={t} blocks={snippets(page, t, values)} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  );
}

function Blocks({ tool, blocks }: { tool: Tool; blocks: string[] }) {
  return (
    <Stack gap="xs">
      {blocks.map((block, i) => (
        <div key={block}>
          {tool.says[i] && <div className={classes.says}>{tool.says[i]}</div>}
          <CopyBlock value={block} what={blocks.length > 1 ? `${tool.title}, part ${i + 1}` : tool.title} />
        </div>
      ))}
    </Stack>
  );
}
