import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { places } from './places';
import { setStage } from './stage';
import { addProvider, addRoute, addUser, inBrowser, type Look, signedIn, visit } from './world';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds that keeps people out. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(`globalThis.axe || ${axe}`);
  const found = await page.evaluate<AxeResults>('axe.run(document, { resultTypes: ["violations"] })');
  const grave = found.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
  return grave.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.html} ${n.failureSummary ?? ''}`).join('\n')}`);
}

async function widerThanItself(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
}

/** Looks at what is on the screen in both schemes. */
async function look(page: Page, what: string): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.locator(`html[data-mantine-color-scheme=${scheme}]`).waitFor();
    expect(await findings(page), `${what}, ${scheme}`).toEqual([]);
  }
  expect(await widerThanItself(page), `${what} scrolls sideways`).toBe(false);
}

// Pages with something on them: what is not there cannot be found wanting.
beforeAll(async () => {
  await setStage();
});

const looks: Look[] = [
  { width: 1280, scheme: 'light' },
  { width: 390, scheme: 'light' },
];

describe.each(looks)('every page at $width px, light and dark', (at) => {
  inBrowser();

  it('can be used by everybody, and fits', async () => {
    await look(await visit('/sign-in', at), 'sign-in');
    const page = await signedIn('/', at);
    for (const [what, path, heading] of places) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
      await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
      await look(page, what);
    }
  });

  it('so can what opens over it', async () => {
    const name = `looker-${at.width}`;
    await addRoute(name, await addProvider(name, 'look-1', 'look-2'), 'look-1', 'look-2');
    const page = await signedIn(`/routes?q=${name}&open=${name}`, at);
    await page.getByRole('button', { name: `Rate limit retries of look-1 of ${name}` }).click();
    await page.getByText('Effective behavior').waitFor();
    await look(page, 'retries');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Create route' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Another target' }).click();
    await look(page, 'create a route');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: `More for ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete route' }).waitFor();
    await look(page, 'delete a route');
  });
});

describe('what a member sees', () => {
  inBrowser();

  it('is their own, and nothing else is named', async () => {
    const member = await addUser('member@acme.example', 'Max Member');
    const page = await signedIn('/providers', { width: 1280, scheme: 'light' }, member);
    await page.getByRole('heading', { level: 1, name: 'My Models' }).waitFor();
    const links = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allTextContents();
    expect(links).toEqual(['My Models', 'Account']);
  });
});
