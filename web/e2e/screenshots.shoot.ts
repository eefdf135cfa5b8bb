import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, it } from 'vitest';
import { places } from './places';
import { setStage } from './stage';
import { inBrowser, type Look, signedIn, visit } from './world';

const folder = process.env.SPILLWAY_SCREENSHOTS ?? 'screenshots';

const looks: [string, Look][] = [
  ['light', { width: 1280, scheme: 'light' }],
  ['dark', { width: 1280, scheme: 'dark' }],
  ['small', { width: 390, scheme: 'light' }],
];

describe.each(looks)('screenshots, %s', (name, look) => {
  inBrowser();
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    if (name === 'light' && !process.env.SPILLWAY_STAGED) {
      await setStage();
    }
  });
  const shoot = async (page: Page, what: string) => {
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: join(folder, `${what}-${name}.png`), fullPage: look.width === 390 });
  };

  it('sign-in', async () => {
    await shoot(await visit('/sign-in', look), 'sign-in');
  });

  it('every page', async () => {
    const page = await signedIn('/', look);
    for (const [what, path, heading] of places) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
      await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
      if (what === 'explain') {
        await page.getByRole('combobox', { name: /^1\. / }).click();
        await page.getByRole('option', { name: /^Server error/ }).click();
        await page.getByRole('button', { name: 'Explain' }).click();
        await page.getByText('Step by step').waitFor();
      }
      if (what === 'audit') {
        await page
          .getByRole('button', { expanded: false, name: /Create/ })
          .first()
          .click();
      }
      await shoot(page, what);
    }
  });

  it('windows', async () => {
    const page = await signedIn('/routes', look);
    await page.getByRole('button', { name: 'Create route' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('translator');
    await shoot(page, 'create-route');
    await page.goto('/providers');
    await page.getByRole('button', { name: 'Add provider' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).waitFor();
    await shoot(page, 'add-provider');
    await page.goto('/access');
    await page.getByRole('button', { name: 'More for Developers' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).waitFor();
    await shoot(page, 'edit-policy');
    await page.goto('/pricing');
    await page.getByRole('button', { name: 'Import defaults' }).click();
    await page.getByText(/chosen/).waitFor();
    await shoot(page, 'import-defaults');
    await page.goto('/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill(`made for ${name}`);
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Copy it now').waitFor();
    await shoot(page, 'new-key');
  });
});
