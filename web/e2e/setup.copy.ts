import { writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, it } from 'vitest';
import { choose, dialog, inBrowser, signedIn } from './world';

/** What is to be copied: for which tool, by its title on the page, and with which model. */
const wanted: { tool: string; model: string }[] = JSON.parse(process.env.SPILLWAY_COPY ?? '[]');

/** All that the page has to copy for a tool, by its buttons, as the clipboard has it. */
async function copied(page: Page, tool: string): Promise<string[]> {
  await dialog(page).getByRole('tab', { name: tool }).click();
  const parts: string[] = [];
  for (const figure of await dialog(page).getByRole('figure', { name: tool }).all()) {
    await figure.getByRole('button', { name: /^Copy / }).click();
    await figure.getByRole('button', { name: /^Copied / }).waitFor();
    parts.push(await page.evaluate(() => navigator.clipboard.readText()));
  }
  return parts;
}

describe('setting up tools', () => {
  inBrowser();

  it('is copied from the page of a new key', async () => {
    const page = await signedIn('/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByRole('textbox', { name: 'Name' }).fill('My laptop');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByText('Copy it now').waitFor();
    const texts: Record<string, string[]> = {};
    for (const { tool, model } of wanted) {
      await choose(page, 'Model', model);
      texts[tool] = await copied(page, tool);
    }
    writeFileSync(process.env.SPILLWAY_COPIED ?? '', JSON.stringify(texts));
  });
});
