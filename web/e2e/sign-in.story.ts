import { describe, expect, it } from 'vitest';
import { enter, expectComplaint, inBrowser, visit, world } from './world';

describe('signing in', () => {
  inBrowser();

  it('refuses a wrong password, takes the right one, and goes where one wanted', async () => {
    const page = await visit('/routes?q=demo');
    await page.getByRole('textbox', { name: 'Email address' }).fill(world.admin_email);
    await page.getByLabel('Password', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('The email address or the password is wrong').waitFor();
    expectComplaint(/auth\/login/);
    await enter(page);
    await page.getByRole('heading', { name: 'Model Routes' }).waitFor();
    expect(new URL(page.url()).search).toBe('?q=demo');
    expect(await page.getByLabel('Search routes').inputValue()).toBe('demo');
  });

  it('signs out, and asks who it is the next time', async () => {
    const page = await visit('/routes');
    await enter(page);
    await page.getByRole('button', { name: /^Administrator/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.goto('/routes');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it('does not go to another site', async () => {
    const page = await visit('/sign-in?to=//evil.example/');
    await enter(page);
    expect(new URL(page.url()).origin).toBe(new URL(world.base_url).origin);
  });
});
