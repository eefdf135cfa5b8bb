import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  addProvider,
  addRoute,
  admin,
  becomes,
  call,
  demo,
  dialog,
  expectComplaint,
  fromMenu,
  inBrowser,
  signedIn,
  targets,
  world,
} from './world';

interface Row {
  id: string;
  upstream_model: string;
  retry_on_429_count: number;
  retry_on_429_max_wait_secs: number;
  request_timeout_secs: number;
  effective_behavior: string;
}

const rowsOf = async (route: string) => (await admin<{ targets: Row[] }>('GET', `/routes/${route}`)).targets;

/** A route of two targets, its name and a key that calls it. */
async function opened(name: string): Promise<{ page: Page; provider: string; key: string }> {
  const provider = await addProvider(name, `${name}-1`, `${name}-2`);
  await addRoute(name, provider, `${name}-1`, `${name}-2`);
  const { key } = await admin<{ key: string }>('POST', '/api-keys', { name });
  const page = await signedIn(`/routes?q=${name}&open=${name}`);
  await targets(page, name).nth(1).waitFor();
  await becomes('the route serves', async () => (await call(key, name)).status === 200);
  return { page, provider, key };
}

describe('a target', () => {
  inBrowser();

  it('has its retries and timeouts set, and says what they do', async () => {
    const { page } = await opened('tuned');
    const retries = page.getByRole('button', { name: 'Rate limit retries of tuned-1 of tuned' });
    await retries.press('Enter');
    await dialog(page).getByLabel('Retries').fill('');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await dialog(page).getByText('Enter a number.').waitFor();
    await dialog(page).getByLabel('Retries').fill('3');
    await dialog(page).getByLabel('Longest wait').fill('10');
    const told = await dialog(page).getByRole('status').textContent();
    await page.keyboard.press('Enter');
    await dialog(page).waitFor({ state: 'detached' });
    const [saved] = await rowsOf('tuned');
    expect([saved?.retry_on_429_count, saved?.retry_on_429_max_wait_secs]).toEqual([3, 10]);
    expect(told).toContain(saved?.effective_behavior);
    await targets(page, 'tuned').first().getByRole('button', { name: '3 retries on a rate limit' }).waitFor();

    const timeouts = page.getByRole('button', { name: 'Timeouts of tuned-1 of tuned' });
    await timeouts.press('Enter');
    await dialog(page).getByLabel('Whole answer').fill('45');
    await page.keyboard.press('Escape');
    await expect.poll(() => timeouts.evaluate((b) => b === document.activeElement)).toBe(true);
    await timeouts.press('Enter');
    await dialog(page).getByLabel('Whole answer').fill('601');
    expectComplaint(/model-mappings/);
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await dialog(page).getByText(/600/).nth(1).waitFor();
    await dialog(page).getByLabel('Whole answer').fill('45');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await dialog(page).waitFor({ state: 'detached' });
    expect((await rowsOf('tuned'))[0]?.request_timeout_secs).toBe(45);
  });

  it('is turned off and on, and removed, for this route alone', async () => {
    const { page, key } = await opened('powered');
    const power = page.getByRole('switch', { name: 'powered-1 of powered serves in this route' });
    await power.click();
    const state = page.getByRole('button', { name: '1 of 2 available' });
    await state.hover();
    await page.getByRole('tooltip').getByText('Off', { exact: true }).waitFor();
    await becomes('the second serves', async () => (await call(key, 'powered')).headers.get('x-bd-provider-route-attempt') === '2');
    await power.click();
    await state.waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Remove powered-2 of powered from the route' }).click();
    await dialog(page).getByText('The model stays enabled on powered.').waitFor();
    await dialog(page).getByRole('button', { name: 'Remove target' }).click();
    await targets(page, 'powered').nth(1).waitFor({ state: 'detached' });
    expect((await rowsOf('powered')).map((t) => t.upstream_model)).toEqual(['powered-1']);
  });

  it('shows what the configuration keeps from it, as it changes', async () => {
    const { page, provider } = await opened('kept');
    const first = targets(page, 'kept').first();
    await admin('PUT', `/providers/${provider}`, { enabled: false });
    await first.getByRole('button', { name: 'Provider disabled' }).waitFor();
    await page.getByRole('button', { name: '0 of 2 available' }).waitFor();
    await admin('PUT', `/providers/${provider}`, { enabled: true });
    await first.getByRole('button', { name: 'Provider disabled' }).waitFor({ state: 'detached' });

    const enablement = (await admin<(Row & { model_alias: string })[]>('GET', '/model-mappings')).find((m) => m.model_alias === 'kept-1');
    await admin('PUT', `/model-mappings/${enablement?.id}`, { enabled: false });
    await first.getByRole('button', { name: 'Provider model disabled' }).waitFor();
    // The demo provider looks for the key elsewhere, so that the first check of the connection fails.
    const keyless = {
      name: 'keyless',
      model_provider: 'groq',
      auth_type: 'x_api_key',
      base_url: `${world.demo_url}/v1`,
      api_key: 'k',
      models: ['kept-3'],
    };
    const { id } = await admin<{ id: string }>('POST', '/providers', keyless);
    await admin('POST', '/model-mappings', {
      model_alias: 'kept',
      provider_id: id,
      upstream_model: 'kept-3',
      priority: 9,
      bare_alias: true,
    });
    const refused = targets(page, 'kept').nth(2).getByRole('button', { name: 'Provider not serving' });
    await refused.focus();
    await page
      .getByRole('tooltip')
      .getByText(/connection check fails/)
      .waitFor();
    await page.goto('/providers');
    await page
      .getByRole('row', { name: /keyless/ })
      .getByRole('button', { name: 'Unhealthy' })
      .waitFor();
  });

  it('shows a cooldown within a second of the node seeing it', async () => {
    const { page, provider, key } = await opened('prompt');
    const took: number[] = [];
    for (let round = 0; round < 3; round++) {
      await page.evaluate(() => {
        const w = window as unknown as { badgeAt?: number };
        w.badgeAt = undefined;
        const seen = new MutationObserver(() => {
          if (document.body.textContent?.includes('Temporarily unavailable')) {
            w.badgeAt = Date.now();
            seen.disconnect();
          }
        });
        seen.observe(document.body, { subtree: true, childList: true, characterData: true });
      });
      await demo('prompt-1', { kind: 'rate_limit', retry_after: '200', times: 1 });
      await call(key, 'prompt');
      await becomes('a node knows', async () => {
        const { routes } = await admin<{ routes: { upstream_model: string; state: string }[] }>('GET', '/llm-gw/route-health');
        return routes.some((r) => r.upstream_model === 'prompt-1' && r.state === 'ejected');
      });
      const known = Date.now();
      const badge = targets(page, 'prompt').first().getByRole('button', { name: 'Temporarily unavailable' });
      await badge.waitFor();
      took.push((await page.evaluate(() => (window as unknown as { badgeAt: number }).badgeAt)) - known);
      await admin('POST', `/llm-gw/route-health/${provider}/reset`, { upstream_model: 'prompt-1' });
      await badge.waitFor({ state: 'detached' });
    }
    // The middle one of three: a machine that pauses for a moment is not the portal's fault.
    expect(took.sort((a, b) => a - b)[1], `milliseconds: ${took}`).toBeLessThan(1000);
  });
});

