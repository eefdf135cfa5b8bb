import { describe, expect, it } from 'vitest';
import { enter, expectComplaint, inBrowser, signedIn, visit, world } from './world';

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
    let end = () => {};
    const ending = new Promise<void>((resolve) => {
      end = resolve;
    });
    await page.route('**/auth/logout', async (r) => {
      await ending;
      await r.continue();
    });
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    // While the session ends nothing is left on the page that would ask with it.
    await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'detached' });
    end();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.goto('/routes');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it('stays signed in, and says so, when signing out fails', async () => {
    const page = await signedIn('/routes');
    await page.route('**/auth/logout', (r) => r.abort());
    expectComplaint(/auth\/logout/);
    await page.getByRole('button', { name: /^Administrator/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor();
    await page.getByRole('heading', { name: 'Model Routes' }).waitFor();
  });

  it('does not go to another site', async () => {
    const page = await visit('/sign-in?to=//evil.example/');
    await enter(page);
    expect(new URL(page.url()).origin).toBe(new URL(world.base_url).origin);
  });
});
