/** What stands for a value on docs/clients.md. */
export interface Values {
  /** Where the gateway is, without a path. */
  gateway: string;
  key: string;
  model: string;
}

export const tools = [
  { id: 'curl', title: 'curl', heading: '### curl on a gateway key', says: [] },
  { id: 'openai', title: 'OpenAI SDK', heading: '### The OpenAI SDK on a gateway key', says: [] },
  { id: 'claude', title: 'Claude Code', heading: '### Claude Code on a gateway key', says: ['In the shell, before you start it:'] },
  {
    id: 'codex',
    title: 'Codex',
    heading: '### Codex on a gateway key',
    says: ['In ~/.codex/config.toml:', 'In the shell, before you start it:'],
  },
] as const;

export type Tool = (typeof tools)[number];

const examples = { gateway: 'https://gateway.example.com', key: 'bd-...', models: ['claude-sonnet-4-5', 'gpt-5.5'] };

/** The settings under a heading of the page: its indented blocks, each one thing to paste. */
export function settings(page: string, heading: string): string[] {
  const start = page.indexOf(`\n${heading}\n`);
  if (start < 0) {
    throw new Error(`the page has no section ${heading}`);
  }
  const blocks: string[] = [];
  let inside = false;
  for (const line of page.slice(start + heading.length + 2).split('\n')) {
    if (line.startsWith('#')) {
      break;
    }
    if (line.startsWith('    ')) {
      const code = line.slice(4);
      if (inside) {
        blocks.push(`${blocks.pop()}\n${code}`);
      } else {
        blocks.push(code);
      }
      inside = true;
    } else if (line.trim()) {
      inside = false;
    } else if (inside) {
      blocks.push(`${blocks.pop()}\n`);
    }
  }
  return blocks.map((b) => b.trimEnd());
}

/** What to paste for a tool, with one's own values. */
export function snippets(page: string, tool: Tool, values: Values): string[] {
  return settings(page, tool.heading).map((block) =>
    examples.models
      .reduce((text, model) => text.replaceAll(model, values.model), block)
      .replaceAll(examples.gateway, values.gateway)
      .replaceAll(examples.key, values.key),
  );
}
