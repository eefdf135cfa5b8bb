import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { settings, snippets, tools } from './page';

const page = readFileSync(new URL('../../../../docs/clients.md', import.meta.url), 'utf8');
const values = { gateway: 'http://gw.test:8080', key: 'bd-secret', model: 'smart' };

describe.each(tools)('what to paste for $title', (tool) => {
  const blocks = snippets(page, tool, values);

  it('is all of the section, with nothing of the examples left', () => {
    expect(blocks.length).toBeGreaterThan(0);
    const all = blocks.join('\n');
    for (const example of ['gateway.example.com', 'bd-...', 'gpt-5.5', 'claude-sonnet-4-5']) {
      expect(all).not.toContain(example);
    }
    for (const value of Object.values(values)) {
      expect(all).toContain(value);
    }
  });

  it('has a sentence for each block, or none', () => {
    expect([0, blocks.length]).toContain(tool.says.length);
  });
});

it('keeps empty lines within a block', () => {
  expect(settings('\n### a\n\nwords\n\n    one\n\n    two\n\nmore\n\n    three\n## b\n    four\n', '### a')).toEqual([
    'one\n\ntwo',
    'three',
  ]);
});
