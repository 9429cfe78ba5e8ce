import type { Page, Route } from 'playwright-core';
import { momentIn } from '../../packages/pages/browser/parts/time';
import { expectGoodPage, shareBrowser } from '../support/browser';
import { eventually } from '../support/engine';
import {
  answerRefund,
  approve,
  bill,
  charge,
  decline,
  history,
  initiateRefund,
  shareApi,
  type Caller,
  type Parties,
} from '../support/shared-api';
import { lookupIdOf } from '../support/standing';

/* Payments in the console: what a clerk finds, sees become of them, and must not be misled by. */

const served = shareApi();
const browser = shareBrowser();
let parties: Parties;
beforeEach(async () => {
  parties = await served.parties();
});

async function signedIn({ clientId, clientSecret }: Caller, address = 'payments'): Promise<Page> {
  const page = await browser.open(`${served.api.url}/console#/${address}`);
  await page.getByLabel('Client id').fill(clientId);
  await page.getByLabel('Client secret').fill(clientSecret);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

const shows = (page: Page, text: string | RegExp) =>
  page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
const rowOf = (page: Page, reference: string) => page.getByRole('row').filter({ hasText: reference });
/** Whatever the page does with what has arrived, it has done. */
const settle = (page: Page) =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');

const again = async (page: Page) => {
  await page.getByRole('button', { name: 'Charge again …' }).click();
  await page.getByRole('button', { name: /^Yes, charge NGN\s100.00$/ }).click();
};
const charges = async () => (await history(parties.merchant)).map(({ status }) => status);

describe('the list of merchants to choose from', () => {
  const FIELD = { name: 'Merchant', exact: true };

  /** The page of a provider, whose questions for merchants are each held until they are let go. */
  async function asking() {
    const merchants = ['Merry Shop', 'Mercy Shop', 'Salt'].map((name) => ({
      name,
      email: 'shop@example.test',
      clientRef: name,
    }));
    await parties.provider.post('/v1/provider/merchants', { merchants });
    const page = await signedIn(parties.provider);
    const held: Route[] = [];
    const field = page.getByRole('combobox', FIELD);
    const offered = page.getByRole('listbox', { name: 'Merchants' }).getByRole('option');
    await field.click();
    await offered.nth(4).waitFor();
    await page.route('**/v1/merchants/search', (asked) => void held.push(asked));
    const type = async (text: string) => {
      await page.keyboard.type(text);
      await eventually(() => Promise.resolve(held.length === text.length));
      await settle(page);
    };
    const release = async (n: number) => {
      const answered = page.waitForResponse('**/v1/merchants/search');
      await held[n]?.continue();
      await (await answered).finished();
      await settle(page);
    };
    return { page, field, type, release, names: () => offered.allTextContents() };
  }

  it('stays between two keystrokes, with the names alone that begin so', async () => {
    const { page, type, release, names } = await asking();
    await type('mer');
    expect(await names()).toEqual(['Merchant', 'Mercy Shop', 'Merry Shop']);
    await expectGoodPage(page);
    await release(2);
    expect(await names()).toEqual(['Merchant', 'Mercy Shop', 'Merry Shop']);
  });

  it('is of what was typed last, though an earlier answer comes later', async () => {
    const { type, release, names } = await asking();
    await type('mercy');
    await release(4);
    expect(await names()).toEqual(['Mercy Shop']);
    await release(0);
    expect(await names()).toEqual(['Mercy Shop']);
  });

  it('is no risk to who presses Enter before the answer: what was typed is chosen', async () => {
    const { page, field, type } = await asking();
    await type('merr');
    await page.keyboard.press('Enter');
    await page.waitForURL(/merchantId=mch_/);
    await eventually(async () => (await field.inputValue()) === 'Merry Shop');
    expect(page.url()).not.toContain(parties.merchantId);
  });
});

describe('a payment', () => {
  it.each(['4711', '#4711', 'order 4711'])('is found by its order’s number, typed as %s', async (typed) => {
    const { reference } = await charge(parties, { metadata: { orderId: '#4711', till: 3 } });
    await charge(parties, { description: 'Tea' });
    const page = await signedIn(parties.merchant);
    await page.getByLabel(/^Search by reference.* order number/).fill(typed);
    await page.keyboard.press('Enter');
    for (const text of ['orderId', '#4711', 'till']) await shows(page, text);
    await expectGoodPage(page);
    await page.getByRole('link', { name: 'All payments' }).click();
    await shows(page, `Clear “${typed}”`);
    await rowOf(page, reference).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
  });

  describe('that was declined', () => {
    const order = { metadata: { orderId: '4711' } };
    const declined = async () => {
      const billed = await bill(parties, order);
      await decline(parties, billed.id);
      return billed;
    };

    it('is charged again once, though two clerks press the button, and says by which charge', async () => {
      const { reference } = await declined();
      const first = await signedIn(parties.merchant, `payments/${reference}`);
      const second = await browser.open(first.url(), first);
      const held: Route[] = [];
      for (const page of [first, second]) {
        await page.route('**/v1/customer/bill', (asked) => void held.push(asked));
        await again(page);
      }
      // Each has looked for a charge of the other by now.
      await eventually(() => Promise.resolve(held.length === 2));
      await Promise.all(held.map((asked) => asked.continue()));
      for (const page of [first, second]) {
        await page.getByText(/The bank is asked|still runs/).waitFor();
        await page.reload();
        await shows(page, 'It was charged again:');
      }
      await expectGoodPage(first);
      expect(await charges()).toEqual(['pending', 'declined']);
      const [made] = await history(parties.merchant);
      expect(made?.['metadata']).toEqual({ orderId: '4711', chargedAgainFor: reference });
      await first.getByRole('link', { name: String(made?.['reference']) }).click();
      await shows(first, /^Pending until/);
      await decline(parties, String(made?.['billingRequestId']));
      await second.reload();
      await shows(second, 'It was charged again:');
    });

    it('is not charged again where its order was paid since, also while its page stays open', async () => {
      const { reference } = await declined();
      const page = await signedIn(parties.merchant, `payments/${reference}`);
      await page.getByRole('button', { name: 'Charge again …' }).click();
      const paid = await charge(parties, { ...order, amount: 99 });
      await page.getByRole('button', { name: /^Yes, charge/ }).click();
      await page.getByRole('alert').getByText(`charged alike since: ${paid.reference}`).waitFor();
      await page.reload();
      await shows(page, 'The customer was charged alike since:');
      expect(await page.getByRole('button', { name: 'Charge again …' }).count()).toBe(0);
      expect(await charges()).toEqual(['successful', 'declined']);
    });

    it('is charged again after a refusal, once its reason has ended', async () => {
      const { reference } = await declined();
      const page = await signedIn(parties.merchant, `payments/${reference}`);
      const decide = (customerDecision: string) =>
        parties.bank.send('PUT', `/v1/bank/customer-decisions/${parties.agreementId}`, { customerDecision });
      await decide('suspended');
      await again(page);
      await page.getByRole('alert').getByText('The customer has suspended').waitFor();
      await decide('approve_recurring');
      await page.getByRole('button', { name: /^Yes, charge/ }).click();
      await shows(page, 'It was charged again:');
      expect(await charges()).toEqual(['pending', 'declined']);
    });

    it('is not charged again over the customer’s no, nor while nobody knows whether its money moved', async () => {
      const denied = await bill(parties);
      await decline(parties, denied.id, 'denied');
      const doubted = await bill(parties);
      await decline(parties, doubted.id);
      await approve(parties, doubted.id);
      const page = await signedIn(parties.merchant, `payments/${denied.reference}`);
      await shows(page, 'The customer said no.');
      expect(await page.getByRole('button', { name: 'Charge again …' }).count()).toBe(0);
      await page.goto(`${served.api.url}/console#/payments/${doubted.reference}`);
      await shows(page, 'Its exception leaves open whether the money moved.');
      expect(await page.getByRole('button', { name: 'Charge again …' }).count()).toBe(0);
    });
  });

  it('says how much of it was refunded, and the open list follows without being loaded again', async () => {
    const { reference } = await charge(parties);
    const list = await signedIn(parties.merchant);
    await rowOf(list, reference).waitFor();
    await list.evaluate(`new MutationObserver(() => {
      window.emptied ||= document.querySelector('table') === null;
    }).observe(document.querySelector('main'), { childList: true, subtree: true })`);
    const page = await browser.open(`${served.api.url}/console#/payments/${reference}`, list);
    const refund = async (amount: number, says: RegExp) => {
      const { body } = await initiateRefund(parties, reference, amount);
      await list.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
      await rowOf(list, reference).filter({ hasText: says }).waitFor();
      await page.reload();
      await shows(page, says);
      await shows(page, 'The bank has not confirmed all of it yet.');
      await answerRefund(parties, String(body.data?.['refundId']), 'completed');
    };
    await refund(40, /Refund in part: NGN\s40\.00/);
    await refund(60, /Refund in whole: NGN\s100\.00/);
    await page.reload();
    await shows(page, /Refund in whole: NGN\s100\.00/);
    expect(await page.getByText('has not confirmed').count()).toBe(0);
    expect(await list.evaluate('window.emptied')).toBeFalsy();
    await Promise.all([list, page].map((one) => expectGoodPage(one)));
  });

  it('is offered what is left of it to refund, after a part was refunded', async () => {
    const { id, reference } = await charge(parties);
    const page = await signedIn(parties.merchant, `payments/${reference}`);
    const refund = async (amount: string, enter: () => Promise<void>) => {
      await page.getByRole('button', { name: 'Refund …' }).click();
      await enter();
      await page.getByRole('button', { name: new RegExp(`^Yes, refund NGN\\s${amount}$`) }).click();
      await shows(page, `${amount} is on its way back`);
    };
    await refund('25.00', () => page.getByLabel(/^Amount, of NGN\s100.00 that is left/).fill('25'));
    await shows(page, /Refund in part: NGN\s25\.00/);
    await refund('75.00', () => page.getByLabel(/^Amount, of NGN\s75.00 that is left/).waitFor());
    await shows(page, /Refund in whole: NGN\s100\.00/);
    const made = await served.db.rows`
      SELECT amount::int FROM refunds WHERE billing_request_id = ${id} ORDER BY amount`;
    expect(made).toEqual([{ amount: 2500 }, { amount: 7500 }]);
  });

  it('that is pending says until when, and what is waited for', async () => {
    const standing = await bill(parties);
    const asked = await bill(parties, {
      paymentIDs: undefined,
      lookupIDs: [await lookupIdOf(served.db, parties.customerId)],
    });
    const page = await signedIn(parties.merchant);
    for (const [{ id, reference }, who] of [
      [standing, 'the bank does not answer'],
      [asked, 'the customer does not approve it'],
    ] as const) {
      const { expiresAt } = await parties.merchant.read(`/v1/billing/requests/${id}`);
      const end = momentIn('Africa/Lagos', 'second')(String(expiresAt));
      await rowOf(page, reference).getByText(`until ${end}`).waitFor();
      await page.locator(`a[href$='${reference}']`).click();
      await shows(page, `Pending until ${end}.`);
      await shows(page, new RegExp(`declined if ${who}`));
      await expectGoodPage(page);
      await page.goBack();
    }
  });

  it('says that its webhooks are of another clock, where there are test clocks alone', async () => {
    const { reference } = await charge(parties);
    const page = await signedIn(parties.merchant, `payments/${reference}`);
    const said = page.getByText('have the real time');
    for (const place of [`payments/${reference}`, 'webhooks']) {
      await page.goto(`${served.api.url}/console#/${place}`);
      await said.waitFor();
    }
    await page.route('**/console/session', async (asked) => {
      const response = await asked.fetch();
      const body = (await response.text()).replace('"testClocks":true', '"testClocks":false');
      await asked.fulfill({ response, body });
    });
    await page.reload();
    await page.getByRole('table', { name: 'Webhook deliveries' }).waitFor();
    expect(await said.count()).toBe(0);
  });
});

test('a bank’s file of differences is saved under a name that says what it is, for a spreadsheet', async () => {
  const { body } = await parties.bank.post(
    '/v1/bank/statements',
    'bankTransactionId,bookingDate,amount,currency,direction\r\nẸBÙN,2026-01-28,1,NGN,debit\r\n',
    { 'content-type': 'text/csv' },
  );
  const statementId = String(body.data?.['statementId']);
  const page = await signedIn(parties.bank, `payments/${statementId}`);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download its differences as CSV' }).click(),
  ]);
  expect(download.suggestedFilename()).toMatch(/^bank-bank-file-differences-\d+-\w+-\d{4}-[\d-]+\.csv$/);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  expect(Buffer.concat(chunks).toString()).toBe(
    `\uFEFF${await parties.bank.file(`/v1/bank/statements/${statementId}/differences.csv`)}`,
  );
});
