import type { Page } from 'playwright-core';
import { serveApi, type ServedApi } from '../support/api';
import { expectGoodPage, openBrowser, type TestBrowser } from '../support/browser';
import { consoleHistory, type ConsoleHistory } from '../support/console-data';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { letMidnightPass } from '../support/midnight';
import { answerBill, bill, charge, exceptionOf } from '../support/settled';
import { callerAt } from '../support/shared-api';
import { makeSchedule } from '../support/standing';

/* Statements, exceptions and schedules in the console: what a finance team closes a day with. */

type Role = 'bank' | 'merchant' | 'provider';

let test: TestDatabase;
let api: ServedApi;
let browser: TestBrowser;
let data: ConsoleHistory;
let pages: Record<Role, Page>;
beforeAll(async () => {
  await letMidnightPass(2);
  test = await createTestDatabase();
  api = await serveApi(test.db);
  [browser, data] = await Promise.all([openBrowser(), consoleHistory(test.db, api)]);
  pages = {
    bank: await signedIn('bank'),
    merchant: await signedIn('merchant'),
    provider: await signedIn('provider'),
  };
});
afterAll(async () => {
  await browser.close();
  await api.close();
  await test.drop();
});

async function signedIn(role: Role): Promise<Page> {
  const page = await browser.open(`${api.url}/console`);
  await page.getByLabel('Client id').fill(data.credentials[role].clientId);
  await page.getByLabel('Client secret').fill(data.credentials[role].clientSecret);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

async function pageAt(role: Role, address: string): Promise<Page> {
  const page = pages[role];
  await page.goto('about:blank');
  await page.goto(`${api.url}/console#/${address}`);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

const figure = (page: Page, name: string) =>
  page.locator('.figures > div', { has: page.getByText(name, { exact: true }) });

async function resolved(role: Role, exceptionId: string, by: string): Promise<string> {
  const page = await pageAt(role, `exceptions/${exceptionId}`);
  await page.getByText(by).waitFor();
  await expectGoodPage(page);
  return page.locator('.facts').first().innerText();
}

describe('the statements of the console', () => {
  it.each([1280, 390])('have each balance below zero in one line, %i pixels wide', async (width) => {
    const page = pages.merchant;
    await page.setViewportSize({ width, height: 900 });
    await page.route('**/v1/statements?*', async (asked) => {
      const response = await asked.fetch();
      const body = (await response.text()).replaceAll(/Balance":[-\d.]+/g, 'Balance":-330803.5');
      await asked.fulfill({ response, body });
    });
    await pageAt('merchant', 'statements');
    await page.getByText('-NGN 330,803.50').first().waitFor();
    const lines = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.figures dd')].map((figure) => {
        const amount = document.createRange();
        amount.selectNodeContents(figure.firstChild);
        return new Set([...amount.getClientRects()].map(({ top }) => top)).size;
      })`,
    );
    expect(lines).toEqual(Array(7).fill(1));
    await expectGoodPage(page);
    await page.unroute('**/v1/statements?*');
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('are at an address of their own, which a link opens, and Back comes back to', async () => {
    const page = await pageAt('bank', `statements?date=${data.day}&currency=NGN`);
    const heading = page.getByRole('heading', { name: /^Statement of/ });
    await figure(page, 'Closing balance').waitFor();
    const linked = await heading.innerText();
    await page.getByRole('button', { name: 'Day before' }).click();
    await heading.filter({ hasNotText: linked }).waitFor();
    const before = page.url();
    await page.goBack();
    await heading.filter({ hasText: linked }).waitFor();
    expect(await page.getByLabel('Settlement day').inputValue()).toBe(data.day);
    await page.goForward();
    await page.reload();
    await heading.filter({ hasNotText: linked }).waitFor();
    expect(page.url()).toBe(before);
    await page.goto(`${api.url}/console#/statements?date=yesterday`);
    await figure(page, 'Closing balance').waitFor();
  });

  it.each(['bank', 'merchant'] as const)('lead a %s from each figure to just its payments', async (role) => {
    const page = await pageAt(role, `statements?date=${data.day}`);
    const counted = page.locator('.figures > div', { has: page.locator('a') });
    await counted.first().waitFor();
    const names = await counted.locator('dt').allInnerTexts();
    expect(names).toHaveLength(role === 'bank' ? 5 : 4);
    for (const name of names) {
      const [, count] = /^(\d+) lines?$/.exec(await figure(page, name).locator('small').innerText()) ?? [];
      await figure(page, name).getByRole('link').click();
      const total = page.locator('.totals > div').filter({ hasText: 'Payments' }).locator('dd');
      await total.filter({ hasText: new RegExp(`^${count}$`) }).waitFor();
      await page.goBack();
      await counted.first().waitFor();
    }
  });

  it.each(['day', 'month'])('of a %s add up for a bank that was let off a debt', async (kind) => {
    const month = data.day.slice(0, 7);
    const page = await pageAt('bank', `statements?${kind === 'day' ? `date=${data.day}` : `month=${month}`}`);
    const kobo = async (name: string) => {
      const [amount = ''] = (await figure(page, name).locator('dd').innerText()).split('\n');
      return Math.round(Number(amount.replaceAll(/[^\d.-]/g, '')) * 100);
    };
    await figure(page, 'Written off').waitFor();
    const signed = {
      Charges: -1,
      Refunds: 1,
      'Refunds that came back': -1,
      Reversed: 1,
      'Payments to customers': 1,
      'Written off': 1,
    };
    let balance = await kobo('Opening balance');
    for (const [name, sign] of Object.entries(signed)) balance += sign * (await kobo(name));
    expect(balance).toBe(await kobo('Closing balance'));
    await expectGoodPage(page);
  });
});

it('reads the statement of a month from that of a day, and from it that of each of its days', async () => {
  const page = await pageAt('merchant', `statements?date=${data.day}`);
  await figure(page, 'Closing balance').waitFor();
  const amountOf = async (name: string) =>
    (await figure(page, name).locator('dd').innerText()).split('\n')[0];
  const ofDay = await amountOf('Closing balance');
  await page.getByLabel('Statement of').selectOption(data.day.slice(0, 7));
  const row = page.getByRole('row').filter({ has: page.getByRole('link') });
  await row.first().waitFor();
  // By the merchant's clock the month is over, and nothing has come after this day.
  const days = new Date(Number(data.day.slice(0, 4)), Number(data.day.slice(5, 7)), 0).getDate();
  expect(await row.count()).toBe(days);
  expect(await amountOf('Closing balance')).toBe(ofDay);
  const shown = await row.nth(Number(data.day.slice(8)) - 1).innerText();
  expect(shown).toContain(ofDay);
  expect(shown).toContain('Final');
  expect(await page.getByRole('link', { name: /as CSV$/ }).getAttribute('href')).toContain(
    `/v1/statements/${data.day.slice(0, 7)}.csv`,
  );
  await figure(page, 'Charges').getByRole('link').click();
  await page.locator('.totals').waitFor();
  await page.goBack();
  await expectGoodPage(page);

  await page.getByRole('button', { name: 'Month after' }).click();
  await page.getByText('More may still settle in this month.').waitFor();
  await page.getByRole('button', { name: 'Month before' }).click();
  await row
    .nth(Number(data.day.slice(8)) - 1)
    .getByRole('link')
    .click();
  await page.getByRole('heading', { name: 'Who owes whom' }).waitFor();
  expect(await page.getByLabel('Settlement day').inputValue()).toBe(data.day);
});

describe('a schedule of the console', () => {
  it('that is paused shows neither a next try nor a billing to come, and all of its metadata', async () => {
    const merchant = callerAt(api, data.credentials.merchant);
    const metadata = { order: '#4711', table: 12, gift: true };
    const scheduleId = await makeSchedule(test.db, data, { description: 'Tea', metadata });
    const { billings } = await merchant.read(`/v1/billing/recurring/${scheduleId}`);
    expect(billings).toHaveLength(1);
    const page = await pageAt('merchant', `schedules/${scheduleId}`);
    const main = page.locator('main');
    await page.getByRole('cell', { name: 'Scheduled' }).waitFor();
    await page.getByRole('button', { name: 'Pause its schedule …' }).click();
    await page.getByRole('button', { name: 'Yes, pause it' }).click();
    await main.getByText('Nothing while it is paused').waitFor();
    await main.getByText('Nothing has fallen due yet.').waitFor();
    const facts = await main.locator('.facts').first().innerText();
    expect(facts).toMatch(/gift\s+true\s+order\s+#4711\s+table\s+12/);
    await expectGoodPage(page);

    await pageAt('merchant', 'schedules');
    await page.getByLabel('Show').selectOption('paused');
    const listed = page.getByRole('row', { name: /^Tea/ });
    await listed.waitFor();
    expect(await listed.getByRole('cell').last().innerText()).toBe('–');
  });
});

describe('an exception of the console', () => {
  it('says that the operator, or that nobody, has ended it', async () => {
    const at = /Resolved\s+\d+ \w+ \d{4}, [\d:]{8}, by /;
    expect(await resolved('merchant', data.resolvedId, 'by the network’s operator')).toMatch(at);
    const { id } = await bill(test.db, data);
    await answerBill(test.db, data, id, data.bankTransactionId);
    const exceptionId = await exceptionOf(test.db, id);
    await answerBill(test.db, data, id, `tx-${id}`);
    expect(await resolved('provider', exceptionId, 'by itself: what came later explains it')).toMatch(at);
  });

  it('says that its bank has ended it, and to the bank alone by which reversal', async () => {
    const { id } = await charge(test.db, data);
    await answerBill(test.db, data, id, null);
    const exceptionId = await exceptionOf(test.db, id);
    const reversed = { resolution: 'reversed', bankTransactionId: 'FT-BACK-1' };
    await callerAt(api, data.credentials.bank).post(
      `/v1/reconciliation/exceptions/${exceptionId}/respond`,
      reversed,
    );
    expect(await resolved('bank', exceptionId, 'by the word of Bank')).toMatch(/By its reversal\s+FT-BACK-1/);
    expect(await resolved('merchant', exceptionId, 'by the word of Bank')).not.toContain('reversal');
    expect(await pages.merchant.locator('main').innerText()).not.toContain('FT-BACK-1');
  });
});

it('names the only day of a forecast once', async () => {
  const page = pages.bank;
  await page.route('**/v1/forecast*', async (asked) => {
    const response = await asked.fetch();
    const { data: told, ...rest } = (await response.json()) as { data: { days: object[] } };
    await asked.fulfill({ response, json: { ...rest, data: { ...told, days: told.days.slice(0, 1) } } });
  });
  await pageAt('bank', 'overview');
  const told = page.getByText(/ by \d+ charges?, on \w{3}, \d+ \w+ \d+\.$/);
  await expect(told.waitFor()).resolves.toBeUndefined();
  await page.unroute('**/v1/forecast*');
});
