import type { Page, Route } from 'playwright-core';
import { row, rows } from '../../src/database/pool/connection';
import { send, serveApi, tokenOf, type ServedApi } from '../support/api';
import { expectGoodPage, openBrowser, tabTo, takeProblems, type TestBrowser } from '../support/browser';
import { consoleHistory, type ConsoleHistory } from '../support/console-data';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { letMidnightPass } from '../support/midnight';
import { callerAt } from '../support/shared-api';
import { lookupIdOf, standingApproval } from '../support/standing';

/*
 * The console with something of each kind to look at. Each role signs in once. A mouse is used
 * nowhere but in the views: each step of Tab has to be seen.
 */

type Role = 'bank' | 'merchant' | 'provider';

let test: TestDatabase;
let api: ServedApi;
let browser: TestBrowser;
let data: ConsoleHistory;
let intentId: string;
let pages: Record<Role, Page>;
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

async function call(role: Role, method: string, path: string, body?: object) {
  const authorization = `Bearer ${await tokenOf(api, data.credentials[role])}`;
  return send(api.url, method, path, body, { authorization });
}

interface Credentials {
  clientId: string;
  clientSecret: string;
}

async function enter(page: Page, { clientId, clientSecret }: Credentials): Promise<void> {
  await tabTo(page.getByLabel('Client id'));
  await page.keyboard.press('Control+A');
  await page.keyboard.type(clientId);
  await tabTo(page.getByLabel('Client secret'));
  await page.keyboard.press('Control+A');
  await page.keyboard.type(clientSecret);
  await page.keyboard.press('Enter');
}

