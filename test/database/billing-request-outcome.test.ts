import { acceptCharges } from '../../src/database/billing-request';
import { answerBillingRequest } from '../../src/database/billing-request-outcome';
import { billingRules, readConfig } from '../../src/config';
import { row, type Database } from '../../src/database/connection';
import { makeKeyring, readKeyring } from '../../src/database/keyring';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { standingApproval, type Standing } from '../support/standing';

const keyring = readKeyring(makeKeyring());
const rules = billingRules(readConfig({}));

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

/** A one-time bill by lookup ID, which the bank answers with a standing approval. */
async function grantByOneTimeBill(standing: Standing, currency: string): Promise<void> {
  const customer = await row<{ lookupId: string }>(
    db,
    `SELECT lookup_id AS "lookupId" FROM customers WHERE id = :customerId`,
    { customerId: standing.customerId },
  );
  const lookupId = customer?.lookupId ?? '';
  await db.transaction(async (trx) => {
    const { items } = await acceptCharges(
      trx,
      keyring,
      rules,
      standing.merchantId,
      [{ phrase: lookupId, lookupId }],
      { amount: 100n, currency, description: 'One time' },
      (_, [first]) => `billing-request/${first}`,
    );
    const [item] = items;
    if (!item || !('accepted' in item)) throw new Error('the bill was refused');
    const { billingRequestId } = item.accepted;
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

  it('has no limits where those there were are sums of another currency', async () => {
    const standing = await standingApproval(db, keyring, agreed);
    await grantByOneTimeBill(standing, 'JPY');
    expect(await limits(standing)).toMatchObject({ currency: 'JPY', daily: null, monthly: null });
  });
});
