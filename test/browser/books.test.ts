import type { Page } from 'playwright-core';
import { serveApi, type ServedApi } from '../support/api';
import { expectGoodPage, openBrowser, type TestBrowser } from '../support/browser';
import { consoleHistory, type ConsoleHistory } from '../support/console-data';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { letMidnightPass } from '../support/midnight';

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
});
