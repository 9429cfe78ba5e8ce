import type { Page, Route } from 'playwright-core';
import { send, serveApi, tokenOf, type ServedApi } from '../support/api';
import { expectGoodPage, openBrowser, tabTo, takeProblems, type TestBrowser } from '../support/browser';
import { consoleHistory, type ConsoleHistory } from '../support/console-data';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { letMidnightPass } from '../support/midnight';
import { recordOutcome } from '../support/record-outcome';
import { answerBill, charge } from '../support/settled';
import { callerAt } from '../support/shared-api';
import { lookupIdOf, standingApproval } from '../support/standing';
import { raw } from '../../src/database/pool/statement';

/*
 * The console with something of each kind to look at. Each role signs in once. A mouse is used in
 * the views and for a team's daily work alone: elsewhere each step of Tab has to be seen.
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
const searchField = (page: Page) => page.getByLabel(/^Search by reference/);
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

async function savedFile(page: Page, press: () => Promise<unknown>): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([page.waitForEvent('download'), press()]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  return { name: download.suggestedFilename(), text: Buffer.concat(chunks).toString() };
}

async function loseAnswer(asked: Route): Promise<void> {
  await asked.fetch();
  await asked.abort();
}

const exceptionState = () =>
  test.db.row`
  SELECT state, resolution FROM reconciliation_exceptions WHERE id = ${data.exceptionId}`;

const ANY_ID = /(?<![\w-])(?:bnk|brq|cus|dlv|exc|mch|prv|txn)_/;

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
      'An exception was opened',
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
      'The exception was resolved',
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
      await button(page, 'Answer …').click();
      await page.getByLabel('The money moved, and we have taken it back').check();
      await page.getByLabel('Your transaction that took it back').fill(data.bankTransactionId);
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
    at: () => `payments/${data.statementId}`,
    shows: ['Statement of yours', 'completed', 'Unknown here', 'All of it was compared', 'Download its diff'],
  },
  'a charge, by its bank’s own id': {
    role: 'bank',
    at: 'payments',
    act: async (page) => {
      await searchField(page).fill(data.bankTransactionId);
      await searchField(page).press('Enter');
      await page.getByText('Clear “').waitFor();
      await link(page, 'NGN 1.00').click();
    },
    shows: ['Charge', 'NGN 1.00', 'Successful', 'Ada Obi', 'Refund in part', 'NGN 0.40'],
  },
  'what a customer has paid': {
    role: 'merchant',
    at: () => `payments/${data.customerId}`,
    shows: ['One customer', 'Moved your balance by', 'Refund', 'Charge', 'NGN 1.00', 'Refund in part'],
  },
  'payments of a bank by the name of its customer': {
    role: 'bank',
    at: 'payments',
    act: async (page) => {
      await searchField(page).fill('obi ada');
      await searchField(page).press('Enter');
      await page.getByText('Clear “obi ada”').waitFor();
      await choose(page, 'Declined charges');
    },
    shows: ['Clear all filters', 'Ada Obi', 'Not enough money', 'Merchant'],
  },
  'payments of a provider that nothing matches': {
    role: 'provider',
    at: 'payments?type=charge&reason=expired&amountFrom=5&currency=NGN&from=2026-01-01&to=2026-01-02',
    shows: ['Show', 'From', 'To', 'Amount from', 'No payment of yours matches all of this.'],
  },
  'the story of a charge in doubt, with both answers and what can be done': {
    role: 'merchant',
    at: () => `payments/${data.reference}`,
    act: async (page) => {
      await button(page, 'Refund …').click();
      await page.getByRole('dialog', { name: 'Refund this charge?' }).waitFor();
      await expectGoodPage(page);
      await page.keyboard.press('Escape');
      for (const more of ['Every step in real time, with ids', 'Ids']) {
        await page.getByText(more, { exact: true }).first().click();
      }
      await page.locator('.part summary').first().click();
    },
    shows: [
      'NGN 1.00',
      'to Merchant',
      'The bank gave two different answers',
      'It approved the charge',
      'It declined the charge',
      'What has happened',
      'the money moved',
      'charge successful',
      'Details',
      'What you were told by webhook',
      'billing.response',
      '"webhookType": "billing.response"',
    ],
  },
  'why the charge of a schedule was declined': {
    role: 'provider',
    at: 'payments?status=declined&type=charge',
    act: (page) => link(page, 'NGN 1,500.00').click(),
    shows: [
      'Declined',
      'Pause its schedule',
      'Not enough money.',
      'The bank found too little money',
      'its schedule',
    ],
  },
  'a customer of a bank': {
    role: 'bank',
    at: 'customers',
    act: async (page) => {
      await page.getByLabel(/^Name, e-mail address/).fill('obi');
      await page.getByLabel(/^Name, e-mail address/).press('Enter');
      await expectGoodPage(page);
      await link(page, 'Ada Obi').click();
    },
    shows: ['All customers', 'Ada Obi', 'ada@example.test', 'Whom the customer lets charge', 'Gold plan'],
  },
  'a schedule, to the bank of its customer': {
    role: 'bank',
    at: () => `schedules/${data.scheduleId}`,
    shows: [
      'Gold plan',
      'NGN 1,500.00',
      'Past due',
      'from Ada Obi to Merchant',
      'Cancel its schedule',
      'Not enough',
    ],
  },
  'a webhook with its attempts': {
    role: 'merchant',
    at: () => `webhooks/${data.deliveryId}`,
    shows: [
      'All webhooks',
      'billing.response',
      'Pending',
      'HTTP 503 after 7 ms',
      '"webhookType": "billing.response"',
    ],
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

  it.each(['merchant', 'provider', 'bank'] as const)(
    'names to a %s with whom its lists are, and shows ids behind a click',
    async (role) => {
      const page = await pageOf(role, 'exceptions');
      const party = role === 'merchant' ? 'Bank' : 'Merchant';
      const cell = (name: string) => page.getByRole('cell', { name, exact: true }).first();
      const expectNoId = async () => expect(await page.locator('main').innerText()).not.toMatch(ANY_ID);
      await cell(role === 'provider' ? 'Merchant Bank' : party).waitFor();
      await expectNoId();
      await page.getByRole('link', { name: 'The bank gave two different answers' }).first().click();
      await shows(page, party, 'What has happened');
      await expectNoId();
      await page.getByText('Ids', { exact: true }).click();
      await shows(page, /^exc_/);

      await goTo(page, 'Statements');
      await page.getByLabel('Settlement day').fill(data.day);
      await cell(role === 'bank' ? 'Merchant' : 'Bank').waitFor();
      await expectNoId();
    },
  );

  it('shows a stranger nothing of a merchant’s', async () => {
    const other = await signedIn('merchant', await standingApproval(test.db));
    await shows(other, /Nothing was charged, declined or refunded/);
    await shows(other, 'No schedule will charge in this time.');
    const charged = await test.db.row<{ id: string }>`
      SELECT transaction_id AS id FROM billing_requests WHERE reference = ${data.reference}`;
    for (const id of [data.reference, charged?.id ?? '', intentId]) {
      await other.goto(`${api.url}/console#/payments/${id}`);
      await shows(other, `Nothing of yours goes by “${id}”`);
    }
    for (const place of [`exceptions/${data.exceptionId}`, `webhooks/${data.deliveryId}`]) {
      await other.goto(`${api.url}/console#/${place}`);
      await other.getByRole('alert').waitFor();
      await other.goto(`${api.url}/console#/overview`);
    }
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
    await pages.merchant.route('**/v1/webhooks/deliveries*', async (asked) => {
      const response = await asked.fetch();
      const body = (await response.text()).replaceAll('billing.response', 'billing.response'.repeat(5));
      await asked.fulfill({ response, body });
    });
    const page = await pageOf('merchant', 'webhooks');
    await page.setViewportSize({ width: 700, height: 900 });
    await shows(page, 'Send again');
    await tabTo(page.getByRole('region', { name: 'Webhook deliveries' }));
    expect(await focused(page, 'scrollLeft')).toBe(0);
    await page.keyboard.press('ArrowRight');
    await eventually(() => page.evaluate('document.activeElement.scrollLeft > 0'));
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.unroute('**/v1/webhooks/deliveries*');
  });

  it('has a webhook of a later page sent once more, and says that it is not while there is no URL', async () => {
    await call('merchant', 'PUT', '/v1/webhooks/endpoint', { url: null });
    const page = await pageOf('merchant', 'webhooks');
    await tabTo(page.getByLabel('Show'));
    const failed = page.waitForResponse(/status=failed/);
    await page.keyboard.type('Failed');
    await failed;
    await shows(page, /1–20 of \d/);
    await tabAndPress(page, 'Next page');
    await shows(page, 'Previous page', /21–\d+ of \d/);
    const again = page.getByRole('button', { name: /^Send again: billing\.response dlv_\w+$/ }).first();
    const name = (await again.getAttribute('aria-label')) ?? '';
    await tabAndPress(page, name);
    await tabAndPress(page, 'Yes, send it');
    await page.getByRole('alert').getByText('You have no webhook URL').waitFor();
    await expectGoodPage(page);
    await page.keyboard.press('Escape');
    await call('merchant', 'PUT', '/v1/webhooks/endpoint', { url: 'http://127.0.0.1:9/hook' });
    await tabAndPress(page, name);
    await tabAndPress(page, 'Yes, send it');
    await shows(page, 'is sent once more.');
    const deliveryId = name.split(' ').at(-1);
    const outbox = await test.db.rows`
      SELECT d.status FROM webhook_deliveries d JOIN outbox o ON o.workflow_id = 'webhook-delivery/' || d.id
      WHERE d.id = ${deliveryId}`;
    expect(outbox).toEqual([{ status: 'pending' }]);
  });

  it('finds whatever goes by a reference or an id, and follows what is found', async () => {
    const page = await pageOf('merchant', 'payments');
    const search = async (what: string, ...texts: (string | RegExp)[]) => {
      if (!/#\/payments(\?|$)/.test(page.url())) await goTo(page, 'Payments');
      await tabTo(searchField(page));
      await page.keyboard.press('Control+A');
      await page.keyboard.type(what);
      await page.keyboard.press('Enter');
      await shows(page, ...texts);
    };
    await search(` ${data.reference.toLowerCase()} `, 'Successful', /An exception was opened/);
    await search(data.refundId, 'Refund', 'NGN 0.30', 'Completed');
    await search(data.exceptionId, 'The bank gave two different answers');
    await search(intentId, 'The merchant asked for permission');
    await search('int_nobodys', /Nothing of yours goes by “int_nobodys”/);
    await search(data.deliveryId, 'All webhooks', 'HTTP 503 after 7 ms');
    await tabAndPress(page, data.chargeId);
    await shows(page, 'What has happened');
    await search(data.scheduleId, 'Gold plan', 'NGN 1,500.00', 'Not enough money');
    await expectGoodPage(page);
    await tabAndPress(page, 'All that it has charged');
    await shows(page, 'One schedule', 'NGN 1,500.00');
    await search('shoes', 'Clear “shoes”', 'Shoes');
    expect(page.url()).not.toContain('shoes');
    await tabAndPress(page, 'Clear “shoes”');
  });

  it('opens from each figure, bar and reason of the overview just the payments that it counts', async () => {
    const page = await pageOf('bank', 'overview');
    const counted = async (name: string) => {
      const figure = page.locator('.figures > div', { has: page.getByText(name, { exact: true }) }).last();
      const [count = ''] = /\d+/.exec(await figure.locator('small').innerText()) ?? [];
      await figure.getByRole('link').click();
      const total = page.locator('.totals > div').filter({ hasText: 'Payments' }).locator('dd');
      await total.filter({ hasText: new RegExp(`^${count}$`) }).waitFor();
      await page.goBack();
      await figure.waitFor();
    };
    for (const name of ['Charged', 'Declined', 'Refunded', 'Reversed', 'Success rate']) await counted(name);
    await link(page, 'Not enough money').click();
    await shows(page, 'Clear all filters', 'Payments by customers only');
    expect(await page.getByLabel('Reason').inputValue()).toBe('insufficient_funds');
    await page.goBack();
    const bar = page.locator('.chart.picked .u-over').first();
    const days = Number((await page.getByText('Today, ').innerText()).split(' ')[2]);
    // The chart is drawn anew as its figures arrive. Today's bar is the last.
    await eventually(async () => {
      const { width = 0, height = 0 } = (await bar.boundingBox({ timeout: 1_000 }).catch(() => null)) ?? {};
      const position = { x: width * (1 - 0.75 / days), y: height - 3 };
      await bar.click({ position, timeout: 1_000 }).catch(() => undefined);
      return page.getByText('Clear all filters').isVisible();
    });
    const chosen = ['Show', 'When', 'Counted by'].map((name) => page.getByLabel(name).inputValue());
    expect(await Promise.all(chosen)).toEqual(['successful', 'today', 'settled']);
  });

  it('narrows payments to a merchant that a provider chooses by the beginning of its name', async () => {
    const merchants = ['Merry Shop', 'Salt'].map((name) => ({
      name,
      email: 'shop@example.test',
      clientRef: name,
    }));
    await call('provider', 'POST', '/v1/provider/merchants', { merchants });
    const page = await pageOf('provider', 'payments');
    const field = page.getByRole('combobox', { name: 'Merchant', exact: true });
    const offered = page.getByRole('listbox', { name: 'Merchants' }).getByRole('option');
    const offers = (...names: string[]) =>
      eventually(async () => (await offered.allTextContents()).join() === names.join());
    const holds = (name: string) => eventually(async () => (await field.inputValue()) === name);
    await tabTo(field);
    await page.keyboard.type('MER');
    await offers('Merchant', 'Merry Shop');
    await expectGoodPage(page);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await shows(page, 'No payment of yours matches all of this.');
    await holds('Merry Shop');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('merc');
    await offers('Merchant');
    await page.keyboard.press('Enter');
    await shows(page, 'Gold plan', 'to Merchant');
    await page.reload();
    await holds('Merchant');
    await tabTo(field);
    await page.keyboard.press('ArrowDown');
    await offers('Any', 'Merchant', 'Merry Shop', 'Salt');
    await page.keyboard.press('Escape');
    await offers();
    expect(page.url()).toContain(data.merchantId);
    await page.keyboard.press('ArrowDown');
    await offers('Any', 'Merchant', 'Merry Shop', 'Salt');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => !url.href.includes(data.merchantId));
  });

  it('goes from page to page of payments, and saves all that the filter finds as the API’s own lines', async () => {
    const page = await pageOf('bank', 'payments?type=charge');
    const first = page.getByRole('table', { name: 'Payments' }).getByRole('link').first();
    await first.waitFor();
    const saved = await savedFile(page, () => tabAndPress(page, 'Download as CSV'));
    const body = { type: 'charge', format: 'csv' };
    const own = await call('bank', 'POST', '/v1/transaction-history/search', body);
    const { today } = (await call('bank', 'GET', '/v1/summary')).body.data as { today: string };
    // Without the mark at its beginning a spreadsheet takes it for another alphabet.
    const text = `\uFEFF${own.body as unknown as string}`;
    expect(saved).toEqual({ name: `bank-all-charges-created-to-${today}.csv`, text });

    // As long a list as any other, a row on each page.
    await page.route('**/v1/transaction-history/search', async (asked) => {
      const sent = asked.request().postDataJSON() as object;
      await asked.continue({ postData: JSON.stringify({ ...sent, limit: 1 }) });
    });
    await page.reload();
    await first.waitFor();
    const before = await first.getAttribute('href');
    await tabAndPress(page, 'Next page');
    const charges = text.trimEnd().split('\r\n').length - 1;
    await shows(page, `2 of ${charges}`);
    await eventually(async () => (await first.getAttribute('href')) !== before);
    await tabAndPress(page, 'Previous page');
    await shows(page, `1 of ${charges}`);
    await eventually(async () => (await first.getAttribute('href')) === before);
    await page.unroute('**/v1/transaction-history/search');
  });

  it('says of totals that they are of a part, where more payments match than are added up', async () => {
    const totals = '**/v1/transaction-history/totals';
    const page = await pageOf('bank', 'payments');
    await shows(page, 'Payments');
    await page.route(totals, async (asked) => {
      const response = await asked.fetch();
      const { data: all } = (await response.json()) as { data: object };
      await asked.fulfill({ response, json: { data: { ...all, countIsMinimum: true } } });
    });
    await page.reload();
    await shows(page, 'Only a part: narrow the filter for all');
    expect(await page.getByLabel('Totals of these payments').innerText()).toMatch(/^\d+\+$/m);
    await page.unroute(totals);
  });

  it('keeps what a bank searches for out of every address', async () => {
    const asked: string[] = [];
    const page = await pageOf('bank', 'payments');
    const note = (request: { url(): string }) => void asked.push(request.url());
    page.on('request', note);
    await searchField(page).fill('obi ada');
    await searchField(page).press('Enter');
    await shows(page, 'Clear “obi ada”', 'Ada Obi');
    await link(page, 'Customers').click();
    const searched = page.waitForRequest((one) => one.postData()?.includes('obi ada') === true);
    await page.getByLabel(/^Name, e-mail address/).fill('obi ada');
    await page.getByLabel(/^Name, e-mail address/).press('Enter');
    await searched;
    await shows(page, 'Ada Obi');
    page.off('request', note);
    expect(asked.map((url) => new URL(url).pathname)).toEqual(
      expect.arrayContaining([
        '/console/api/v1/transaction-history/search',
        '/console/api/v1/bank/customers/search',
      ]),
    );
    expect([...asked, page.url()].filter((url) => /obi|ada/i.test(decodeURIComponent(url)))).toEqual([]);
    await link(page, 'Payments').click();
    await button(page, 'Clear “obi ada”').click();
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
    const saved = await savedFile(page, () => tabAndPress(page, 'Download its lines as CSV'));
    const own = await callerAt(api, data.credentials.merchant).file(`/v1/statements/${data.day}.csv`);
    expect(saved).toEqual({ name: `statement-${data.day}-NGN.csv`, text: own });
  });

  it('has a bank answer an exception once it is sure, by Escape not yet, and resolves it', async () => {
    const page = await pageOf('bank', 'exceptions');
    await tabAndPress(page, 'The bank gave two different answers');
    await shows(page, 'What became of the money?');
    await tabAndPress(page, 'Answer …');
    const dialog = page.getByRole('dialog', { name: 'Resolve the exception of' });
    await dialog.waitFor();
    await tabTo(page.getByLabel('No money moved'));
    await page.keyboard.press('Space');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await focused(page, 'textContent')).toBe('Answer …');
    await page.keyboard.press('Enter');
    await tabAndPress(page, 'No, go back');
    expect(await focused(page, 'textContent')).toBe('Answer …');
    expect(await exceptionState()).toEqual({ state: 'open', resolution: null });
    await page.keyboard.press('Enter');
    expect(await page.getByLabel('Our first answer stands').isChecked()).toBe(true);
    await tabAndPress(page, 'Yes, resolve it');
    await shows(page, 'It is resolved: Our first answer stands.', 'The exception was resolved');
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

  it('sends no second refund where the answer to the first was lost, though the amount was changed', async () => {
    const { id, reference } = await charge(test.db, data);
    const page = await pageOf('merchant', `payments/${reference}`);
    await page.route('**/v1/refunds/initiate', loseAnswer, { times: 1 });
    await button(page, 'Refund …').click();
    const amount = page.getByLabel(/^Amount, of NGN\s1.00 that is left/);
    await amount.fill('0.25');
    await page.getByRole('button', { name: /^Yes, refund NGN\s0.25$/ }).click();
    await page.getByText('The service cannot be reached').waitFor();
    await amount.fill('0.20');
    await page.getByRole('button', { name: /^Yes, refund NGN\s0.20$/ }).click();
    await page.getByText(/An earlier try may have arrived|0.20 is on its way back/).waitFor();
    expect(await test.db.rows`SELECT amount::int FROM refunds WHERE billing_request_id = ${id}`).toEqual([
      { amount: 25 },
    ]);
  });

  it('saves a merchant’s last month as CSV, which adds up to its statements', async () => {
    const page = await pageOf('merchant', 'payments');
    const settled = page.waitForResponse((one) => one.request().postData()?.includes('settledFrom') === true);
    await page.getByLabel('When').selectOption({ label: 'Last month' });
    await page.getByLabel('Counted by').selectOption({ label: 'Settled' });
    await settled;
    const { text } = await savedFile(page, () => button(page, 'Download as CSV').click());
    const [header = '', ...lines] = text.trimEnd().split('\r\n');
    const moved = header.split(',').indexOf('moved');
    const sum = lines.reduce((total, line) => total + Math.round(Number(line.split(',')[moved]) * 100), 0);
    const [from = '', to = ''] = new URL(page.url()).hash.match(/\d{4}-\d\d-\d\d/g) ?? [];
    const { openingBalance = NaN } = await balancesOf(from);
    const { closingBalance = NaN } = await balancesOf(to);
    expect(lines.length).toBeGreaterThan(5);
    expect(sum).toBe(Math.round((closingBalance - openingBalance) * 100));
  });
});

