import type { Page, Route } from 'playwright-core';
import { row } from '../../src/database/pool/connection';
import { send, serveApi, tokenOf, type ServedApi } from '../support/api';
import { expectGoodPage, openBrowser, type TestBrowser } from '../support/browser';
import { consoleData, type ConsoleData } from '../support/console-data';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { asking, dayOf } from '../support/statements';
import { standingApproval } from '../support/standing';

/* The console as people use it, in a browser, with something of each kind to look at. */

type Role = 'bank' | 'merchant' | 'provider';

let test: TestDatabase;
let api: ServedApi;
let browser: TestBrowser;
let data: ConsoleData;
let ids: Record<'transactionId' | 'deliveryId' | 'intentId', string>;
beforeAll(async () => {
  test = await createTestDatabase();
  api = await serveApi(test.db);
  [browser, data] = await Promise.all([openBrowser(), consoleData(test.db, api)]);
  ids = await idsOf(data);
});
afterAll(async () => {
  await browser.close();
  await api.close();
  await test.drop();
});

async function enter(page: Page, { clientId, clientSecret }: { clientId: string; clientSecret: string }) {
  await page.getByLabel('Client id').fill(clientId);
  await page.getByLabel('Client secret').fill(clientSecret);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** A page of the console, for somebody who has signed in there. */
async function signedIn(
  role: Role,
  at = 'overview',
  of: Pick<ConsoleData, 'credentials'> = data,
): Promise<Page> {
  const page = await browser.open(`${api.url}/console#/${at}`);
  await enter(page, of.credentials[role]);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

/** Of the charge, of a webhook to its merchant, and of a permission that the merchant asks for. */
async function idsOf({ reference, merchantId, credentials }: ConsoleData) {
  const call = async (role: Role, method: string, path: string, body?: object) =>
    send(api.url, method, path, body, { authorization: `Bearer ${await tokenOf(api, credentials[role])}` });
  const { customers } = (await call('bank', 'GET', '/v1/bank/customers')).body.data as {
    customers: { lookupID: string }[];
  };
  const intent = {
    lookupIDs: customers.map(({ lookupID }) => lookupID),
    currency: 'NGN',
    description: 'Tea',
  };
  const asked = await call('merchant', 'POST', '/v1/billing/intent', intent);
  const [item] = asked.body as unknown as { intentId: string }[];
  const found = await row<Record<'transactionId' | 'deliveryId', string>>(
    test.db,
    `SELECT transaction_id AS "transactionId",
       (SELECT id FROM webhook_deliveries WHERE entity_id = :merchantId LIMIT 1) AS "deliveryId"
     FROM billing_requests WHERE reference = :reference`,
    { reference, merchantId },
  );
  if (!found || !item) throw new Error('the charge is gone');
  return { ...found, intentId: item.intentId };
}

const shows = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

describe('the console', () => {
  it('lets a merchant in by keys alone, says what is wrong in words, and keeps no secret', async () => {
    const page = await browser.open(`${api.url}/console`);
    await page.getByLabel('Client id').waitFor();
    await expectGoodPage(page);
    const { clientId, clientSecret } = data.credentials.merchant;
    const typed = async (secret: string) => {
      await page.getByLabel('Client id').focus();
      await page.keyboard.press('Control+A');
      await page.keyboard.type(clientId);
      await page.keyboard.press('Tab');
      await page.keyboard.type(secret);
      await page.keyboard.press('Enter');
    };
    await typed(`sec_${'A'.repeat(43)}`);
    await page.getByRole('alert').getByText('Client id and secret do not belong together').waitFor();
    await page.getByLabel('Client secret').fill('');
    await typed(clientSecret);
    await shows(page, 'NGN 5.00');

    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, document.documentElement.outerHTML])',
    );
    expect(kept).toContain('[{},{},""');
    expect(kept).not.toContain(clientSecret);
    const databases = await page.evaluate<number>('indexedDB.databases().then((all) => all.length)');
    expect(databases).toBe(0);
  });

  it('shows a merchant its own figures, and another none of them', async () => {
    const page = await signedIn('merchant');
    const month = page.locator('section.card', { hasText: / in NGN/ }).first();
    for (const text of ['NGN 5.00', '5 charges', 'NGN 1,502.00', 'NGN 0.30', '62.5 %']) {
      await month.getByText(text).waitFor();
    }
    await page.getByRole('row', { name: /Not enough money 3 100 %/ }).waitFor();
    await page.getByText('Due charges as a table').click();
    await page
      .getByRole('table', { name: /fall due each day/ })
      .getByText('NGN 1,500.00')
      .first()
      .waitFor();
    await expectGoodPage(page);

    const stranger = await standingApproval(test.db, api.deps.ring);
    const other = await signedIn('merchant', 'overview', stranger);
    await shows(other, /Nothing was charged, declined or refunded/);
    await shows(other, 'No schedule will charge in this time.');
    await other.goto(`${api.url}/console#/search/${data.reference}`);
    await shows(other, /Nothing of yours goes by/);
    for (const id of Object.values(ids)) {
      await other.goto(`${api.url}/console#/search/${id}`);
      await shows(other, `Nothing of yours goes by “${id}”`);
    }
    await other.goto(`${api.url}/console#/exceptions/${data.exceptionId}`);
    await other.getByRole('alert').waitFor();
  });

  it.each(['merchant', 'provider', 'bank'] as const)(
    'says to a %s which schedule is past due, and why',
    async (role) => {
      const page = await signedIn(role, 'schedules');
      const told = page.getByRole('row', { name: /Gold plan.*NGN 1,500.00.*Not enough money/ });
      await told.waitFor();
      expect(await told.count()).toBe(1);
      // Its table has a column more than a merchant's.
      if (role === 'provider') await expectGoodPage(page);
      await page.getByLabel('Show').selectOption('failed');
      await shows(page, 'There is no such schedule.');
    },
  );

  it('has a bank answer an exception, once it is sure, and it is resolved', async () => {
    const page = await signedIn('bank', 'exceptions');
    await page.getByRole('link', { name: 'The bank gave two different answers' }).click();
    await page.getByLabel('The money moved, and we have taken it back').check();
    await page.getByLabel('Your transaction that took it back').fill('FT-BACK-1');
    await expectGoodPage(page);
    await page.getByRole('button', { name: 'Answer …' }).click();
    await expectGoodPage(page);
    await page.getByRole('button', { name: 'No, go back' }).click();
    const state = async () =>
      (
        await row<{ state: string }>(
          test.db,
          'SELECT state FROM reconciliation_exceptions WHERE id = :exceptionId',
          { exceptionId: data.exceptionId },
        )
      )?.state;
    expect(await state()).toBe('open');
    await page.getByRole('button', { name: 'Answer …' }).click();
    await page.getByRole('button', { name: 'Yes, resolve it' }).click();
    await shows(page, 'It is resolved: The money moved, and we have taken it back.');
    await shows(page, 'It was resolved');
    const told = await (
      await asking(api, data, 'merchant')
    ).get(`/v1/reconciliation/exceptions/${data.exceptionId}`);
    expect(told.body.data).toMatchObject({ state: 'resolved', resolution: 'reversed' });
    await page.getByRole('link', { name: 'All exceptions' }).click();
    await shows(page, 'No exception is open.');
    await expectGoodPage(page);
  });

  it('tells what has happened to a payment, by its reference and by ids', async () => {
    const page = await signedIn('merchant', 'search');
    const search = async (what: string) => {
      await page.getByLabel('Reference or id').fill(what);
      await page.keyboard.press('Enter');
    };
    await search(` ${data.reference.toLowerCase()} `);
    await shows(page, /charge successful/);
    await shows(page, /exception opened/);
    await expectGoodPage(page);
    await search(data.scheduleId);
    await page
      .getByRole('table', { name: 'Billings of the schedule' })
      .getByText('Not enough money')
      .waitFor();
    await expectGoodPage(page);
    await search(data.customerId);
    await page.getByRole('table', { name: 'The latest transactions' }).waitFor();
    await search(data.exceptionId);
    await shows(page, 'Charge of NGN 1.00');
    await search(ids.transactionId);
    await shows(page, 'Charge of NGN 1.00');
    await search(ids.intentId);
    await shows(page, 'The merchant asked for permission');
    await expectGoodPage(page);
    await search(ids.deliveryId);
    await shows(page, 'It was announced to you');
    await search('not-there');
    await shows(page, /Nothing of yours goes by “not-there”/);
  });

  it('has a webhook sent once more, and says that it is not while there is no URL', async () => {
    const page = await signedIn('merchant', 'webhooks');
    const again = page.getByRole('button', { name: /^Send again: billing\.response dlv_\w+$/ }).first();
    const [deliveryId = ''] = /dlv_\w+/.exec((await again.getAttribute('aria-label')) ?? '') ?? [];
    await again.click();
    await shows(page, /^It was not sent\. You have no webhook URL/);
    await expectGoodPage(page);
    const authorization = `Bearer ${await tokenOf(api, data.credentials.merchant)}`;
    const url = 'http://127.0.0.1:9/hook';
    await send(api.url, 'PUT', '/v1/webhooks/endpoint', { url }, { authorization });
    await again.click();
    await shows(page, `billing.response ${deliveryId} is sent once more.`);
    await page.getByRole('row', { name: new RegExp(`${deliveryId} pending`) }).waitFor();
    const started = await row<{ count: number }>(
      test.db,
      `SELECT count(*)::int AS count FROM outbox WHERE workflow_id = 'webhook-delivery/' || :deliveryId`,
      { deliveryId },
    );
    expect(started?.count).toBe(1);
  });

  it('hands out a statement that is the API’s own, byte for byte', async () => {
    const page = await signedIn('merchant', 'statements');
    const today = await dayOf(test.db, data.merchantId);
    await page.getByLabel('Settlement day').fill(today);
    await page.getByText('Closing balance').waitFor();
    await page.getByRole('table', { name: 'Net positions of the day' }).waitFor();
    await expectGoodPage(page);
    const arrives = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download its lines as CSV' }).click();
    const download = await arrives;
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const own = await asking(api, data, 'merchant');
    expect(Buffer.concat(chunks).toString()).toBe(await own.file(`/v1/statements/${today}.csv`));
    expect(download.suggestedFilename()).toBe(`statement-${today}-NGN.csv`);
  });

  it('asks who one is when the session is over, and goes on where one was', async () => {
    const page = await signedIn('provider', 'schedules');
    await page.getByRole('row', { name: /Gold plan/ }).waitFor();
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Statements' }).click();
    await shows(page, 'Your session has ended. Sign in again to go on where you were.');
    await expectGoodPage(page);
    await enter(page, data.credentials.provider);
    await page.getByRole('heading', { name: 'Statements', level: 1 }).waitFor();

    // Signed in is who has loaded the page anew, until that person signs out.
    await page.reload();
    await page.getByRole('heading', { name: 'Statements', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Client id').waitFor();
    await page.reload();
    await page.getByLabel('Client id').waitFor();
  });

  it('opens at an address with a broken id, and leaves no figures where nobody sits', async () => {
    const page = await browser.open(`${api.url}/console#/search/%`);
    await page.clock.install();
    await page.reload();
    await enter(page, data.credentials.merchant);
    await page.getByLabel('Reference or id').waitFor();
    const forecastAsked = new Promise<Route>((hold, fail) => {
      page.route('**/v1/forecast**', hold, { times: 1 }).catch(fail);
    });
    await page.getByRole('link', { name: 'Overview' }).click();
    await shows(page, 'NGN 5.00');
    await page.clock.fastForward('29:00');
    expect(await page.getByText('NGN 5.00').count()).toBeGreaterThan(0);
    // What was asked half an hour ago is no sign that somebody sits there now.
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await (await forecastAsked).continue();
    await page.getByText('Loading the forecast …').waitFor({ state: 'hidden' });
    expect(asked).not.toContain('/console/session');
    await page.clock.fastForward('01:01');
    await shows(page, 'Your session has ended. Sign in again to go on where you were.');
    expect(await page.getByText('NGN 5.00').count()).toBe(0);
  });

  it('says that the service is away, and what to do', async () => {
    const page = await signedIn('merchant', 'schedules');
    await page.getByRole('row', { name: /Gold plan/ }).waitFor();
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText(/The month could not be loaded. The service cannot be reached/).waitFor();
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await shows(page, 'Why charges were declined');
    expect(await page.getByText(/The month could not be loaded/).count()).toBe(0);
  });
});
