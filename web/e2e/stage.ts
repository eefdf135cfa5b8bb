import { addProvider, addUser, admin, becomes, call, demo, world } from './world';

interface Id {
  id: string;
}

/** A small company's gateway, as the screenshots and the look at every page show it. */
export async function setStage(): Promise<{ key: string }> {
  const openai = await addProvider('OpenAI', 'gpt-5', 'gpt-5-mini', 'text-embedding-3-small');
  const azure = await addProvider('Azure West Europe', 'gpt-5', 'gpt-5-mini');
  const anthropic = await admin<Id>('POST', '/providers', {
    name: 'Anthropic',
    model_provider: 'anthropic',
    base_url: world.demo_url,
    api_key: 'key-of-Anthropic',
    models: ['claude-opus-4-5', 'claude-sonnet-4-5', 'claude-haiku-4-5'],
  });
  const target = (provider_id: string, upstream_model: string, more = {}) => ({ provider_id, upstream_model, ...more });
  const routes: Record<string, object[]> = {
    'code-assistant': [
      target(anthropic.id, 'claude-opus-4-5', { retry_on_429_count: 2, retry_on_429_max_wait_secs: 20 }),
      target(anthropic.id, 'claude-sonnet-4-5', { cooldown_failure_threshold: 5, cooldown_first_secs: 10 }),
      target(openai, 'gpt-5'),
    ],
    'support-chat': [
      target(openai, 'gpt-5-mini'),
      target(azure, 'gpt-5-mini'),
      target(anthropic.id, 'claude-haiku-4-5', { enabled: false }),
    ],
    'contract-review': [target(anthropic.id, 'claude-opus-4-5'), target(openai, 'gpt-5')],
    search: [target(openai, 'text-embedding-3-small')],
    'batch-summaries': [target(azure, 'gpt-5'), target(openai, 'gpt-5')],
  };
  for (const [model_alias, targets] of Object.entries(routes)) {
    await admin('POST', '/routes', { model_alias, targets });
  }
  await setPeople();
  const group = await admin<Id>('POST', '/model-route-groups', {
    name: 'Engineering',
    description: 'What developers use in their editors',
    model_aliases: ['code-assistant', 'search'],
  });
  await admin('POST', '/model-route-groups', { name: 'Back office', model_aliases: ['support-chat', 'contract-review'] });
  await admin('POST', '/model-access', {
    name: 'Developers',
    policy_type: 'allowlist',
    scope_type: 'group',
    scope_value: 'developers',
    targets: [{ kind: 'route_group', group_id: group.id }],
  });
  await admin('POST', '/model-access', {
    name: 'No frontier models for interns',
    policy_type: 'denylist',
    scope_type: 'group',
    scope_value: 'interns',
    targets: [{ kind: 'model', model: 'claude-opus*' }],
  });
  await admin('POST', '/connections', {
    name: 'OpenAI, shared',
    model_provider: 'openai',
    base_url: `${world.demo_url}/v1`,
    api_key: 'a-shared-key-4f2a',
  });
  await setPrices();
  const { key } = await admin<{ key: string }>('POST', '/api-keys', { name: 'CI', expires_at: new Date(Date.now() + 9e9).toISOString() });
  await admin('POST', '/api-keys', { name: 'Nightly batch' });
  await setTraffic(key);
  return { key };
}

async function setPeople(): Promise<void> {
  const dana = await addUser('dana@acme.example', 'Dana Lee');
  const sam = await addUser('sam@acme.example', 'Sam Okafor');
  await admin('POST', '/groups', { name: 'developers', user_ids: [dana.id, sam.id] });
  await admin('POST', '/groups', { name: 'interns', user_ids: [] });
  await admin('POST', '/api-keys', { name: 'Dana’s laptop', user_id: dana.id });
}

async function setPrices(): Promise<void> {
  const cost = (input: number, output: number) => ({ input_cost_per_million_tokens: input, output_cost_per_million_tokens: output });
  await admin('POST', '/model-pricing', {
    model_pattern: 'gpt-5',
    model_provider: 'openai',
    ...cost(1.25, 10),
    cache_read_cost_per_million_tokens: 0.125,
  });
  await admin('POST', '/model-pricing', {
    model_pattern: 'gpt-5',
    model_provider: 'openai',
    ...cost(1.1, 9),
    effective_from: new Date(Date.now() + 864e5).toISOString(),
    change_reason: 'new contract',
  });
  await admin('POST', '/model-pricing', { model_pattern: 'claude-*', model_provider: 'anthropic', ...cost(3, 15) });
}

/** Some requests, some of them rescued, and one target that cools down. */
async function setTraffic(key: string): Promise<void> {
  await becomes('the route serves', async () => (await call(key, 'support-chat')).status === 200);
  await demo('gpt-5-mini', { status: 503, times: 3 });
  for (let i = 0; i < 24; i++) {
    await call(key, ['support-chat', 'contract-review', 'batch-summaries'][i % 3] as string);
  }
  await demo('claude-opus-4-5', { kind: 'rate_limit', retry_after: '240' });
  await call(key, 'contract-review');
  await demo('claude-opus-4-5');
}
