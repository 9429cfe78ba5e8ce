import type { Page } from 'playwright-core';
import { row } from '../../src/database/pool/connection';
import { serveApi, type ServedApi } from '../support/api';
import { openBrowser, tabTo, type TestBrowser } from '../support/browser';
import { consoleHistory, type ConsoleHistory } from '../support/console-data';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';

/*
 * The console without a mouse: each view by Tab, Enter, Space, Escape and arrows. Each step of Tab
 * has to be seen.
 */

let test: TestDatabase;
let api: ServedApi;
let browser: TestBrowser;
let data: ConsoleHistory;
let merchant: Page;
let bank: Page;
beforeAll(async () => {
  test = await createTestDatabase();
  api = await serveApi(test.db);
  [browser, data] = await Promise.all([openBrowser(), consoleHistory(test.db, api)]);
  merchant = await signedIn('merchant');
  bank = await signedIn('bank');
});
afterAll(async () => {
  await browser.close();
  await api.close();
  await test.drop();
});

async function signedIn(role: 'bank' | 'merchant'): Promise<Page> {
  const page = await browser.open(`${api.url}/console`);
  const { clientId, clientSecret } = data.credentials[role];
  await tabTo(page.getByLabel('Client id'));
  await page.keyboard.type(clientId);
  await tabTo(page.getByLabel('Client secret'));
  await page.keyboard.type(clientSecret);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const focused = (page: Page, what: string) => page.evaluate<string>(`document.activeElement.${what}`);

/** From wherever one is, by the bar on top, to the heading of the page that it leads to. */
async function goTo(page: Page, title: string): Promise<void> {
  await tabTo(link(page, title));
  await page.keyboard.press('Enter');
  const heading = page.getByRole('heading', { name: title, level: 1 });
  await heading.and(page.locator(':focus')).waitFor();
}

const expectShown = (page: Page, text: string | RegExp) =>
  expect(
    page.locator('main').getByText(text).filter({ visible: true }).first().waitFor(),
  ).resolves.toBeUndefined();

const exceptionState = () =>
  row(test.db, 'SELECT state, resolution FROM reconciliation_exceptions WHERE id = :exceptionId', {
    exceptionId: data.exceptionId,
  });

it('leaps from the top over the bar to the content', async () => {
  await merchant.reload();
  await merchant.getByRole('button', { name: 'Sign out' }).waitFor();
  await merchant.keyboard.press('Tab');
  expect(await focused(merchant, 'textContent')).toBe('Skip to the content');
  const { y = -1 } = (await merchant.getByText('Skip to the content').boundingBox()) ?? {};
  expect(y).toBeGreaterThanOrEqual(0);
  await merchant.keyboard.press('Enter');
  expect(await focused(merchant, 'tagName')).toBe('H1');
  await merchant.keyboard.press('Tab');
  expect(await focused(merchant, 'textContent')).toBe('Month before');
});

it('turns months, and reads the numbers behind a chart', async () => {
  await goTo(merchant, 'Schedules');
  await goTo(merchant, 'Overview');
  await tabTo(button(merchant, 'Month before'));
  await merchant.keyboard.press('Space');
  await expectShown(merchant, 'NGN 5.00');
  await tabTo(merchant.locator('summary', { hasText: 'The days as a table' }));
  await merchant.keyboard.press('Enter');
  await merchant.getByRole('table', { name: /each day, in NGN/ }).waitFor();
});

it('moves a table that is wider than the screen', async () => {
  await merchant.setViewportSize({ width: 700, height: 900 });
  await goTo(merchant, 'Webhooks');
  await expectShown(merchant, 'Send again');
  await tabTo(merchant.getByRole('region', { name: 'Webhook deliveries' }));
  const scrolled = () => focused(merchant, 'scrollLeft');
  expect(await scrolled()).toBe(0);
  await merchant.keyboard.press('ArrowRight');
  await eventually(() => merchant.evaluate('document.activeElement.scrollLeft > 0'));
  await merchant.setViewportSize({ width: 1280, height: 900 });
});

it('chooses what is listed, turns a page, and has a webhook sent once more', async () => {
  await goTo(merchant, 'Overview');
  await goTo(merchant, 'Webhooks');
  await tabTo(merchant.getByLabel('Show'));
  await merchant.keyboard.type('Failed');
  await expectShown(merchant, /Page 1 of \d/);
  await tabTo(button(merchant, 'Next page'));
  await merchant.keyboard.press('Enter');
  await expectShown(merchant, /Page 2 of \d/);
  const again = merchant.getByRole('button', { name: /^Send again: / }).first();
  const name = (await again.getAttribute('aria-label')) ?? '';
  await tabTo(button(merchant, name));
  await merchant.keyboard.press('Enter');
  await expectShown(merchant, 'is sent once more.');
  const deliveryId = name.split(' ').at(-1);
  expect(
    await row(test.db, 'SELECT status FROM webhook_deliveries WHERE id = :deliveryId', { deliveryId }),
  ).toEqual({ status: 'pending' });
});

it('searches, and follows what is found', async () => {
  await goTo(merchant, 'Search');
  await tabTo(merchant.getByLabel('Reference or id'));
  await merchant.keyboard.type(data.scheduleId);
  await merchant.keyboard.press('Enter');
  await expectShown(merchant, 'Gold plan of NGN 1,500.00');
  await tabTo(link(merchant, data.customerId));
  await merchant.keyboard.press('Enter');
  await expectShown(merchant, 'The latest transactions');
});

it('types a day, turns to those beside it, and takes its statement', async () => {
  await goTo(merchant, 'Statements');
  await tabTo(merchant.getByLabel('Settlement day'));
  // The same in browsers that ask for the day first, and for the month.
  await merchant.keyboard.type('10102025');
  await expectShown(merchant, 'Statement of Fri, 10 Oct 2025 in NGN');
  await tabTo(button(merchant, 'Day before'));
  await merchant.keyboard.press('Space');
  await expectShown(merchant, 'Statement of Thu, 9 Oct 2025 in NGN');
  await tabTo(button(merchant, 'Day after'));
  await merchant.keyboard.press('Enter');
  await expectShown(merchant, 'Statement of Fri, 10 Oct 2025 in NGN');
  await expectShown(merchant, 'Closing balance');
  await tabTo(link(merchant, 'Download its lines as CSV'));
  const arrives = merchant.waitForEvent('download');
  await merchant.keyboard.press('Enter');
  expect((await arrives).suggestedFilename()).toBe('statement-2025-10-10-NGN.csv');
});

it('answers an exception, thinks again by Escape, and goes on where it was', async () => {
  await goTo(bank, 'Exceptions');
  await tabTo(link(bank, 'The bank gave two different answers'));
  await bank.keyboard.press('Enter');
  await expectShown(bank, 'What became of the money?');
  await tabTo(bank.getByLabel('No money moved'));
  await bank.keyboard.press('Space');
  await bank.keyboard.press('ArrowDown');
  await bank.keyboard.press('ArrowDown');
  expect(await bank.getByLabel('Our first answer stands').isChecked()).toBe(true);
  await tabTo(button(bank, 'Answer …'));
  await bank.keyboard.press('Enter');
  const dialog = bank.getByRole('dialog', { name: 'Is that so?' });
  await dialog.waitFor();
  expect(await focused(bank, 'textContent')).toBe('Yes, resolve it');
  await bank.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  expect(await focused(bank, 'textContent')).toBe('Answer …');
  expect(await exceptionState()).toEqual({ state: 'open', resolution: null });
  await bank.keyboard.press('Enter');
  await tabTo(button(bank, 'No, go back'));
  await bank.keyboard.press('Enter');
  expect(await focused(bank, 'textContent')).toBe('Answer …');
  await bank.keyboard.press('Enter');
  await dialog.waitFor();
  await bank.keyboard.press('Enter');
  await expectShown(bank, 'It is resolved: Our first answer stands.');
  expect(await exceptionState()).toEqual({ state: 'resolved', resolution: 'confirmed' });
});

it('signs out', async () => {
  await tabTo(button(bank, 'Sign out'));
  await bank.keyboard.press('Enter');
  await bank.getByLabel('Client id').waitFor();
  expect((await bank.context().cookies()).map(({ value }) => value).join('')).toBe('');
});
