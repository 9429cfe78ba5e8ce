import type { Route } from 'playwright-core';
import { calendarDay } from '../../../src/domain/calendar';
import { sendFile } from '../../support/bank-file';
import { expectGoodPage, takeProblems } from '../../support/browser';
import { eventually } from '../../support/engine';
import { recordOutcome } from '../../support/record-outcome';
import { answerBill, charge, exceptionOf, refund } from '../../support/settled';
import { lookupIdOf } from '../../support/standing';
import {
  api,
  browser,
  button,
  call,
  choose,
  data,
  enter,
  goTo,
  link,
  pageOf,
  pages,
  searchField,
  shows,
  tabAndPress,
  test,
} from './stage';

const widen = (to: number) =>
  Promise.all(Object.values(pages).map((page) => page.setViewportSize({ width: to, height: 900 })));

const testsSent = () =>
  test.db.rows<{ id: string }>`
    SELECT id FROM webhook_deliveries WHERE entity_id = ${data.merchantId} AND webhook_type = 'webhook.test'
    ORDER BY event_id`;

const decided = () =>
  test.db.oneRow<{ decision: string; limits: string }>`
    SELECT decision, limits::text AS limits FROM agreements WHERE id = ${data.agreementId}`;

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
    await page.goBack();
    await shows(page, 'Clear “obi ada”');
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
    await page.getByLabel('Search by description, customer, merchant or id').fill('silver');
    await button(page, 'Search').click();
    await page.getByText('Gold plan').waitFor({ state: 'hidden' });
    await link(page, 'Silver plan').first().click();
    await button(page, 'Change its amount …').click();
    await page.getByLabel('New amount, in NGN').fill(`${width}.50`);
    await page.getByRole('button', { name: /^Yes, charge/ }).click();
    await shows(page, /It charges NGN.* from now on\./);
    const amount = width * 100 + 50;
    expect(await test.db.rows`SELECT status FROM schedules WHERE amount = ${amount}`).toHaveLength(1);
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
    const again = await test.db.row`
      SELECT earlier_attempts AS attempts, status FROM webhook_deliveries WHERE id = ${deliveryId}`;
    expect(again).toEqual({ attempts: 1, status: 'pending' });
  });

  it('a merchant sends the failed webhooks of a day and a type again, and no withdrawn one', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      await charge(test.db, data);
      const { id } = await test.db.oneRow<{ id: string }>`
        SELECT id FROM webhook_deliveries WHERE entity_id = ${data.merchantId} ORDER BY event_id DESC LIMIT 1`;
      await recordOutcome(test.db, id, 1, { httpStatus: 503, error: 'HTTP 503', responseHead: '' }, 1);
      ids.push(id);
    }
    const [withdrawn = ''] = ids;
    await test.db
      .rows`UPDATE webhook_deliveries SET withdrawn_at = clock_timestamp() WHERE id = ${withdrawn}`;
    const page = await pageOf('merchant', 'webhooks');
    await choose(page, 'Failed');
    await page.getByRole('combobox', { name: 'Webhook' }).selectOption('billing.response');
    const all = button(page, 'Send all again …');
    await all.waitFor();
    await page.getByLabel('Made to').fill('2020-01-01');
    await shows(page, 'There is no such delivery');
    expect(await all.count()).toBe(0);
    await page.getByLabel('Made to').fill('');
    await page.getByLabel('Made from').fill('2020-01-01');
    await all.click();
    await button(page, 'Yes, send them').click();
    await shows(page, /^\d+ webhooks sent once more\.$/);
    await expectGoodPage(page);
    const failed = await test.db.rows`
      SELECT id FROM webhook_deliveries WHERE entity_id = ${data.merchantId} AND status = 'failed'
        AND webhook_type = 'billing.response' AND id = ANY(${ids})`;
    expect(failed).toEqual([{ id: withdrawn }]);
  });

  it('a merchant moves its webhooks to another URL, and is told what a test of it came to', async () => {
    const page = await pageOf('merchant', 'webhooks');
    const { length } = await testsSent();
    await button(page, 'Change your URL').click();
    await page.getByLabel(/^URL, for retries/).fill(`http://127.0.0.1:9/moved-${width}`);
    await expectGoodPage(page);
    await button(page, 'Yes, change it').click();
    await shows(page, 'Webhooks are sent here from now on', `http://127.0.0.1:9/moved-${width}`);
    await button(page, 'Test it …').click();
    await button(page, 'Yes, send it').click();
    await eventually(async () => (await testsSent()).length > length);
    const sent = (await testsSent()).at(-1);
    await recordOutcome(test.db, sent?.id ?? '', 1, { responseHead: '' });
    await shows(page, 'It works: answered 200 after 7 ms.');
  });

  it('a merchant opens a delivery by any cell of its row, and turns the order of the list', async () => {
    const page = await pageOf('merchant', 'webhooks');
    const made = page.getByRole('columnheader', { name: 'Made' });
    expect(await made.getAttribute('aria-sort')).toBe('descending');
    const oldest = page.waitForResponse(/sortBy=createdAt&sortOrder=asc/);
    await made.getByRole('button').click();
    await oldest;
    expect(await made.getAttribute('aria-sort')).toBe('ascending');
    await expectGoodPage(page);
    const row = page.getByRole('row', { name: /billing\.response/ }).first();
    await row.click({ position: { x: 5, y: 5 } });
    await page.waitForURL(/webhooks\/dlv_/);
    await shows(page, 'All webhooks', 'It tells of');
  });

  it('a bank changes what its customer allows, which leaves the limits as they were', async () => {
    const before = await decided();
    const page = await pageOf('bank', `customers/${data.customerId}`);
    for (const [name, decision] of [
      ['Suspended', 'suspended'],
      ['Approve recurring', 'approve_recurring'],
    ] as const) {
      await button(page, 'Change what Merchant may charge').click();
      await page.getByLabel('The customer’s decision').selectOption(decision);
      await expectGoodPage(page);
      await button(page, 'Yes, the customer says so').filter({ visible: true }).click();
      await shows(page, `Merchant: The decision is ${decision} from the next charge on.`);
      await page.getByRole('row', { name: new RegExp(`^Merchant.*${name}`) }).waitFor();
      expect(await decided()).toEqual({ ...before, decision });
    }
  });

  it('a bank resolves an exception of a payment with both of its answers in sight', async () => {
    const { id, reference } = await charge(test.db, data);
    await answerBill(test.db, data, id, null);
    const page = await pageOf('bank', 'payments');
    await searchField(page).fill(reference.slice(0, 10));
    await button(page, 'Search').click();
    await shows(page, 'It approved the charge', 'It declined the charge', 'What became of the money?');
    await button(page, 'No money moved …').click();
    await button(page, 'Yes, resolve it').click();
    await shows(page, 'It is resolved: No money moved.', 'Reversal', 'Reversal in whole');
    await page.getByText('What became of the money?').waitFor({ state: 'detached' });
    expect(
      await test.db.rows`
      SELECT resolution FROM reconciliation_exceptions WHERE billing_request_id = ${id}`,
    ).toEqual([{ resolution: 'no_money_moved' }]);
  });

  it('a bank is told which line speaks against its answer, and completes the refund that it had rejected', async () => {
    const { reference } = await charge(test.db, data);
    const refundId = await refund(test.db, data, reference, 0.4, 'rejected');
    const transfer = await test.db.oneRow<{ reference: string }>`
      SELECT reference FROM refunds WHERE id = ${refundId}`;
    const id = `paid-${width}`;
    const day = calendarDay(new Date(), 'Africa/Lagos');
    const line = { ...transfer, id, direction: 'credit', amount: 40, day } as const;
    const statementId = await sendFile(test.db, data.bankId, [line]);
    const page = await pageOf('bank', `exceptions/${await exceptionOf(test.db, refundId)}`);
    await button(page, 'No money moved …').click();
    await button(page, 'Yes, resolve it').click();
    await shows(page, `The bank’s file ${statementId} has ${id} of ${day}, and nothing takes it back.`);
    await page.keyboard.press('Escape');
    await button(page, 'We have paid the refund …').click();
    await page.getByLabel('Your transaction that paid it').fill(id);
    await button(page, 'Yes, resolve it').click();
    await shows(page, 'It is resolved: We have paid the refund.');
    expect(
      await test.db.row`SELECT status, bank_transaction_id AS id FROM refunds WHERE id = ${refundId}`,
    ).toEqual({ status: 'completed', id });
    takeProblems(page);
  });
});

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
    await button(page, 'Try again').nth(1).click();
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
