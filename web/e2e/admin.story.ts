import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  addProvider,
  addRoute,
  addUser,
  admin,
  becomes,
  call,
  choose,
  desk,
  dialog,
  expectComplaint,
  inBrowser,
  signedIn,
  world,
} from './world';

const run = promisify(execFile);

const pasted = (page: Page, what: string) => dialog(page).getByRole('figure', { name: what, exact: true }).locator('pre').textContent();

describe('providers', () => {
  inBrowser();

  it('are added with their models, and tested', async () => {
    const page = await signedIn('/providers');
    await page.getByRole('button', { name: 'Add provider' }).click();
    await dialog(page).getByRole('textbox', { name: 'Name' }).fill('Added here');
    await dialog(page).getByRole('textbox', { name: 'Base URL' }).fill(`${world.demo_url}/v1`);
    await dialog(page).getByLabel('API key').fill('sk-added-here');
    await dialog(page).getByRole('combobox', { name: 'Models to enable' }).fill('added-model');
    await page.keyboard.press('Enter');
    await dialog(page).getByRole('button', { name: 'Add provider' }).click();
    await page
      .getByRole('row', { name: /Added here/ })
      .getByRole('button', { name: 'Healthy' })
      .waitFor();
    await page.getByRole('button', { name: 'More for Added here' }).click();
    await page.getByRole('menuitem', { name: 'Test connection' }).click();
    await dialog(page).getByText('Connected').waitFor();
    const rows = await admin<{ upstream_model: string; provider_name: string }[]>('GET', '/model-mappings');
    expect(rows.filter((r) => r.provider_name === 'Added here').map((r) => r.upstream_model)).toEqual(['added-model']);
  });

  it('changed by somebody else meanwhile are not overwritten, and nothing typed is lost', async () => {
    const id = await addProvider('contested');
    const page = await signedIn('/providers');
    await page.getByRole('button', { name: 'More for contested' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await dialog(page).getByRole('textbox', { name: 'Name' }).fill('contested by me');
    await admin('PUT', `/providers/${id}`, { request_timeout_secs: 77 });
    expectComplaint(/providers/);
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await dialog(page).getByText('Somebody changed this while you were editing').waitFor();
    await dialog(page).getByRole('button', { name: 'Load the new version' }).click();
    await expect.poll(() => dialog(page).getByLabel('Whole answer').inputValue()).toBe('77 s');
    expect(await dialog(page).getByRole('textbox', { name: 'Name' }).inputValue()).toBe('contested by me');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await page.getByText('contested by me is saved').waitFor();
    const now = await admin<{ name: string; request_timeout_secs: number }>('GET', `/providers/${id}`);
    expect([now.name, now.request_timeout_secs]).toEqual(['contested by me', 77]);
  });
});

describe('keys', () => {
  inBrowser();

  it('are shown once, with a setup that works as it is pasted', async () => {
    await addRoute('pasted', await addProvider('paster', 'paste-1'), 'paste-1');
    const page = await signedIn('/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByRole('textbox', { name: 'Name' }).fill('pasted');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByText('Copy it now').waitFor();
    const key = (await dialog(page).locator('code').first().textContent()) ?? '';
    await choose(page, 'Model', 'pasted');
    await becomes('the key works', async () => (await call(key, 'pasted')).status === 200);

    const curl = (await pasted(page, 'curl')) ?? '';
    const { stdout } = await run('sh', ['-c', curl]);
    expect(JSON.parse(stdout).choices[0].message.content).toContain('Hello from paste-1');

    await dialog(page).getByRole('tab', { name: 'OpenAI SDK' }).click();
    const script = (await pasted(page, 'OpenAI SDK')) ?? '';
    const sdk = await run('node', ['--input-type=module', '-e', script], { cwd: world.clients });
    expect(sdk.stdout).toContain('Hello from paste-1');

    await dialog(page).getByRole('tab', { name: 'Claude Code' }).click();
    expect(await pasted(page, 'Claude Code')).toBe(
      `export ANTHROPIC_BASE_URL=${world.base_url}\nexport ANTHROPIC_AUTH_TOKEN=${key}\nexport ANTHROPIC_MODEL=pasted`,
    );
    await dialog(page).getByRole('tab', { name: 'Codex' }).click();
    expect(await pasted(page, 'Codex, part 1')).toContain(`base_url = "${world.base_url}/v1"\nwire_api = "responses"`);
    expect(await pasted(page, 'Codex, part 2')).toBe(`export BD_KEY=${key}`);

    await dialog(page).getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('row', { name: /pasted/ }).waitFor();
    expect(await page.content()).not.toContain(key);

    // Rotated at once: the row of the old key goes, and the new one stays to be copied.
    await page.getByRole('button', { name: 'More for pasted' }).click();
    await page.getByRole('menuitem', { name: 'Rotate' }).click();
    await dialog(page).getByLabel('The old key stays good for').fill('0');
    await dialog(page).getByRole('button', { name: 'Rotate' }).click();
    await dialog(page).getByText('Copy it now').waitFor();
    await becomes('the old key is refused', async () => (await call(key, 'pasted')).status === 401);
    const next = (await dialog(page).locator('code').first().textContent()) ?? '';
    await becomes('the new key works', async () => (await call(next, 'pasted')).status === 200);
    await dialog(page).getByRole('button', { name: 'I have copied it' }).click();

    await page.getByRole('button', { name: 'More for pasted' }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await dialog(page).getByRole('button', { name: 'Revoke key' }).click();
    await page.getByRole('row', { name: /pasted/ }).waitFor({ state: 'detached' });
    await becomes('the key is refused', async () => (await call(next, 'pasted')).status === 401);
  });
});

describe('access', () => {
  inBrowser();

  it('routes are grouped, the group allowed to one user, and each sees what they may call', async () => {
    const provider = await addProvider('grouper', 'm-1', 'm-2', 'm-3');
    await addRoute('team-one', provider, 'm-1');
    await addRoute('team-two', provider, 'm-2');
    await addRoute('others', provider, 'm-3');
    const ann = await addUser('ann@acme.example', 'Ann');
    const bob = await addUser('bob@acme.example', 'Bob');

    const page = await signedIn('/routes?q=team-');
    await page.getByRole('checkbox', { name: 'Choose team-one' }).check();
    await page.getByRole('checkbox', { name: 'Choose team-two' }).check();
    await page.getByRole('region', { name: 'Chosen routes' }).getByRole('button', { name: 'Add to group' }).click();
    const fresh = dialog(page).getByText('A new group');
    const name = dialog(page).getByRole('textbox', { name: 'Name of the new group' });
    await name.or(fresh).first().waitFor();
    if (await fresh.isVisible()) {
      await fresh.click();
    }
    await name.fill('The team');
    await dialog(page).getByRole('button', { name: 'Add to group' }).click();
    await page.getByRole('link', { name: 'The team' }).first().waitFor();

    await page.goto('/access');
    await page.getByRole('button', { name: 'Create policy' }).click();
    await dialog(page).getByRole('textbox', { name: 'Name' }).fill('Ann has the team’s');
    await choose(page, 'Person', /^Ann /);
    await choose(page, 'Kind', 'A route group');
    await choose(page, 'Route group', 'The team');
    await dialog(page).getByRole('button', { name: 'Create policy' }).click();
    await page
      .getByRole('row', { name: /Ann has the team/ })
      .getByText('the route group The team')
      .waitFor();

    const annSees = await signedIn('/settings/models', desk, ann);
    const models = annSees.getByRole('table', { name: 'Models' });
    await models.getByText('team-two', { exact: true }).waitFor();
    expect(await models.getByRole('row').count()).toBe(3); // the heading and two
    const bobSees = await signedIn('/settings/models', desk, bob);
    await bobSees.getByRole('table', { name: 'Models' }).getByText('others', { exact: true }).waitFor();
  });

  it('a refusal is explained', async () => {
    await addRoute('secret', await addProvider('secretive', 's-1'), 's-1');
    const { id } = await admin<{ id: string }>('POST', '/api-keys', { name: 'kept out' });
    await admin('POST', '/model-access', {
      name: 'Not for this key',
      policy_type: 'denylist',
      scope_type: 'api_key',
      scope_id: id,
      targets: [{ kind: 'model_alias', alias: 'secret' }],
    });
    const page = await signedIn('/explain?model=secret');
    await page.getByRole('combobox', { name: 'Caller' }).click();
    await page.getByRole('option', { name: /^kept out/ }).click();
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByRole('region', { name: 'What the caller gets' }).getByText('Refused by the gateway').waitFor();
    await page.getByText('The caller may not use the model').waitFor();
    await page
      .getByText(/Not for this key/)
      .first()
      .waitFor();
  });
});
