import type { Page, Route } from 'playwright-core';
import { expectGoodPage, tabTo } from '../../support/browser';
import { eventually } from '../../support/engine';
import { callerAt } from '../../support/shared-api';
import {
  api,
  browser,
  button,
  call,
  data,
  enter,
  goTo,
  intentId,
  link,
  pageOf,
  savedFile,
  searchField,
  shows,
  signedIn,
  tabAndPress,
} from './stage';

/** Searches, and lets the answer wait. @returns lets it come, and be shown */
async function searchSlowly(page: Page, text: string): Promise<() => Promise<void>> {
  const asked = new Promise<Route>((hold, fail) => {
    page.route('**/v1/transaction-history/search', hold, { times: 1 }).catch(fail);
  });
  await searchField(page).fill(text);
  await searchField(page).press('Enter');
  const held = await asked;
  return async () => {
    const answered = page.waitForResponse((one) => one.request() === held.request());
    await held.continue();
    await (await answered).finished();
    await page.evaluate('new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)))');
  };
}

describe('the console', () => {
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
    const { agreements } = (await call('merchant', 'GET', '/v1/agreements')).body['data'] as unknown as {
      agreements: { agreementId: string }[];
    };
    await search(agreements[0]?.agreementId ?? '', 'Agreement', 'Chargeable now', 'Charges at most');
    await expectGoodPage(page);
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

  it('denies no payment after another tab has signed in anew, and says to load the page again', async () => {
    const page = await signedIn('provider');
    const other = await browser.open(`${api.url}/console`, page);
    await button(other, 'Sign out').click();
    await enter(other, data.credentials.bank);
    await button(other, 'Sign out').waitFor();
    await page.goto(`${api.url}/console#/payments/${data.reference}`);
    await shows(page, /What was found could not be loaded.*load the page again/);
    expect(await page.getByText('Nothing of yours goes by').count()).toBe(0);
    await page.reload();
    await shows(page, 'NGN 1.00', 'Successful');
  });

  it('opens from each figure, bar and reason of the overview just the payments that it counts', async () => {
    const page = await pageOf('bank', 'overview');
    await searchField(page).fill('Gold plan');
    await searchField(page).press('Enter');
    await page.waitForURL(/#\/payments/);
    await link(page, 'Overview').click();
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
    // The list is closed, and offers nobody.
    const at = page.url();
    await page.keyboard.press('Enter');
    expect(await page.evaluate('location.href')).toBe(at);
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

  it('takes nobody away from another page, or from a newer search, when a slow search ends', async () => {
    const page = await pageOf('bank', 'overview');
    const first = await searchSlowly(page, data.bankTransactionId);
    await link(page, 'Statements').click();
    await shows(page, 'Closing balance');
    await first();
    expect(await page.evaluate('location.hash')).toBe('#/statements');
    await link(page, 'Payments').click();
    await shows(page, 'Ada Obi');
    const second = await searchSlowly(page, data.bankTransactionId);
    await searchField(page).fill('obi ada');
    await searchField(page).press('Enter');
    await shows(page, 'Clear “obi ada”');
    await second();
    expect(await page.evaluate('location.hash')).toBe('#/payments');
    await shows(page, 'Clear “obi ada”');
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
