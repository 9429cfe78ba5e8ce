import { acceptCharges } from '../../src/database/billing-request';
import { answerBillingRequest, closeExpiredRequests } from '../../src/database/billing-request-outcome';
import { billingRules, readConfig } from '../../src/config';
import { row, type Database, type Transaction } from '../../src/database/connection';
import { makeKeyring, readKeyring } from '../../src/database/keyring';
import { setWebhookUrl } from '../../src/database/webhook-endpoint';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { moveClock, standingApproval, type Standing } from '../support/standing';

const keyring = readKeyring(makeKeyring());
const rules = billingRules(readConfig({}));

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

/** A one-time bill by lookup ID; returns the id of the request. */
async function billOnce(trx: Transaction, { customerId, merchantId }: Standing, currency: string) {
  const customer = await row<{ lookupId: string }>(
    trx,
    `SELECT lookup_id AS "lookupId" FROM customers WHERE id = :customerId`,
    { customerId },
  );
  const lookupId = customer?.lookupId ?? '';
  const { items } = await acceptCharges(
    trx,
    keyring,
    rules,
    merchantId,
    [{ phrase: lookupId, lookupId }],
    { amount: 100n, currency, description: 'One time' },
    (_, [first]) => `billing-request/${first}`,
  );
  const [item] = items;
  if (!item || !('accepted' in item)) throw new Error('the bill was refused');
  return item.accepted.billingRequestId;
}

/** A one-time bill by lookup ID, which the bank answers with a standing approval. */
async function grantByOneTimeBill(standing: Standing, currency: string): Promise<void> {
  await db.transaction(async (trx) => {
    const billingRequestId = await billOnce(trx, standing, currency);
    const answer = {
      outcome: 'approved',
      bankTransactionId: billingRequestId,
      action: 'approve_recurring',
    } as const;
    await answerBillingRequest(trx, keyring, standing.bankId, billingRequestId, answer, {});
  });
}

function limits({ agreementId }: Standing) {
  return row(
    db,
    `SELECT decision, currency, daily_limit::bigint AS daily, monthly_limit::bigint AS monthly FROM agreements
     WHERE id = :agreementId`,
    { agreementId },
  );
}

describe('a standing approval given with a one-time payment', () => {
  const agreed = { dailyLimit: 500n, monthlyLimit: 900n };

  it('leaves the spending limits that the customer has set in this currency', async () => {
    const standing = await standingApproval(db, keyring, agreed);
    await grantByOneTimeBill(standing, 'NGN');
    expect(await limits(standing)).toEqual({
      decision: 'approve_recurring',
      currency: 'NGN',
      daily: 500n,
      monthly: 900n,
    });
  });

  it('leaves limits and currency alone also where the payment was in another currency', async () => {
    const standing = await standingApproval(db, keyring, agreed);
    await grantByOneTimeBill(standing, 'JPY');
    expect(await limits(standing)).toEqual({
      decision: 'approve_recurring',
      currency: 'NGN',
      daily: 500n,
      monthly: 900n,
    });
  });
});

const asked = (billingRequestId: string) =>
  row<{ status: string; attempts: number }>(
    db,
    `SELECT d.status, d.attempts FROM webhook_deliveries d JOIN billing_requests b ON b.bank_delivery_id = d.id
     WHERE b.id = :billingRequestId`,
    { billingRequestId },
  );

describe('a charge whose window passes before the bank was reached', () => {
  it('is not asked for any more, so that the bank does not debit for nothing', async () => {
    const standing = await standingApproval(db, keyring, {});
    await setWebhookUrl(db, standing.bankId, 'http://bank.test/');
    const id = await db.transaction((trx) => billOnce(trx, standing, 'NGN'));
    expect(await asked(id)).toEqual({ status: 'pending', attempts: 0 });
    await moveClock(db, standing.merchantId, '16 minutes');
    await db.transaction((trx) => closeExpiredRequests(trx, keyring, [id]));
    expect(await asked(id)).toEqual({ status: 'failed', attempts: 0 });
  });
});
