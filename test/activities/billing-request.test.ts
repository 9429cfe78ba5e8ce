import { createBillingRequestActivities } from '../../src/activities/billing-request';
import { billingRules, readConfig } from '../../src/config';
import { acceptCharges } from '../../src/database/billing-request';
import { row, type Database } from '../../src/database/connection';
import { makeKeyring, readKeyring } from '../../src/database/keyring';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { moveClock, standingApproval } from '../support/standing';

const keyring = readKeyring(makeKeyring());

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

test('a workflow that was started without its charges finds those that are open, and closes them in time', async () => {
  const { merchantId, customerId } = await standingApproval(db, keyring, {});
  const customer = await row<{ lookupId: string }>(
    db,
    `SELECT lookup_id AS "lookupId" FROM customers WHERE id = :customerId`,
    { customerId },
  );
  const lookupId = customer?.lookupId ?? '';
  const carrier = 'billing-batch/one-of-its-own';
  await db.transaction((trx) =>
    acceptCharges(
      trx,
      keyring,
      billingRules(readConfig({})),
      merchantId,
      [{ phrase: lookupId, lookupId }],
      { amount: 100n, currency: 'NGN', description: 'Shoes' },
      () => carrier,
    ),
  );
  const told: string[] = [];
  const activities = createBillingRequestActivities(db, keyring, (of) => Promise.resolve(told.push(of)));
  expect(await activities.settleRequests([], carrier)).toMatchObject({ open: 1, status: 'pending' });
  await moveClock(db, merchantId, '16 minutes');
  expect(await activities.settleRequests([], carrier)).toMatchObject({ open: 0, nextClose: null });
  expect(
    await row(db, `SELECT status FROM billing_requests WHERE workflow_id = :carrier`, { carrier }),
  ).toEqual({
    status: 'declined',
  });
  expect(told).toEqual([carrier, carrier]);
});
