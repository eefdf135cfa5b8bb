import { describe, expect, it } from 'vitest';
import { addProvider, addRoute, admin, becomes, call, dialog, expectComplaint, fromMenu, inBrowser, signedIn, world } from './world';

interface Id {
  id: string;
}

describe('credentials', () => {
  inBrowser();

  it('are shared, rotated for all, and not deleted under those who use them', async () => {
    const page = await signedIn('/credentials');
    await page.getByRole('button', { name: 'Add credential' }).first().click();
    await dialog(page).getByRole('textbox', { name: 'Name' }).fill('One account');
    await dialog(page).getByRole('textbox', { name: 'Base URL' }).fill(`${world.demo_url}/v1`);
    await dialog(page).getByLabel('API key').fill('sk-shared-1111');
    await dialog(page).getByRole('button', { name: 'Add credential' }).click();
    const row = page.getByRole('row', { name: /One account/ });
    await row.getByText('···1111').waitFor();

    const id = (await admin<(Id & { name: string })[]>('GET', '/connections')).find((c) => c.name === 'One account')?.id;
    const sharers: string[] = [];
    for (const name of ['Sharer A', 'Sharer B']) {
      const shared = { name, model_provider: 'openai', base_url: `${world.demo_url}/v1`, connection_id: id, models: ['shared-model'] };
      sharers.push((await admin<Id>('POST', '/providers', shared)).id);
    }
    await row.getByText('Sharer A, Sharer B').waitFor();

    await fromMenu(page, 'One account', 'Edit or rotate');
    await dialog(page).getByLabel('API key').fill('sk-shared-2222');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await row.getByText('···2222').waitFor();

    await fromMenu(page, 'One account', 'Delete');
    await dialog(page).getByText('“Sharer A” and “Sharer B” use it').waitFor();
    expectComplaint(/connections/);
    await dialog(page).getByRole('button', { name: 'Delete credential' }).click();
    await dialog(page).getByRole('alert').waitFor();
    await page.keyboard.press('Escape');
    for (const sharer of sharers) {
      await admin('DELETE', `/providers/${sharer}`);
    }
    await row.getByText('no provider').waitFor();
    await fromMenu(page, 'One account', 'Delete');
    await dialog(page).getByRole('button', { name: 'Delete credential' }).click();
    await row.waitFor({ state: 'detached' });
  });
});

