import type { Page, Route } from 'playwright-core';
import { expectGoodPage, tabTo, takeProblems } from '../../support/browser';
import { eventually } from '../../support/engine';
import { charge } from '../../support/settled';
import { callerAt } from '../../support/shared-api';
import { standingApproval } from '../../support/standing';
import {
  api,
  browser,
  button,
  call,
  choose,
  data,
  enter,
  goTo,
  intentId,
  link,
  pageOf,
  pages,
  searchField,
  shows,
  signedIn,
  tabAndPress,
  test,
} from './stage';

const focused = (page: Page, what: string) => page.evaluate<string>(`document.activeElement.${what}`);

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

describe('the console', () => {
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
    expect(await other.getByText('Needs attention').count()).toBe(0);
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

  it.each(['merchant', 'bank'] as const)(
    'leads a %s from what needs attention to just that, and saves what is listed',
    async (role) => {
      const page = await pageOf(role, 'overview');
      await link(page, '1 past-due schedule').click();
      const rows = page.getByRole('table').getByRole('row');
      await rows.filter({ hasText: /Gold plan.*NGN.1,500.00.*Past due.*Not enough money/ }).waitFor();
      expect(await rows.count()).toBe(2);
      await page.reload();
      await choose(page, 'All');
      await shows(page, 'Silver plan');
      const saved = await savedFile(page, () => button(page, 'Download as CSV').click());
      const own = await call(role, 'POST', '/v1/billing/recurring/search', { format: 'csv' });
      expect(saved).toEqual({
        name: `${role}-schedules-all.csv`,
        text: `\uFEFF${own.body as unknown as string}`,
      });
      await choose(page, 'Failed');
      await shows(page, 'There is no such schedule.');

      await goTo(page, 'Overview');
      for (const [one, caption] of [
        ['open exception', 'Reconciliation exceptions: Open'],
        ['failed webhook', 'Webhook deliveries'],
      ] as const) {
        const way = page.getByRole('link', { name: new RegExp(`^\\d+ ${one}s?$`) });
        const count = Number.parseInt(await way.innerText(), 10);
        await way.click();
        const listed = page.getByRole('table', { name: caption }).getByRole('row');
        await eventually(async () => (await listed.count()) === Math.min(count, 20) + 1);
        if (count > 20) await page.getByText(` of ${count}`).waitFor();
        await page.goBack();
      }
    },
  );

  it('leaps from the top over the bar to the content, turns months, and reads the numbers behind a chart', async () => {
    const page = await pageOf('merchant', 'overview');
    await page.keyboard.press('Tab');
    expect(await focused(page, 'textContent')).toBe('Skip to the content');
    const { y = -1 } = (await page.getByText('Skip to the content').boundingBox()) ?? {};
    expect(y).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    expect(await focused(page, 'tagName')).toBe('H1');
    await page.keyboard.press('Tab');
    expect(await focused(page, 'type')).toBe('search');
    await tabAndPress(page, 'Month before', 'Space');
    await shows(page, 'NGN 5.00');
    await tabTo(page.locator('summary', { hasText: 'The days as a table' }));
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: /each day, in NGN/ }).waitFor();
    await tabAndPress(page, 'Month after');
    await shows(page, /Nothing was charged, declined or refunded in \w+ \d+ yet\./);
  });

  it('has the first payment within six presses of Tab from the page’s start', async () => {
    const page = await pageOf('provider', 'payments');
    await shows(page, 'Gold plan');
    const first = page.getByRole('table', { name: 'Payments' }).getByRole('link').first();
    for (let presses = 1; (await first.and(page.locator(':focus')).count()) === 0; presses++) {
      expect(presses).toBeLessThanOrEqual(6);
      await page.keyboard.press('Tab');
      if ((await focused(page, 'textContent')) === 'Skip to the list') await page.keyboard.press('Enter');
    }
    await page.keyboard.press('Enter');
    await shows(page, 'What has happened');
  });

  it('has its bar in one row on a phone, and the page of now in sight', async () => {
    const page = await pageOf('bank', 'statements');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    const pagesOf = page.getByRole('navigation', { name: 'Pages of the console' }).getByRole('link');
    await pagesOf.last().waitFor();
    const boxes = await Promise.all((await pagesOf.all()).map((one) => one.boundingBox()));
    expect(boxes).toHaveLength(7);
    expect(new Set(boxes.map((box) => box?.y)).size).toBe(1);
    await eventually(async () => {
      const { x = 390, width = 0 } = (await link(page, 'Statements').boundingBox()) ?? {};
      return x >= 0 && x + width <= 390;
    });
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('opens from a day of the forecast just the schedules that make its sum', async () => {
    const page = await pageOf('provider', 'overview');
    await shows(page, 'Due in the next 30 days');
    await page.getByLabel('Look ahead').selectOption({ label: '60 days' });
    await shows(page, 'Due in the next 60 days');
    await page.getByText('Due charges as a table').click();
    const days = page.getByRole('table', { name: /^Charges that fall due each day/ }).getByRole('row');
    const cells = await days.nth(1).getByRole('cell').allInnerTexts();
    await days.nth(1).getByRole('link').click();
    await shows(page, `Due on ${cells[0] ?? ''} ×`);
    const rows = page.getByRole('table', { name: 'Schedules: All' }).getByRole('row');
    await rows.nth(1).waitFor();
    expect(String((await rows.count()) - 1)).toBe(cells[1]);
    await page.getByRole('button', { name: /^Due on/ }).click();
    await page.getByRole('button', { name: /^Due on/ }).waitFor({ state: 'hidden' });
  });

  it.each(['merchant', 'provider'] as const)(
    'leads a %s from a payment, a schedule and an agreement to the customer, who has no name',
    async (role) => {
      const [[agreement]] = Object.values((await call(role, 'GET', '/v1/agreements')).body.data ?? {}) as [
        { agreementId: string }[],
      ];
      const name = `Customer …${data.customerId.slice(-6)}`;
      for (const [at, way] of [
        [`payments/${data.reference}`, name],
        [`schedules/${data.scheduleId}`, name],
        [`payments/${agreement?.agreementId ?? ''}`, data.customerId],
      ] as const) {
        const page = await pageOf(role, at);
        await link(page, way).click();
        await page.waitForURL(`**#/customers/${data.customerId}`);
        await shows(page, name, 'Chargeable now', 'Silver plan', data.reference, 'Filter and download them');
        expect(await page.locator('main').innerText()).not.toMatch(/Ada|Obi/);
        await expectGoodPage(page);
      }
      const stranger = await pageOf(role, 'customers/cus_nobodys');
      await shows(stranger, 'You have no agreement with this customer.');
    },
  );

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
    const answer = 'Our first answer stands …';
    await tabAndPress(page, answer);
    const dialog = page.getByRole('dialog', { name: /^Our first answer stands: resolve the exception of/ });
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await focused(page, 'textContent')).toBe(answer);
    await page.keyboard.press('Enter');
    await tabAndPress(page, 'No, go back');
    expect(await focused(page, 'textContent')).toBe(answer);
    expect(await exceptionState()).toEqual({ state: 'open', resolution: null });
    await page.keyboard.press('Enter');
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