const balancesOf = async (day: string) =>
  (await call('merchant', 'GET', `/v1/statements?date=${day}`)).body.data as Record<string, number>;

const widen = (to: number) =>
  Promise.all(Object.values(pages).map((page) => page.setViewportSize({ width: to, height: 900 })));

/** The daily work of a finance team, by mouse, in both layouts. */
describe.each([1280, 390])('with the console, %i pixels wide,', (width) => {
  beforeAll(() => widen(width));
  afterAll(() => widen(1280));

  it('a bank finds a declined charge of a customer by name, and says why', async () => {
    const page = await pageOf('bank', 'overview');
    await link(page, 'Payments').click();
    await searchField(page).fill('obi ada');
    await button(page, 'Search').click();
    await page.getByText('Clear “obi ada”').waitFor();
    await choose(page, 'Declined charges');
    await page.getByLabel('When').selectOption({ label: 'Last 7 days' });
    await page
      .getByRole('row', { name: /Declined.*Not enough money.*Ada Obi/ })
      .first()
      .click();
    await shows(page, 'Declined', 'from Ada Obi', 'Not enough money.', 'The bank found too little money');
    expect(page.url()).not.toMatch(/ada|obi/i);
  });

  it('a merchant refunds a part of a charge, once it is sure', async () => {
    const { id, reference } = await charge(test.db, data);
    const page = await pageOf('merchant', 'payments');
    await choose(page, 'Successful charges');
    await page.locator(`a[href$='${reference}']`).click();
    await button(page, 'Refund …').click();
    await page.getByLabel(/^Amount, of NGN\s1.00 that is left/).fill('0.25');
    await page.getByLabel('Reason, which the customer’s bank reads').fill('Too small');
    await page.getByRole('button', { name: 'No, go back' }).and(page.locator(':visible')).click();
    const refunds = () =>
      test.db.rows`
      SELECT amount::int, reason, status FROM refunds WHERE billing_request_id = ${id}`;
    expect(await refunds()).toEqual([]);
    await button(page, 'Refund …').click();
    await page.getByRole('button', { name: /^Yes, refund NGN\s0.25$/ }).click();
    await shows(page, /0.25 is on its way back/, 'Refund in part', 'A refund was asked for');
    expect(await refunds()).toEqual([{ amount: 25, reason: 'Too small', status: 'pending' }]);
  });

  it('a merchant cancels a charge that waits for its customer, and pauses and resumes a schedule', async () => {
    const lookupIDs = [await lookupIdOf(test.db, data.customerId)];
    const wish = { lookupIDs, amount: 3, currency: 'NGN', description: 'Salt' };
    const billed = await call('merchant', 'POST', '/v1/customer/bill', wish);
    const [{ reference = '' } = {}] = billed.body as unknown as { reference?: string }[];
    const page = await pageOf('merchant', `payments/${reference}`);
    await button(page, 'Cancel …').click();
    await button(page, 'Yes, cancel it').click();
    await shows(page, 'Declined', 'Cancelled by the merchant.');
    expect(
      await test.db.row`
      SELECT status, decline_reason FROM billing_requests WHERE reference = ${reference}`,
    ).toEqual({ status: 'declined', declineReason: 'cancelled' });
    await link(page, 'Schedules').click();
    await choose(page, 'Active');
    await link(page, 'Silver plan').first().click();
    await button(page, 'Pause its schedule …').click();
    await button(page, 'Yes, pause it').click();
    await shows(page, 'The schedule is paused', 'Paused');
    await button(page, 'Resume it …').click();
    await button(page, 'Yes, resume it').click();
    await shows(page, 'The schedule is active', 'Active');
  });

  it('a merchant sees why a webhook failed and what it says, and has it sent again', async () => {
    const { id, reference } = await charge(test.db, data);
    const told = await test.db.row<{ id: string }>`
      SELECT id FROM webhook_deliveries WHERE entity_id = ${data.merchantId} ORDER BY event_id DESC LIMIT 1`;
    const deliveryId = told?.id ?? '';
    const refused = { httpStatus: 503, error: 'HTTP 503', responseHead: '' };
    await recordOutcome(test.db, deliveryId, 1, refused);
    const page = await pageOf('merchant', 'payments');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.locator(`a[href$='${reference}']`).click();
    const webhook = page.locator('.part summary', { hasText: 'billing.response' });
    await webhook.waitFor();
    expect(asked.filter((path) => path.includes('/webhooks/'))).toEqual([]);
    await webhook.click();
    await shows(page, 'HTTP 503 after 7 ms', `"billingRequestId": "${id}"`);
    await page.getByRole('button', { name: /^Send again: billing.response/ }).click();
    await button(page, 'Yes, send it').click();
    await shows(page, 'billing.response is sent once more.');
    const again = `SELECT earlier_attempts AS attempts, status FROM webhook_deliveries WHERE id = :deliveryId`;
    expect(await test.db.row`${raw(again, { deliveryId })}`).toEqual({ attempts: 1, status: 'pending' });
  });

  it('a bank resolves an exception of a payment with both of its answers in sight', async () => {
    const { id, reference } = await charge(test.db, data);
    await answerBill(test.db, data, id, null);
    const page = await pageOf('bank', 'payments');
    await searchField(page).fill(reference.slice(0, 10));
    await button(page, 'Search').click();
    await page.locator(`a[href$='${reference}']`).click();
    await shows(page, 'It approved the charge', 'It declined the charge', 'What became of the money?');
    await button(page, 'Answer …').click();
    await page.getByLabel('No money moved').check();
    await button(page, 'Yes, resolve it').click();
    await shows(page, 'It is resolved: No money moved.', 'Reversal', 'Reversal in whole');
    expect(
      await test.db.rows`
      SELECT resolution FROM reconciliation_exceptions WHERE billing_request_id = ${id}`,
    ).toEqual([{ resolution: 'no_money_moved' }]);
  });
});