describe('prices', () => {
  inBrowser();

  it('are added, scheduled, archived and restored, and their history stays', async () => {
    const page = await signedIn('/pricing');
    const row = page.getByRole('row', { name: /story-model/ });
    await page.getByRole('button', { name: 'Add price' }).first().click();
    await dialog(page).getByRole('textbox', { name: 'Model', exact: true }).fill('story-model');
    await dialog(page).getByLabel('Input').fill('1.5');
    await dialog(page).getByRole('button', { name: 'Add price' }).click();
    await dialog(page).getByText('Enter a number.').waitFor();
    await dialog(page).getByLabel('Output').fill('6');
    await dialog(page).getByRole('button', { name: 'Add price' }).click();
    await row.getByText('$1.50').waitFor();

    await fromMenu(page, 'story-model', 'New price');
    await dialog(page).getByLabel('Input').fill('2');
    await dialog(page).getByRole('switch', { name: 'From a moment in the future' }).press('Space');
    await dialog(page).getByRole('textbox', { name: 'Reason' }).fill('new contract');
    await dialog(page).getByRole('button', { name: 'Save price' }).click();
    await row.getByRole('button', { name: '1 scheduled' }).waitFor();

    await fromMenu(page, 'story-model', 'History');
    await dialog(page).getByText('Scheduled', { exact: true }).first().waitFor();
    await dialog(page).getByText('Current', { exact: true }).waitFor();
    await dialog(page)
      .getByText(/new contract/)
      .waitFor();
    await dialog(page).getByRole('button', { name: 'Cancel it' }).click();
    await dialog(page)
      .getByText(/\$2\.00 in and/)
      .waitFor();
    await dialog(page).getByRole('button', { name: 'Cancel the price' }).click();
    await dialog(page).getByRole('heading', { name: 'Prices of story-model' }).waitFor(); // it comes back
    await dialog(page).getByText('Current', { exact: true }).waitFor();
    await dialog(page).getByText('Scheduled', { exact: true }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    await row.getByRole('button', { name: '1 scheduled' }).waitFor({ state: 'detached' });

    await fromMenu(page, 'story-model', 'Archive');
    await dialog(page).getByRole('button', { name: 'Archive price' }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByText(/^Archived/).click();
    await page.getByRole('button', { name: 'Restore story-model' }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByText('Current', { exact: true }).click();
    await row.getByText('$1.50').waitFor();
  });

  it('are imported from the defaults that are looked for', async () => {
    const page = await signedIn('/pricing');
    await page.getByRole('button', { name: 'Import defaults' }).click();
    const count = dialog(page).getByRole('status');
    await count.getByText(/shown, 0 chosen/).waitFor();
    const all = Number(/of (\d+)/.exec((await count.textContent()) ?? '')?.[1]);
    await dialog(page).getByLabel('Search the defaults').fill('gpt-4.1');
    await expect.poll(() => count.textContent()).not.toContain(`${all} of ${all}`);
    const shown = Number(/(\d+) of/.exec((await count.textContent()) ?? '')?.[1]);
    expect(shown).toBeGreaterThan(0);
    await dialog(page).getByLabel('All that match').check();
    await count.getByText(`${shown} of ${all} shown, ${shown} chosen`).waitFor();
    await dialog(page)
      .getByRole('button', { name: `Import ${shown} price` })
      .click();
    await page
      .getByRole('row', { name: /gpt-4\.1/ })
      .first()
      .waitFor();
  });
});

describe('a key', () => {
  inBrowser();

  it('is disabled for a while, and rotated with time to put the new one in its place', async () => {
    await addRoute('keyed', await addProvider('keyed', 'keyed-1'), 'keyed-1');
    const { key } = await admin<{ key: string }>('POST', '/api-keys', { name: 'Old faithful' });
    await becomes('the key works', async () => (await call(key, 'keyed')).status === 200);
    const page = await signedIn('/keys');
    const row = page.getByRole('row', { name: /Old faithful/ });
    await fromMenu(page, 'Old faithful', 'Disable');
    await dialog(page).getByRole('button', { name: 'Disable key' }).click();
    await row.getByRole('button', { name: 'Disabled' }).waitFor();
    await becomes('it is refused', async () => (await call(key, 'keyed')).status === 401);
    await fromMenu(page, 'Old faithful', 'Enable');
    await row.getByText('Active').waitFor();
    await becomes('it works again', async () => (await call(key, 'keyed')).status === 200);

    await fromMenu(page, 'Old faithful', 'Rotate');
    await dialog(page).getByLabel('The old key stays good for').fill('');
    await dialog(page).getByRole('button', { name: 'Rotate' }).click();
    await dialog(page).getByText('Enter a number.').waitFor();
    await dialog(page).getByLabel('The old key stays good for').fill('600');
    await dialog(page).getByRole('button', { name: 'Rotate' }).click();
    await dialog(page).getByText('Copy it now').waitFor();
    const next = (await dialog(page).locator('code').first().textContent()) ?? '';
    await becomes('the new key works', async () => (await call(next, 'keyed')).status === 200);
    expect((await call(key, 'keyed')).status).toBe(200);
  });
});

describe('the audit', () => {
  inBrowser();

  it('is filtered and paged, and says what became of what', async () => {
    const { id } = await admin<Id>('POST', '/model-route-groups', { name: 'Audited 0', model_aliases: [] });
    for (let i = 1; i <= 52; i++) {
      await admin('PUT', `/model-route-groups/${id}`, { name: `Audited ${i}` });
    }
    const page = await signedIn('/audit');
    const changes = page.getByRole('list', { name: 'Changes' }).getByRole('listitem');
    await changes.first().waitFor();
    await page.getByRole('combobox', { name: 'Show only one kind of change' }).click();
    await page.getByRole('option', { name: 'Update model route group' }).click();
    await expect.poll(() => changes.filter({ hasNotText: 'Update model route group' }).count()).toBe(0);
    await changes.nth(49).waitFor();
    expect(await changes.count()).toBe(50);
    await page.getByRole('button', { name: 'Show older changes' }).click();
    await changes.nth(51).waitFor();
    await changes.filter({ hasText: 'Audited 52' }).getByRole('button').click();
    await page.getByRole('cell', { name: 'Audited 51' }).waitFor();
    await page.getByRole('cell', { name: 'Audited 52' }).waitFor();
  });
});

describe('what is disabled', () => {
  inBrowser();

  it('says first whom it hits', async () => {
    await addRoute('hit', await addProvider('hitter', 'hit-1'), 'hit-1');
    const page = await signedIn('/providers');
    const power = page.getByLabel('hitter is enabled');
    await power.press('Space');
    await dialog(page)
      .getByText(/“hit” skips its targets on it/)
      .waitFor();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    expect(await power.isChecked()).toBe(true);
    await power.press('Space');
    await dialog(page).getByRole('button', { name: 'Disable' }).click();
    await page.getByText('hitter is disabled').waitFor();
    await page.goto('/models');
    await page.getByRole('row', { name: /hit-1/ }).getByRole('button', { name: 'Provider disabled' }).waitFor();
  });
});