async function signedIn(role: Role, of: Pick<ConsoleHistory, 'credentials'> = data): Promise<Page> {
  const page = await browser.open(`${api.url}/console`);
  await enter(page, of.credentials[role]);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

/** The page of that role, loaded again: each view begins with the first choices. */
async function pageOf(role: Role, address: string): Promise<Page> {
  const page = pages[role];
  await page.goto('about:blank');
  await page.goto(`${api.url}/console#/${address}`);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const focused = (page: Page, what: string) => page.evaluate<string>(`document.activeElement.${what}`);
const choose = (page: Page, shown: string) => page.getByLabel('Show').selectOption({ label: shown });

async function shows(page: Page, ...texts: (string | RegExp)[]): Promise<void> {
  const main = page.locator('main');
  for (const text of texts) await main.getByText(text).filter({ visible: true }).first().waitFor();
}

/** Tab to it, and press Enter or another key there. */
async function tabAndPress(page: Page, name: string, key = 'Enter'): Promise<void> {
  await tabTo(button(page, name).or(link(page, name)));
  await page.keyboard.press(key);
}

/** By the bar on top, to the heading of the page that it leads to. */
async function goTo(page: Page, title: string): Promise<void> {
  await tabAndPress(page, title);
  const heading = page.getByRole('heading', { name: title, level: 1 });
  await heading.and(page.locator(':focus')).waitFor();
}

const exceptionState = () =>
  row(test.db, 'SELECT state, resolution FROM reconciliation_exceptions WHERE id = :exceptionId', {
    exceptionId: data.exceptionId,
  });

interface View {
  role: Role;
  at: string | (() => string);
  /** Steps before the look. */
  act?: (page: Page) => Promise<unknown>;
  /** Texts that the page has then, in the order of reading. */
  shows: (string | RegExp)[];
}

const VIEWS: Record<string, View> = {
  'the figures of a provider, with their days as a table': {
    role: 'provider',
    at: 'overview',
    act: (page) => page.getByText('The days as a table').click(),
    shows: ['Today, ', 'NGN 5.00', 'Success rate', 'Why charges were declined', 'Due in the next 30 days'],
  },
  'a month in which nothing has moved': {
    role: 'bank',
    at: 'overview',
    act: async (page) => {
      await shows(page, 'Charged', '70 %', 'Reversed', 'Not enough money');
      await button(page, 'Month before').click();
    },
    shows: ['Month after', 'This month', /Nothing was charged, declined or refunded in \w+ \d+\./],
  },
  'the month before, of a merchant whose clock runs ahead': {
    role: 'merchant',
    at: 'overview',
    act: async (page) => {
      await page.getByText(/Nothing was charged.* yet\./).waitFor();
      await button(page, 'Month before').click();
      await page.getByText('Due charges as a table').click();
    },
    shows: ['Month after', 'NGN 5.00', '5 charges', '62.5 %', 'NGN 0.30', 'Why charges were declined'],
  },
  'past due schedules of a provider': {
    role: 'provider',
    at: 'schedules',
    shows: ['Gold plan', 'NGN 1,500.00', 'Not enough money'],
  },
  'exceptions that wait, to a merchant': {
    role: 'merchant',
    at: 'exceptions',
    act: async (page) => {
      await choose(page, 'Resolved');
      await shows(page, 'Resolved', 'No money moved');
      await page.reload();
    },
    shows: ['The bank gave two different answers', 'The bank’s statement has another amount', 'Open'],
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
      'What the bank answered',
      'It approved the charge, by its transaction ',
      'It declined the charge',
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
      await button(page, 'Answer …').click();
      await expectGoodPage(page);
      await button(page, 'Yes, resolve it').click();
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
    act: async (page) => {
      await choose(page, 'Delivered');
      await shows(page, 'delivered', 'answered 200 after 7 ms');
      await choose(page, 'Being tried');
    },
    shows: ['billing.response', 'pending', '1, the last', 'HTTP 503 after 7 ms', 'Send again'],
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
      await button(page, 'Day before').click();
    },
    shows: ['in USD', 'Final', 'USD 0.00', 'nothing is owed', 'Nothing settled on this day.'],
  },
};

describe('the console', () => {
  it.each(Object.entries(VIEWS))('shows %s, to anybody', async (_, { role, at, act, shows: texts }) => {
    const page = await pageOf(role, typeof at === 'string' ? at : at());
    await act?.(page);
    await shows(page, ...texts);
    await expectGoodPage(page);
  });

  it('says what is wrong with credentials in words, and keeps no secret', async () => {
    const page = await browser.open(`${api.url}/console`);
    const merchant = data.credentials.merchant;
    await enter(page, { ...merchant, clientSecret: `sec_${'A'.repeat(43)}` });
    await page.getByRole('alert').getByText('Client id and secret do not belong together').waitFor();
    await expectGoodPage(page);
    await enter(page, merchant);
    await shows(page, 'Month before');
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, document.documentElement.outerHTML])',
    );
    expect(kept).toContain('[{},{},""');
    expect(kept).not.toContain(merchant.clientSecret);
    expect(await page.evaluate<number>('indexedDB.databases().then((all) => all.length)')).toBe(0);
  });

  it('shows a stranger nothing of a merchant’s', async () => {
    const other = await signedIn('merchant', await standingApproval(test.db, api.deps.ring));
    await shows(other, /Nothing was charged, declined or refunded/);
    await shows(other, 'No schedule will charge in this time.');
    const charged = await row<{ id: string }>(
      test.db,
      'SELECT transaction_id AS id FROM billing_requests WHERE reference = :reference',
      { reference: data.reference },
    );
    for (const id of [data.reference, charged?.id ?? '', data.deliveryId, intentId]) {
      await other.goto(`${api.url}/console#/search/${id}`);
      await shows(other, `Nothing of yours goes by “${id}”`);
    }
    await other.goto(`${api.url}/console#/exceptions/${data.exceptionId}`);
    await other.getByRole('alert').waitFor();
    await other.goto(`${api.url}/console#/exceptions`);
    await shows(other, 'No exception is open.');
    expect(await other.getByText('NGN 5.00').count()).toBe(0);
  });

  it.each(['merchant', 'bank'] as const)('says to a %s which schedule is past due, and why', async (role) => {
    const page = await pageOf(role, 'schedules');
    const told = page.getByRole('row', { name: /Gold plan.*NGN 1,500.00.*Not enough money/ });
    await told.waitFor();
    expect(await told.count()).toBe(1);
    await page.getByLabel('Show').selectOption('failed');
    await shows(page, 'There is no such schedule.');
  });

  it('leaps from the top over the bar to the content, turns months, and reads the numbers behind a chart', async () => {
    const page = await pageOf('merchant', 'overview');
    await page.keyboard.press('Tab');
    expect(await focused(page, 'textContent')).toBe('Skip to the content');
    const { y = -1 } = (await page.getByText('Skip to the content').boundingBox()) ?? {};
    expect(y).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    expect(await focused(page, 'tagName')).toBe('H1');
    await page.keyboard.press('Tab');
    expect(await focused(page, 'textContent')).toBe('Month before');
    await page.keyboard.press('Space');
    await shows(page, 'NGN 5.00');
    await tabTo(page.locator('summary', { hasText: 'The days as a table' }));
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: /each day, in NGN/ }).waitFor();
    await tabAndPress(page, 'Month after');
    await shows(page, /Nothing was charged, declined or refunded in \w+ \d+ yet\./);
  });

  it('moves a table that is wider than the screen', async () => {
    const page = await pageOf('merchant', 'webhooks');
    await page.setViewportSize({ width: 700, height: 900 });
    await shows(page, 'Send again');
    await tabTo(page.getByRole('region', { name: 'Webhook deliveries' }));
    expect(await focused(page, 'scrollLeft')).toBe(0);
    await page.keyboard.press('ArrowRight');
    await eventually(() => page.evaluate('document.activeElement.scrollLeft > 0'));
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('has a webhook of a later page sent once more, and says that it is not while there is no URL', async () => {
    await call('merchant', 'PUT', '/v1/webhooks/endpoint', { url: null });
    const page = await pageOf('merchant', 'webhooks');
    await tabTo(page.getByLabel('Show'));
    await page.keyboard.type('Failed');
    await shows(page, /Page 1 of \d/);
    await tabAndPress(page, 'Next page');
    await shows(page, 'Previous page', /Page 2 of \d/);
    const again = page.getByRole('button', { name: /^Send again: billing\.response dlv_\w+$/ }).first();
    const name = (await again.getAttribute('aria-label')) ?? '';
    await tabAndPress(page, name);
    await shows(page, /^It was not sent\. You have no webhook URL/);
    await expectGoodPage(page);
    await call('merchant', 'PUT', '/v1/webhooks/endpoint', { url: 'http://127.0.0.1:9/hook' });
    await tabAndPress(page, name);
    await shows(page, 'is sent once more.');
    const deliveryId = name.split(' ').at(-1);
    const outbox = await rows(
      test.db,
      `SELECT d.status FROM webhook_deliveries d JOIN outbox o ON o.workflow_id = 'webhook-delivery/' || d.id
       WHERE d.id = :deliveryId`,
      { deliveryId },
    );
    expect(outbox).toEqual([{ status: 'pending' }]);
  });

  it('tells what has happened to a payment, by its reference and by ids, and follows what is found', async () => {
    const page = await pageOf('merchant', 'search');
    const search = async (what: string, ...texts: (string | RegExp)[]) => {
      await tabTo(page.getByLabel('Reference or id'));
      await page.keyboard.press('Control+A');
      await page.keyboard.type(what);
      await page.keyboard.press('Enter');
      await shows(page, ...texts);
    };
    await search(` ${data.reference.toLowerCase()} `, /charge successful/, /exception opened/);
    await search(data.refundId, 'Refund of NGN 0.30', 'completed');
    await search(data.exceptionId, 'Charge of NGN 1.00');
    await search(intentId, 'The merchant asked for permission');
    await search('not-there', /Nothing of yours goes by “not-there”/);
    await search(data.scheduleId, 'Gold plan of NGN 1,500.00', 'Not enough money');
    await expectGoodPage(page);
    await tabAndPress(page, data.customerId);
    await shows(page, 'The latest transactions');
  });

  it('opens statements on the day before the clock’s, turns days, and hands out the API’s own bytes', async () => {
    const { today } = (await call('merchant', 'GET', '/v1/summary')).body.data as { today: string };
    expect(Date.parse(today) - Date.now()).toBeGreaterThan(7 * 86_400_000);
    const page = await pageOf('merchant', 'statements');
    const day = page.getByLabel('Settlement day');
    const yesterday = new Date(Date.parse(today) - 86_400_000).toISOString().slice(0, 10);
    expect(await day.inputValue()).toBe(yesterday);
    await tabTo(day);
    // The same in browsers that ask for the day first, and for the month.
    await page.keyboard.type('10102025');
    await shows(page, 'Statement of Fri, 10 Oct 2025 in NGN');
    await tabAndPress(page, 'Day before', 'Space');
    await shows(page, 'Statement of Thu, 9 Oct 2025 in NGN');
    await tabAndPress(page, 'Day after');
    await shows(page, 'Statement of Fri, 10 Oct 2025 in NGN');
    await day.fill(data.day);
    await page.getByRole('table', { name: 'Net positions of the day' }).waitFor();
    const arrives = page.waitForEvent('download');
    await tabAndPress(page, 'Download its lines as CSV');
    const download = await arrives;
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const own = await callerAt(api, data.credentials.merchant).file(`/v1/statements/${data.day}.csv`);
    expect(Buffer.concat(chunks).toString()).toBe(own);
    expect(download.suggestedFilename()).toBe(`statement-${data.day}-NGN.csv`);
  });

  it('has a bank answer an exception once it is sure, by Escape not yet, and resolves it', async () => {
    const page = await pageOf('bank', 'exceptions');
    await tabAndPress(page, 'The bank gave two different answers');
    await shows(page, 'What became of the money?');
    await tabTo(page.getByLabel('No money moved'));
    await page.keyboard.press('Space');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await page.getByLabel('Our first answer stands').isChecked()).toBe(true);
    await tabAndPress(page, 'Answer …');
    const dialog = page.getByRole('dialog', { name: 'Is that so?' });
    await dialog.waitFor();
    expect(await focused(page, 'textContent')).toBe('Yes, resolve it');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await focused(page, 'textContent')).toBe('Answer …');
    await page.keyboard.press('Enter');
    await tabAndPress(page, 'No, go back');
    expect(await focused(page, 'textContent')).toBe('Answer …');
    expect(await exceptionState()).toEqual({ state: 'open', resolution: null });
    await page.keyboard.press('Enter');
    await dialog.waitFor();
    await page.keyboard.press('Enter');
    await shows(page, 'It is resolved: Our first answer stands.', 'It was resolved');
    expect(await exceptionState()).toEqual({ state: 'resolved', resolution: 'confirmed' });
    expect(takeProblems(page)).toEqual([]);
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

  it('keeps an amount in one line on a phone, where half of it would be another', async () => {
    const page = pages.provider;
    await page.setViewportSize({ width: 390, height: 740 });
    await page.route('**/v1/summary*', async (asked) => {
      const response = await asked.fetch();
      const body = (await response.text()).replaceAll(/"amount":[\d.]+/g, '"amount":330803.5');
      await asked.fulfill({ response, body });
    });
    await pageOf('provider', 'overview');
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
});

/** As the style sheet has them now: `#0b57b8`. */
const COLOURS_OF_BARS = `() => ['--accent', '--bad'].map(
  (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim(),
)`;
/** The number of a chart's pixels in one of these colours. */
const PAINTED = `(n) => {
  const canvas = document.querySelectorAll('.chart canvas')[n];
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const colours = (${COLOURS_OF_BARS})().map((hex) => parseInt(hex.slice(1) + 'ff', 16));
  const pixels = new DataView(data.buffer);
  return data.filter((_, at) => at % 4 === 0 && colours.includes(pixels.getUint32(at))).length;
}`;

describe('a session of the console', () => {
  it('that is over asks who one is, and goes on where one was, also after the page is loaded again', async () => {
    const page = await pageOf('provider', 'schedules');
    await page.context().clearCookies();
    await tabAndPress(page, 'Statements');
    await page.getByText('Your session has ended. Sign in again to go on where you were.').waitFor();
    await enter(page, data.credentials.provider);
    await page.getByRole('heading', { name: 'Statements', level: 1 }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Statements', level: 1 }).waitFor();
    expect(takeProblems(page)).toEqual([]);
  });

  it('opens at an address with a broken id, and leaves no figures where nobody sits', async () => {
    const page = await browser.open(`${api.url}/console#/search/%`);
    await page.clock.install();
    await page.reload();
    await enter(page, data.credentials.provider);
    await page.getByLabel('Reference or id').waitFor();
    const forecastAsked = new Promise<Route>((hold, fail) => {
      page.route('**/v1/forecast**', hold, { times: 1 }).catch(fail);
    });
    await page.getByRole('link', { name: 'Overview' }).click();
    await shows(page, 'NGN 5.00');
    await page.clock.fastForward('29:00');
    expect(await page.getByText('NGN 5.00').count()).toBeGreaterThan(0);
    // A call of half an hour ago is no sign that somebody sits there now.
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await (await forecastAsked).continue();
    await page.getByText('Loading the forecast …').waitFor({ state: 'hidden' });
    expect(asked).not.toContain('/console/session');
    await page.clock.fastForward('01:01');
    await page.getByText('Your session has ended. Sign in again to go on where you were.').waitFor();
    expect(await page.getByText('NGN 5.00').count()).toBe(0);
  });

  it('says that the service is away, and what to do: at its beginning, in between, and at its end', async () => {
    const page = await browser.open('about:blank');
    const session = '**/console/session';
    await page.route(session, (asked) => asked.abort());
    await page.goto(`${api.url}/console`);
    await page.getByRole('alert').getByText('The service cannot be reached').waitFor();
    await expectGoodPage(page);
    await page.unroute(session);
    await button(page, 'Try again').click();
    await enter(page, data.credentials.merchant);
    await shows(page, 'Month before');

    await goTo(page, 'Schedules');
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Overview' }).click();
    await shows(page, /The month could not be loaded. The service cannot be reached/);
    await page.context().setOffline(false);
    await button(page, 'Try again').first().click();
    await page.getByText(/The month could not be loaded/).waitFor({ state: 'hidden' });

    await page.context().setOffline(true);
    await tabAndPress(page, 'Sign out');
    await page
      .getByRole('alert')
      .getByText('You are still signed in. The service cannot be reached')
      .waitFor();
    await page.context().setOffline(false);
    await tabAndPress(page, 'Sign out');
    await page.getByLabel('Client id').waitFor();
    expect((await page.context().cookies()).map(({ value }) => value).join('')).toBe('');
    await page.reload();
    await page.getByLabel('Client id').waitFor();
    expect(takeProblems(page)).toEqual([]);
  });
});
