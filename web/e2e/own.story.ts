import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { type Account, addUser, admin, becomes, demo, desk, dialog, expectComplaint, inBrowser, signedIn, visit, world } from './world';

interface Id {
  id: string;
}

/** What Claude Code on a subscription sends: the person's gateway key, and their own token. */
async function asClaude(key: string, token: string, model: string): Promise<Response> {
  return fetch(`${world.gateway_url}/v1/messages`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'x-bd-api-key': key,
      Authorization: `Bearer sk-ant-oat01-${token}`,
      'anthropic-version': '2023-06-01',
    },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }),
  });
}

async function keyOf(user: Account & Id): Promise<string> {
  return (await admin<{ key: string }>('POST', '/api-keys', { name: `key of ${user.email}`, user_id: user.id })).key;
}

const modelRow = (page: Page, name: string) =>
  page
    .getByRole('table', { name: 'Models' })
    .getByRole('row')
    .filter({ has: page.getByText(name, { exact: true }) });

describe('my models', () => {
  inBrowser();

  it('show what stands against my own credential, to me alone', async () => {
    const seats = await admin<Id>('POST', '/providers', {
      name: 'Seats',
      model_provider: 'anthropic',
      auth_type: 'claude_oauth',
      base_url: world.demo_url,
      models: ['seat-1', 'seat-2'],
    });
    for (const model of ['seat-1', 'seat-2']) {
      await admin('POST', '/routes', { model_alias: `my-${model}`, targets: [{ provider_id: seats.id, upstream_model: model }] });
    }
    const mia = await addUser('mia@acme.example', 'Mia');
    const noor = await addUser('noor@acme.example', 'Noor');
    const [key, other] = [await keyOf(mia), await keyOf(noor)];
    await becomes('both are served', async () => {
      const answers = [await asClaude(key, 'mia', 'my-seat-1'), await asClaude(other, 'noor', 'my-seat-2')];
      return answers.every((a) => a.status === 200);
    });
    const page = await signedIn('/settings/models', desk, mia);
    await modelRow(page, 'my-seat-1').getByText('Available').waitFor();

    await demo('seat-1', { kind: 'rate_limit', retry_after: '6', times: 1 });
    await demo('seat-2', { status: 401, times: 1 });
    expect((await asClaude(key, 'mia', 'my-seat-1')).status).toBe(429);
    expect((await asClaude(key, 'mia', 'my-seat-2')).status).toBe(401);
    const limited = modelRow(page, 'my-seat-1').getByRole('button', { name: 'Unavailable for you' });
    await limited.waitFor();
    await limited.focus();
    await page
      .getByRole('tooltip')
      .getByText(/for your own credential after a rate limit/)
      .waitFor();
    const rejected = modelRow(page, 'my-seat-2').getByRole('button', { name: 'Reconnect required' });
    await rejected.focus();
    await page
      .getByRole('tooltip')
      .getByText(/sign in to it again/)
      .waitFor();
    const noors = await signedIn('/settings/models', desk, noor);
    await modelRow(noors, 'my-seat-1').getByText('Available').waitFor();
    await modelRow(noors, 'my-seat-2').getByText('Available').waitFor();

    await modelRow(page, 'my-seat-1').getByRole('button', { name: 'Recovering for you' }).waitFor();
    await becomes('it is well again', async () => (await asClaude(key, 'mia', 'my-seat-1')).status === 200);
    for (let probe = 0; probe < 2; probe++) {
      expect((await asClaude(key, 'mia', 'my-seat-1')).status).toBe(200);
    }
    await modelRow(page, 'my-seat-1').getByText('Available').waitFor();
  });
});

describe('my account', () => {
  inBrowser();

  it('ends other sessions, one by one and with a new password', async () => {
    const lee = await addUser('lee@acme.example', 'Lee');
    const page = await signedIn('/settings/account', desk, lee);
    const second = await signedIn('/settings/models', desk, lee);
    const sessions = page.getByRole('table', { name: 'Sessions' });
    await page.reload();
    await sessions.getByRole('button', { name: 'End' }).click();
    await dialog(page).getByRole('button', { name: 'End session' }).click();
    await sessions.getByRole('button', { name: 'End' }).waitFor({ state: 'detached' });
    expectComplaint(/user|auth/);
    await second.goto('/settings/models');
    await second.getByRole('heading', { name: 'Sign in' }).waitFor();

    await signedIn('/settings/models', desk, lee);
    await page.reload();
    await sessions.getByRole('button', { name: 'End' }).waitFor();
    await page.getByRole('button', { name: 'Change password' }).click();
    await dialog(page).getByLabel('Current password').fill('not this one at all');
    await dialog(page).getByLabel('New password').fill('another horse, another staple');
    await dialog(page).getByRole('button', { name: 'Change password' }).click();
    await dialog(page)
      .getByText(/password is wrong/i)
      .waitFor();
    await dialog(page).getByLabel('Current password').fill(lee.password);
    await dialog(page).getByRole('button', { name: 'Change password' }).click();
    await page.getByText('your other sessions are ended').waitFor();
    await sessions.getByRole('button', { name: 'End' }).waitFor({ state: 'detached' });
    await sessions.getByText('This session').waitFor();

    const again = await visit('/sign-in');
    await again.getByRole('textbox', { name: 'Email address' }).fill(lee.email);
    await again.getByLabel('Password', { exact: true }).fill('another horse, another staple');
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.getByRole('heading', { name: 'My Models' }).waitFor();
  });
});
