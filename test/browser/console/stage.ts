import type { Page } from 'playwright-core';
import { send, serveApi, tokenOf, type ServedApi } from '../../support/api';
import { expectGoodPage, openBrowser, tabTo, type TestBrowser } from '../../support/browser';
import { consoleHistory, type ConsoleHistory } from '../../support/console-data';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { letMidnightPass } from '../../support/midnight';
import { lookupIdOf } from '../../support/standing';

/*
 * The console with something of each kind to look at, for the test file that imports this.
 * Each role signs in once. A mouse is used in the views and for a team's daily work alone:
 * elsewhere each step of Tab has to be seen.
 */

type Role = 'bank' | 'merchant' | 'provider';

export let test: TestDatabase;
export let api: ServedApi;
export let browser: TestBrowser;
export let data: ConsoleHistory;
export let intentId: string;
export let pages: Record<Role, Page>;
beforeAll(async () => {
  // A day that is not over is one of the views.
  await letMidnightPass(2);
  test = await createTestDatabase();
  api = await serveApi(test.db, { settings: { ACCEPTED_CURRENCIES: 'NGN,USD' } });
  [browser, data] = await Promise.all([openBrowser(), consoleHistory(test.db, api)]);
  const lookupIDs = [await lookupIdOf(test.db, data.customerId)];
  const intent = { lookupIDs, currency: 'NGN', description: 'Tea' };
  const asked = await call('merchant', 'POST', '/v1/billing/intent', intent);
  intentId = (asked.body as unknown as { intentId: string }[])[0]?.intentId ?? '';
  pages = {
    merchant: await signedIn('merchant'),
    bank: await signedIn('bank'),
    provider: await signedIn('provider'),
  };
});
afterAll(async () => {
  await browser.close();
  await api.close();
  await test.drop();
});

export async function call(role: Role, method: string, path: string, body?: object) {
  const authorization = `Bearer ${await tokenOf(api, data.credentials[role])}`;
  return send(api.url, method, path, body, { authorization });
}

interface Credentials {
  clientId: string;
  clientSecret: string;
}

export async function enter(page: Page, { clientId, clientSecret }: Credentials): Promise<void> {
  await tabTo(page.getByLabel('Client id'));
  await page.keyboard.press('Control+A');
  await page.keyboard.type(clientId);
  await tabTo(page.getByLabel('Client secret'));
  await page.keyboard.press('Control+A');
  await page.keyboard.type(clientSecret);
  await page.keyboard.press('Enter');
}

export async function signedIn(role: Role, of: Pick<ConsoleHistory, 'credentials'> = data): Promise<Page> {
  const page = await browser.open(`${api.url}/console`);
  await enter(page, of.credentials[role]);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

/** The page of that role, loaded again: each view begins with the first choices. */
export async function pageOf(role: Role, address: string): Promise<Page> {
  const page = pages[role];
  await page.goto('about:blank');
  await page.goto(`${api.url}/console#/${address}`);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

export const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
export const searchField = (page: Page) => page.getByLabel(/^Search by reference/);
export const choose = (page: Page, shown: string) => page.getByLabel('Show').selectOption({ label: shown });

export async function shows(page: Page, ...texts: (string | RegExp)[]): Promise<void> {
  const main = page.locator('main');
  for (const text of texts) await main.getByText(text).filter({ visible: true }).first().waitFor();
}

/** Tab to it, and press Enter or another key there. */
export async function tabAndPress(page: Page, name: string, key = 'Enter'): Promise<void> {
  await tabTo(button(page, name).or(link(page, name)));
  await page.keyboard.press(key);
}

/** By the bar on top, to the heading of the page that it leads to. */
export async function goTo(page: Page, title: string): Promise<void> {
  await tabAndPress(page, title);
  const heading = page.getByRole('heading', { name: title, level: 1 });
  await heading.and(page.locator(':focus')).waitFor();
}

export interface View {
  role: Role;
  at: string | (() => string);
  /** Steps before the look. */
  act?: (page: Page) => Promise<unknown>;
  /** Texts that the page has then, in the order of reading. */
  shows: (string | RegExp)[];
}

/** Registers a look at each, by everybody. */
export function shownToAnybody(views: Record<string, View>): void {
  it.each(Object.entries(views))('shows %s, to anybody', async (_, { role, at, act, shows: texts }) => {
    const page = await pageOf(role, typeof at === 'string' ? at : at());
    await act?.(page);
    await shows(page, ...texts);
    await expectGoodPage(page);
  });
}

export async function savedFile(
  page: Page,
  press: () => Promise<unknown>,
): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([page.waitForEvent('download'), press()]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  return { name: download.suggestedFilename(), text: Buffer.concat(chunks).toString() };
}
