import type { Page } from 'playwright-core';
import { send, serveApi, tokenOf, type ServedApi } from '../support/api';
import { expectGoodPage, openBrowser, type TestBrowser } from '../support/browser';
import { consoleHistory, type ConsoleHistory } from '../support/console-data';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { letMidnightPass } from '../support/midnight';

/* Whatever the console can show, anybody can use. Each role is signed in once, and looks around. */

type Role = 'bank' | 'merchant' | 'provider';

let test: TestDatabase;
let api: ServedApi;
let browser: TestBrowser;
let data: ConsoleHistory;
beforeAll(async () => {
  // A day that is not over is one of the views.
  await letMidnightPass(2);
  test = await createTestDatabase();
  api = await serveApi(test.db, { settings: { ACCEPTED_CURRENCIES: 'NGN,USD' } });
  [browser, data] = await Promise.all([openBrowser(), consoleHistory(test.db, api)]);
});
afterAll(async () => {
  await browser.close();
  await api.close();
  await test.drop();
});

const pages = new Map<Role, Page>();

/** The only page of that role, loaded anew: each view begins with what is chosen at first. */
async function pageOf(role: Role, address: string): Promise<Page> {
  const page = pages.get(role) ?? (await browser.open('about:blank'));
  await page.goto('about:blank');
  await page.goto(`${api.url}/console#/${address}`);
  if (!pages.has(role)) await enter(page, data.credentials[role]);
  pages.set(role, page);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

async function enter(page: Page, { clientId, clientSecret }: { clientId: string; clientSecret: string }) {
  await page.getByLabel('Client id').fill(clientId);
  await page.getByLabel('Client secret').fill(clientSecret);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const choose = (page: Page, shown: string) => page.getByLabel('Show').selectOption({ label: shown });

interface View {
  role: Role;
  at: string | (() => string);
  /** What somebody does there first. */
  act?: (page: Page) => Promise<unknown>;
  /** What is there then, in the order of reading. */
  shows: (string | RegExp)[];
}

const VIEWS: Record<string, View> = {
  'the figures of a provider, with their days as a table': {
    role: 'provider',
    at: 'overview',
    act: (page) => page.getByText('The days as a table').click(),
    shows: ['Today, ', 'NGN 5.00', 'Success rate', 'Why charges were declined', 'Due in the next 30 days'],
  },
  'the figures of a bank': {
    role: 'bank',
    at: 'overview',
    shows: ['Today, ', 'Charged', '70 %', 'Reversed', 'Not enough money'],
  },
  'a month in which nothing has moved': {
    role: 'bank',
    at: 'overview',
    act: (page) => press(page, 'Month before'),
    shows: ['Month after', 'This month', /Nothing was charged, declined or refunded in \w+ \d+\./],
  },
  'the month before, of a merchant whose clock runs ahead': {
    role: 'merchant',
    at: 'overview',
    act: async (page) => {
      await page.getByText(/Nothing was charged.* yet\./).waitFor();
      await press(page, 'Month before');
      await page.getByText('The days as a table').click();
    },
    shows: ['Month after', 'NGN 5.00', '62.5 %', 'NGN 0.30', 'Why charges were declined'],
  },
  'the month after that again': {
    role: 'merchant',
    at: 'overview',
    act: async (page) => {
      await press(page, 'Month before');
      await press(page, 'Month after');
    },
    shows: [/Nothing was charged, declined or refunded in \w+ \d+ yet\./],
  },
  'past due schedules of a bank': {
    role: 'bank',
    at: 'schedules',
    shows: ['Gold plan', 'NGN 1,500.00', 'Not enough money'],
  },
  'exceptions that wait, to a merchant': {
    role: 'merchant',
    at: 'exceptions',
    shows: ['The bank gave two different answers', 'The bank’s statement has another amount', 'Open'],
  },
  'exceptions that are resolved': {
    role: 'merchant',
    at: 'exceptions',
    act: (page) => choose(page, 'Resolved'),
    shows: ['The bank gave two different answers', 'Resolved', 'No money moved'],
  },
  'an exception that another has to answer': {
    role: 'merchant',
    at: () => `exceptions/${data.exceptionId}`,
    shows: [
      'State',
      'open',
      'It was opened',
      'The payer’s bank, or the network’s operator, says what became',
    ],
  },
  'an exception that is resolved': {
    role: 'bank',
    at: () => `exceptions/${data.resolvedId}`,
    shows: [
      'resolved No money moved',
      'Resolved',
      'What the bank answered',
      'It approved the charge, by its transaction ',
      'It declined the charge',
      'What has happened',
      'It was resolved',
    ],
  },
  'an exception about a transaction that is unknown here': {
    role: 'bank',
    at: () => `exceptions/${data.unknownId}`,
    shows: ['On the bank’s statement, and not here', 'FT-UNKNOWN-1', 'What became of the money?'],
  },
  'an answer that is refused': {
    role: 'bank',
    at: () => `exceptions/${data.exceptionId}`,
    act: async (page) => {
      await page.getByLabel('The money moved, and we have taken it back').check();
      await page.getByLabel('Your transaction that took it back').fill(data.bankTransactionId);
      await press(page, 'Answer …');
      await press(page, 'Yes, resolve it');
      await page.getByRole('alert').waitFor();
    },
    shows: ['open', 'What became of the money?', 'belongs to another transaction of yours'],
  },
  'an exception that nobody has': {
    role: 'bank',
    at: 'exceptions/exc_none',
    shows: ['All exceptions', 'The exception could not be loaded.', 'Try again'],
  },
  'a bank’s statement': {
    role: 'bank',
    at: () => `search/${data.statementId}`,
    shows: ['Statement of yours', 'completed', 'Unknown here', 'All of it was compared', 'Download its diff'],
  },
  'a charge, by its bank’s own id': {
    role: 'bank',
    at: () => `search/${data.bankTransactionId}`,
    shows: ['Charge of NGN 1.00', 'Refunded of it', 'NGN 0.40', 'What has happened'],
  },
  'a refund': {
    role: 'bank',
    at: () => `search/${data.refundId}`,
    shows: ['Refund of NGN 0.30', 'completed', 'What has happened'],
  },
  'what a customer has paid': {
    role: 'merchant',
    at: () => `search/${data.customerId}`,
    shows: ['The latest transactions', 'refund', 'charge', 'NGN 1.00'],
  },
  'a webhook with its attempts': {
    role: 'merchant',
    at: () => `search/${data.deliveryId}`,
    shows: ['Webhook billing.response', 'pending', 'It was announced to you', 'HTTP 503 after 7 ms'],
  },
  'webhooks that are being tried': {
    role: 'merchant',
    at: 'webhooks',
    act: (page) => choose(page, 'Being tried'),
    shows: ['billing.response', 'pending', '1, the last', 'HTTP 503 after 7 ms', 'Send again'],
  },
  'webhooks that arrived': {
    role: 'merchant',
    at: 'webhooks',
    act: (page) => choose(page, 'Delivered'),
    shows: ['delivered', 'answered 200 after 7 ms'],
  },
  'the second page of the webhooks': {
    role: 'merchant',
    at: 'webhooks',
    act: async (page) => {
      await choose(page, 'Failed');
      await page.getByText(/Page 1 of \d/).waitFor();
      await press(page, 'Next page');
    },
    shows: ['failed', 'None', 'Previous page', /Page 2 of \d/],
  },
  'webhooks of which there are none': {
    role: 'provider',
    at: 'webhooks',
    act: (page) => choose(page, 'Delivered'),
    shows: ['There is no such delivery of the last days.'],
  },
  'a final day of a merchant': {
    role: 'merchant',
    at: 'statements',
    act: (page) => page.getByLabel('Settlement day').fill(data.day),
    shows: ['Final', 'Closing balance', 'Download its lines as CSV', 'SHA-256 of the CSV', 'You owe it'],
  },
  'a day of a bank that goes on': {
    role: 'bank',
    at: 'statements',
    act: (page) => page.getByLabel('Settlement day').fill(data.day),
    shows: ['Not final yet', 'Payments to customers', 'you owe the network', 'You owe it'],
  },
  'a day of a provider in another currency, and the one before': {
    role: 'provider',
    at: 'statements',
    act: async (page) => {
      await page.getByLabel('Settlement day').fill(data.day);
      await page.getByLabel('Currency').selectOption('USD');
      await press(page, 'Day before');
    },
    shows: ['in USD', 'Final', 'USD 0.00', 'nothing is owed', 'Nothing settled on this day.'],
  },
};

it.each(Object.entries(VIEWS))('shows %s, to anybody', async (_, { role, at, act, shows }) => {
  const page = await pageOf(role, typeof at === 'string' ? at : at());
  await act?.(page);
  for (const text of shows) {
    await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
  }
  await expectGoodPage(page);
});

it('opens statements on the day before that of the test clock', async () => {
  const authorization = `Bearer ${await tokenOf(api, data.credentials.merchant)}`;
  const summary = await send(api.url, 'GET', '/v1/summary', undefined, { authorization });
  const today = String(summary.body.data?.['today']);
  expect(Date.parse(today) - Date.now()).toBeGreaterThan(7 * 86_400_000);
  const page = await pageOf('merchant', 'statements');
  const yesterday = new Date(Date.parse(today) - 86_400_000).toISOString().slice(0, 10);
  expect(await page.getByLabel('Settlement day').inputValue()).toBe(yesterday);
});

it('draws its charts, in the colours of the light and of the dark', async () => {
  const page = await pageOf('bank', 'overview');
  const charts = page.locator('.chart canvas');
  await charts.nth(1).waitFor();
  expect(await charts.count()).toBe(2);
  const colours = new Set<string>();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    colours.add(await page.evaluate<string>(`(${COLOURS_OF_BARS})().join(' ')`));
    // The axes alone have none of it; the least of these bars has a thousand.
    for (const n of [0, 1]) await eventually(() => page.evaluate(`(${PAINTED})(${n}) > 500`));
  }
  expect(colours.size).toBe(2);
  await page.emulateMedia({ colorScheme: null });
});

/** As the style sheet has them now: `#0b57b8`. */
const COLOURS_OF_BARS = `() => ['--accent', '--bad'].map(
  (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim(),
)`;
/** How many pixels of a chart have one of these. */
const PAINTED = `(n) => {
  const canvas = document.querySelectorAll('.chart canvas')[n];
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const colours = (${COLOURS_OF_BARS})().map((hex) => parseInt(hex.slice(1) + 'ff', 16));
  const pixels = new DataView(data.buffer);
  return data.filter((_, at) => at % 4 === 0 && colours.includes(pixels.getUint32(at))).length;
}`;

it('keeps an amount in one line on a phone, where half of it would be another', async () => {
  const page = await pageOf('provider', 'overview');
  await page.setViewportSize({ width: 390, height: 740 });
  await page.route('**/v1/summary*', async (call) => {
    const response = await call.fetch();
    const body = (await response.text()).replaceAll(/"amount":[\d.]+/g, '"amount":330803.5');
    await call.fulfill({ response, body });
  });
  await page.reload();
  await page.getByText('NGN 330,803.50').first().waitFor();
  const lines = await page.evaluate<number[]>(
    `[...document.querySelectorAll('.figures dd')].map((figure) => {
      const amount = document.createRange();
      amount.selectNode(figure.firstChild);
      return new Set([...amount.getClientRects()].map(({ top }) => top)).size;
    })`,
  );
  expect(lines.length).toBeGreaterThan(4);
  expect([...new Set(lines)]).toEqual([1]);
  await page.unroute('**/v1/summary*');
  await page.setViewportSize({ width: 1280, height: 900 });
});

it('says that a secret is wrong', async () => {
  const page = await browser.open(`${api.url}/console`);
  await enter(page, { ...data.credentials.merchant, clientSecret: `sec_${'A'.repeat(43)}` });
  await page.getByRole('alert').getByText('Client id and secret do not belong together').waitFor();
  await expectGoodPage(page);
  await page.close();
});

it('tries again on demand where the service was away when the page was opened', async () => {
  const page = await browser.open('about:blank');
  const session = '**/console/session';
  await page.route(session, (call) => call.abort());
  await page.goto(`${api.url}/console`);
  await page.getByRole('alert').getByText('The service cannot be reached').waitFor();
  await expectGoodPage(page);
  await page.unroute(session);
  await press(page, 'Try again');
  await page.getByLabel('Client id').waitFor();
  await page.close();
});

it('says that somebody who wanted to sign out is still signed in, and signs out then', async () => {
  const page = await pageOf('provider', 'webhooks');
  await page.context().setOffline(true);
  await press(page, 'Sign out');
  await page.getByRole('alert').getByText('You are still signed in. The service cannot be reached').waitFor();
  await page.context().setOffline(false);
  await expectGoodPage(page);
  await press(page, 'Sign out');
  await page.getByLabel('Client id').waitFor();
  expect((await page.context().cookies()).map(({ value }) => value).join('')).toBe('');
});