/** As the page shows them now: `rgb(11, 87, 184)`. */
const COLOURS_OF_BARS = `() => ['--accent', '--bad'].map((name) => {
  const probe = document.body.appendChild(document.createElement('span'));
  probe.style.color = 'var(' + name + ')';
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
})`;
/** The number of a chart's pixels in one of these colours. */
const PAINTED = `(n) => {
  const canvas = document.querySelectorAll('.chart canvas')[n];
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const [alpha, blue, green, red] = [1, 256, 65536, 16777216];
  const colours = (${COLOURS_OF_BARS})().map((colour) => {
    const [r, g, b] = colour.match(/\\d+/g).map(Number);
    return r * red + g * green + b * blue + 255 * alpha;
  });
  const pixels = new DataView(data.buffer);
  return data.filter((_, at) => at % 4 === 0 && colours.includes(pixels.getUint32(at))).length;
}`;

describe('a session of the console', () => {
  it('that is over asks who one is, and goes on where one was, also after the page is loaded again', async () => {
    const page = await pageOf('provider', 'schedules');
    // Its own call would find the session ended before anybody goes on.
    await shows(page, 'Gold plan');
    await page.context().clearCookies();
    await tabAndPress(page, 'Statements');
    await page.getByText('Your session has ended. Sign in again to go on where you were.').waitFor();
    await enter(page, data.credentials.provider);
    await page.getByRole('heading', { name: 'Statements', level: 1 }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Statements', level: 1 }).waitFor();
    expect(takeProblems(page)).toEqual([]);
  });

  it('goes on after a sign-in, though an answer to the session before arrives late', async () => {
    const page = await pageOf('provider', 'schedules');
    await shows(page, 'Gold plan');
    let answerLate: (() => void) | undefined;
    const positions = '**/v1/positions**';
    const isHeld = new Promise<void>((held, fail) => {
      const hold = async (asked: Route) => {
        const response = await asked.fetch();
        const isWanted = new Promise<void>((go) => (answerLate = go));
        held();
        await isWanted;
        await asked.fulfill({ response });
      };
      page.route(positions, hold, { times: 1 }).catch(fail);
    });
    await page.context().clearCookies();
    await tabAndPress(page, 'Statements');
    await isHeld;
    await enter(page, data.credentials.provider);
    await shows(page, 'Closing balance');
    const answered = page.waitForResponse(
      (one) => one.url().includes('/v1/positions') && one.status() === 401,
    );
    answerLate?.();
    await (await answered).finished();
    await page.evaluate('new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)))');
    expect(await button(page, 'Sign out').count()).toBe(1);
  });

  it('opens at an address with a broken id, and leaves no figures where nobody sits', async () => {
    const page = await browser.open(`${api.url}/console#/payments/%`);
    await page.clock.install();
    await page.reload();
    await enter(page, data.credentials.provider);
    await searchField(page).waitFor();
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
