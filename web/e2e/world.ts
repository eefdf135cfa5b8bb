import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';

/** The running product, as test/e2e tells it. */
interface World {
  base_url: string;
  gateway_url: string;
  demo_url: string;
  admin_email: string;
  admin_password: string;
  client_id: string;
  client_secret: string;
  browser: string;
  /** A folder with the OpenAI SDK in it. */
  clients: string;
}

export const world: World = JSON.parse(process.env.SPILLWAY_PORTAL ?? '{}');

export interface Look {
  width: 1280 | 390;
  scheme: 'light' | 'dark';
}

export const desk: Look = { width: 1280, scheme: 'light' };

export interface Account {
  email: string;
  password: string;
}

export const administrator: Account = { email: world.admin_email, password: world.admin_password };

const flags = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-quic',
  '--no-first-run',
  '--disable-component-update',
  '--disable-sync',
];

let browser: Browser;
let contexts: BrowserContext[] = [];
let complaints: string[] = [];
let expected: RegExp[] = [];

/** Starts a browser for the stories of a file, and lets none of them end with a complaint on the console. */
export function inBrowser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: world.browser, args: flags });
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await Promise.all(contexts.map((c) => c.close()));
    const said = complaints.filter((c) => !expected.some((e) => e.test(c)));
    contexts = [];
    complaints = [];
    expected = [];
    expect(said.join('\n'), 'errors on the console').toBe('');
  });
}

/** Says of what a story does on purpose what the browser will note of it. */
export function expectComplaint(pattern: RegExp): void {
  expected.push(pattern);
}

export async function visit(path: string, look: Look = desk, cookie?: { name: string; value: string }): Promise<Page> {
  const context = await browser.newContext({
    baseURL: world.base_url,
    viewport: { width: look.width, height: look.width === 390 ? 844 : 800 },
    colorScheme: look.scheme,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  contexts.push(context);
  if (cookie) {
    await context.addCookies([{ ...cookie, url: world.base_url }]);
  }
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  page.on('pageerror', (e) => complaints.push(e.message));
  page.on('console', (m) => {
    // That nobody is signed in yet is asked of the server, and a browser notes every 401.
    if (m.type() === 'error' && !m.location().url.endsWith('/auth/session')) {
      complaints.push(`${m.text()} (${m.location().url})`);
    }
  });
  await page.goto(path);
  return page;
}

export async function enter(page: Page, who: Account = administrator): Promise<void> {
  await page.getByRole('textbox', { name: 'Email address' }).fill(who.email);
  await page.getByLabel('Password', { exact: true }).fill(who.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('main').getByRole('heading', { level: 1 }).filter({ hasNotText: 'Sign in' }).waitFor();
}

/** A page of somebody who has signed in before. */
export async function signedIn(path: string, look: Look = desk, who: Account = administrator): Promise<Page> {
  const answer = await fetch(`${world.base_url}/auth/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: who.email, password: who.password }),
  });
  const [name = '', value = ''] = (answer.headers.get('Set-Cookie') ?? '').split(';')[0]?.split('=') ?? [];
  return visit(path, look, { name, value });
}

let token: Promise<string> | undefined;

async function fetchToken(): Promise<string> {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: world.client_id, client_secret: world.client_secret });
  const answer = await fetch(`${world.base_url}/oauth/token`, { method: 'POST', body: form });
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** The admin API, to set a stage. */
export async function admin<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
  token ??= fetchToken();
  const answer = await fetch(`${world.base_url}/api/llm-gateway/admin${path}`, {
    method,
    headers: { Authorization: `Bearer ${await token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) {
    throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  }
  return (text ? JSON.parse(text) : undefined) as T;
}

interface Id {
  id: string;
}

/** A provider on the demo provider, with models of the story's own. */
export async function addProvider(name: string, ...models: string[]): Promise<string> {
  const made = await admin<Id>('POST', '/providers', {
    name,
    model_provider: 'openai',
    base_url: `${world.demo_url}/v1`,
    api_key: `key-of-${name.replaceAll(' ', '-')}`,
    models,
  });
  return made.id;
}

export async function addRoute(alias: string, provider: string, ...models: string[]): Promise<void> {
  await admin('POST', '/routes', {
    model_alias: alias,
    targets: models.map((upstream_model) => ({ provider_id: provider, upstream_model })),
  });
}

export async function addUser(email: string, name: string, role: 'member' | 'admin' = 'member'): Promise<Account & Id> {
  const password = 'correct horse battery staple';
  const made = await admin<Id>('POST', '/users', { email, name, role, password });
  return { id: made.id, email, password };
}

/** What the demo provider does with a model from now on; nothing heals it. */
export async function demo(model: string, behavior?: Record<string, unknown>): Promise<void> {
  const answer = await fetch(`${world.demo_url}/control/${encodeURIComponent(model)}`, {
    method: behavior ? 'PUT' : 'DELETE',
    ...(behavior ? { body: JSON.stringify(behavior) } : {}),
  });
  if (!answer.ok) {
    throw new Error(await answer.text());
  }
}

export async function call(key: string, model: string): Promise<Response> {
  return fetch(`${world.gateway_url}/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  });
}

/** Asks until it is so: what the admin API changed reaches the nodes within two seconds. */
export async function becomes(what: string, so: () => Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await so(), what).toBe(true), { timeout: 20_000, interval: 100 });
}

export const dialog = (page: Page) => page.getByRole('dialog');

/** Chooses an option of a field in the window that is open. */
export async function choose(page: Page, field: string, option: string | RegExp): Promise<void> {
  await dialog(page).getByRole('combobox', { name: field, exact: true }).click();
  await page.getByRole('option', { name: option }).click();
}

/** Takes what the menu of a row offers. */
export async function fromMenu(page: Page, of: string, act: string): Promise<void> {
  await page.getByRole('button', { name: `More for ${of}`, exact: true }).click();
  await page.getByRole('menuitem', { name: act, exact: true }).click();
}

export const targets = (page: Page, route: string) => page.getByRole('region', { name: `Targets of ${route}` }).getByRole('listitem');
