import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { addProvider, addRoute, admin, call, demo, expectComplaint, inBrowser, signedIn } from './world';

const targets = (page: Page, route: string) => page.getByRole('region', { name: `Targets of ${route}` }).getByRole('listitem');

async function order(page: Page, route: string): Promise<string[]> {
  const rows = await targets(page, route).all();
  return Promise.all(rows.map(async (r) => (await r.locator('.mono').first().textContent()) ?? ''));
}

async function stored(route: string): Promise<string[]> {
  const { targets } = await admin<{ targets: { upstream_model: string }[] }>('GET', `/routes/${route}`);
  return targets.map((t) => t.upstream_model);
}

describe('model routes', () => {
  inBrowser();

  it('creates a route, and enables the model for it', async () => {
    await addProvider('maker');
    const page = await signedIn('/routes');
    await page.getByRole('button', { name: 'Create route' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('made');
    await form.getByRole('combobox', { name: 'Provider' }).click();
    await page.getByRole('option', { name: 'maker' }).click();
    await form.getByRole('combobox', { name: 'Model' }).fill('new-model');
    await form.getByLabel('Enable new-model on the provider').waitFor();
    await form.getByRole('button', { name: 'Create route' }).click();
    await targets(page, 'made').getByText('new-model').waitFor();
    expect(await stored('made')).toEqual(['new-model']);
  });

  it('shows what the API refuses at its field, and keeps the input', async () => {
    const id = await addProvider('refuser', 'a');
    await addRoute('taken', id, 'a');
    const page = await signedIn('/routes?q=taken');
    await page.getByRole('button', { name: 'More for taken' }).click();
    await page.getByRole('menuitem', { name: 'Duplicate' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('taken');
    expectComplaint(/routes\/taken\/duplicate/);
    const refused = page.waitForResponse((r) => r.status() === 409);
    await form.getByRole('button', { name: 'Duplicate' }).click();
    await refused;
    await form.getByText('A route with this name already exists.').waitFor();
    expect(await form.getByLabel('Name').inputValue()).toBe('taken');
  });

  it('reorders targets with the mouse and with the keyboard', async () => {
    const id = await addProvider('orderer', 'one', 'two', 'three');
    await addRoute('ordered', id, 'one', 'two', 'three');
    const page = await signedIn('/routes?q=ordered&open=ordered');
    await targets(page, 'ordered').nth(2).waitFor();

    const from = await page.getByRole('button', { name: /^Move three/ }).boundingBox();
    const to = await page.getByRole('button', { name: /^Move one/ }).boundingBox();
    if (!from || !to) {
      throw new Error('the handles are not there');
    }
    const saved = page.waitForResponse((r) => r.url().endsWith('/reorder') && r.ok());
    await page.mouse.move(from.x + 8, from.y + 8);
    await page.mouse.down();
    await page.mouse.move(from.x + 8, to.y + 20, { steps: 8 });
    await page.mouse.move(from.x + 8, to.y + 4, { steps: 4 });
    await page.mouse.up();
    await saved;
    expect(await order(page, 'ordered')).toEqual(['three', 'one', 'two']);
    expect(await stored('ordered')).toEqual(['three', 'one', 'two']);

    const again = page.waitForResponse((r) => r.url().endsWith('/reorder') && r.ok());
    await page.getByRole('button', { name: /^Move three/ }).focus();
    await page.keyboard.press('Space');
    await page.getByText('Picked up three').waitFor({ state: 'attached' });
    await page.keyboard.press('ArrowDown');
    await page.getByText('three would be 2 of 3').waitFor({ state: 'attached' });
    await page.keyboard.press('Space');
    await again;
    expect(await stored('ordered')).toEqual(['one', 'three', 'two']);
    expect(await order(page, 'ordered')).toEqual(['one', 'three', 'two']);
  });

  it('shows a cooldown when it begins, and its end, without a reload', async () => {
    const id = await addProvider('cooler', 'cool-1', 'cool-2');
    await addRoute('cooling', id, 'cool-1', 'cool-2');
    const { key } = await admin<{ key: string }>('POST', '/api-keys', { name: 'cooling' });
    await demo('cool-1', { kind: 'rate_limit', retry_after: '8' });
    const page = await signedIn('/routes?q=cooling&open=cooling');
    await targets(page, 'cooling').nth(1).waitFor();
    await expect.poll(async () => (await call(key, 'cooling')).status, { timeout: 10_000 }).toBe(200);
    const badge = targets(page, 'cooling').first().getByRole('button', { name: 'Temporarily unavailable' });
    await badge.waitFor();
    await page.getByText('1 of 2 available').waitFor();
    await badge.hover();
    await page
      .getByRole('tooltip')
      .getByText(/Recovers/)
      .waitFor();
    await demo('cool-1');
    await targets(page, 'cooling').first().getByRole('button', { name: 'Recovering' }).waitFor();
  });
});
