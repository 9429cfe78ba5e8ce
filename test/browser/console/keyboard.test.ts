import type { Page, Route } from 'playwright-core';
import { expectGoodPage, tabTo, takeProblems } from '../../support/browser';
import { eventually } from '../../support/engine';
import { charge } from '../../support/settled';
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
  savedFile,
  shows,
  signedIn,
  tabAndPress,
  test,
} from './stage';

const focused = (page: Page, what: string) => page.evaluate<string>(`document.activeElement.${what}`);

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
