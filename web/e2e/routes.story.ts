import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { addProvider, addRoute, admin, call, demo, expectComplaint, inBrowser, signedIn, targets } from './world';

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
    await page.getByText(/^Picked up three/).waitFor({ state: 'attached' });
    await page.keyboard.press('ArrowDown');
    await page.getByText('three of orderer would be 2 of 3').waitFor({ state: 'attached' });
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

  it('puts targets back where they were when the new order is not taken', async () => {
    const id = await addProvider('undoer', 'first', 'second');
    await addRoute('undone', id, 'first', 'second');
    const page = await signedIn('/routes?q=undone&open=undone');
    await targets(page, 'undone').nth(1).waitFor();
    expectComplaint(/reorder/);
    await page.route('**/reorder', (r) =>
      r.fulfill({ status: 503, json: { error: { message: 'the database is away', type: 'internal_error', code: 'unavailable' } } }),
    );
    await page.getByRole('button', { name: /^Move first/ }).focus();
    await page.keyboard.press('Space');
    await page.getByText(/^Picked up first/).waitFor({ state: 'attached' });
    await page.keyboard.press('ArrowDown');
    await page.getByText('first of undoer would be 2 of 2').waitFor({ state: 'attached' });
    await page.keyboard.press('Space');
    await page.getByRole('alert').getByText('The database is away.').waitFor();
    expect(await order(page, 'undone')).toEqual(['first', 'second']);
    expect(await stored('undone')).toEqual(['first', 'second']);
  });

  it('ends a cooldown when an administrator wants it, and says for whom', async () => {
    const id = await addProvider('ender', 'end-1', 'end-2');
    await addRoute('ended', id, 'end-1', 'end-2');
    const { key } = await admin<{ key: string }>('POST', '/api-keys', { name: 'ended' });
    await demo('end-1', { kind: 'rate_limit', retry_after: '200', times: 1 });
    const page = await signedIn('/routes?q=ended&open=ended');
    await expect.poll(async () => (await call(key, 'ended')).status, { timeout: 10_000 }).toBe(200);
    await targets(page, 'ended').first().getByRole('button', { name: 'Temporarily unavailable' }).click();
    const asks = page.getByRole('dialog');
    await asks.getByText(/in “ended”/).waitFor();
    await asks.getByRole('button', { name: 'End cooldown' }).click();
    await page.getByText('end-1 is asked again').waitFor();
    await targets(page, 'ended').first().getByRole('button', { name: 'Temporarily unavailable' }).waitFor({ state: 'detached' });
  });

  it('renames a route, and says what went along', async () => {
    const id = await addProvider('renamer', 'r-1');
    await addRoute('old-name', id, 'r-1');
    await admin('POST', '/model-route-groups', { name: 'Renamed along', model_aliases: ['old-name'] });
    const page = await signedIn('/routes?q=-name');
    await page.getByRole('button', { name: 'More for old-name' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('new-name');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('button', { name: 'new-name', exact: true }).waitFor({ state: 'attached' }); // the row of the old name is gone
    await page.getByRole('dialog').getByText('1 route group follows: “Renamed along”').waitFor();
  });

  it('scrolls through ten thousand', async () => {
    const id = await addProvider('many', 'many-1');
    await addRoute('many-0', id, 'many-1');
    const pattern = await admin<object>('GET', '/routes/many-0');
    const page = await signedIn('/audit');
    const list = Array.from({ length: 10_000 }, (_, i) => ({ ...pattern, model_alias: `many-${i}` }));
    await page.route('**/admin/routes', (r) => r.fulfill({ json: list }));
    await page.getByRole('link', { name: 'Model Routes' }).click();
    await page.getByText('10000 routes').waitFor();
    const rows = page.getByRole('list', { name: 'Model routes' }).getByRole('listitem');
    expect(await rows.count()).toBeLessThan(100);
    await page.keyboard.press('End');
    await page.getByRole('button', { name: 'many-9999', exact: true }).waitFor();
    expect(await rows.count()).toBeLessThan(100);
    await page.getByLabel('Search routes').fill('many-777');
    await page.getByText('11 of 10000 routes').waitFor();
  });
});