describe('the menu of a route', () => {
  inBrowser();

  it('duplicates it, puts it into a group, and deletes it', async () => {
    const { page } = await opened('copied');
    // By the keyboard: who looks and leaves is where they were.
    const more = page.getByRole('button', { name: 'More for copied', exact: true });
    await more.press('Enter');
    await page.getByRole('menu').press('ArrowDown');
    await page.getByRole('menuitem', { name: 'Rename' }).press('Enter');
    await dialog(page).getByRole('textbox', { name: 'Name' }).press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    await expect.poll(() => more.evaluate((b) => b === document.activeElement)).toBe(true);
    const create = page.getByRole('button', { name: 'Create route' });
    await create.press('Enter');
    await dialog(page).getByRole('textbox', { name: 'Name' }).press('Escape');
    await expect.poll(() => create.evaluate((b) => b === document.activeElement)).toBe(true);

    await fromMenu(page, 'copied', 'Duplicate');
    await dialog(page).getByRole('button', { name: 'Duplicate' }).click();
    await page.getByRole('button', { name: 'copied-copy', exact: true }).waitFor();
    expect((await rowsOf('copied-copy')).map((t) => t.upstream_model)).toEqual(['copied-1', 'copied-2']);

    await admin('POST', '/model-route-groups', { name: 'Copies', model_aliases: [] });
    await fromMenu(page, 'copied-copy', 'Add to group');
    await dialog(page).getByRole('combobox', { name: 'Group' }).fill('Copies');
    await page.getByRole('option', { name: 'Copies' }).click();
    await dialog(page).getByRole('button', { name: 'Add to group' }).click();
    await page.getByRole('link', { name: 'Copies' }).waitFor();

    await fromMenu(page, 'copied-copy', 'Delete');
    await dialog(page).getByText('It leaves “Copies”.').waitFor();
    await dialog(page).getByRole('button', { name: 'Delete route' }).click();
    await page.getByRole('button', { name: 'copied-copy', exact: true }).waitFor({ state: 'detached' });
    const groups = await admin<{ name: string; model_aliases: string[] }[]>('GET', '/model-route-groups');
    expect(groups.find((g) => g.name === 'Copies')?.model_aliases).toEqual([]);
    expect((await rowsOf('copied')).length).toBe(2);
  });
});
