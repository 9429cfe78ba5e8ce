import { createRefundActivities } from '../../src/activities/refund';
import { billingRules, readConfig } from '../../src/settings/config';
import { acceptCharges } from '../../src/database/billing-request/accept-billing-requests';
import { rows, type Database, type Transaction } from '../../src/database/pool/connection';
import { signalDue } from '../../src/database/sandbox-clock/advance-sandbox-clock';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { answerRefund, startWaiting } from '../../src/database/refund/settle-refund';
import { initiateRefund } from '../../src/database/refund/accept-refund';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { answerCharges, moveClock, standingApproval, type Standing } from '../support/standing';

const keyring = readKeyring(makeKeyring());
const config = readConfig({});

let database: TestDatabase;
let db: Database;
let standing: Standing;
let refundId: string;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

/** Each test has a refund that nobody has looked at. */
beforeEach(async () => {
  standing = await standingApproval(db, keyring);
  const { merchantId, agreementId, paymentId } = standing;
  const { items } = await db.transaction((trx) =>
    acceptCharges(
      trx,
      keyring,
      billingRules(config),
      merchantId,
      [{ phrase: paymentId, agreementId }],
      { amount: 100n, currency: 'NGN', description: 'Shoes' },
      (id) => `billing-request/${id}`,
    ),
  );
  await answerCharges(db, keyring, standing);
  const [item] = items;
  if (!item || !('accepted' in item)) throw new Error('the charge was refused');
  const wish = { reference: item.accepted.reference, amount: undefined, reason: undefined };
  const made = await db.transaction((trx) =>
    initiateRefund(trx, keyring, config.NETWORK_TIMEZONE, merchantId, wish),
  );
  refundId = made.refundId;
});

const activities = () => createRefundActivities(db, keyring, config.NETWORK_TIMEZONE);
const readRefund = () => activities().readRefund(refundId);

const answer = (trx: Transaction) =>
  answerRefund(trx, keyring, config.NETWORK_TIMEZONE, standing.bankId, refundId, {
    action: 'completed',
    bankTransactionId: `back-${refundId}`,
    reason: null,
  });

async function signals(): Promise<string[]> {
  const found = await rows<{ signal: string }>(
    db,
    `SELECT signal FROM outbox WHERE kind = 'signal' AND workflow_id = :workflowId ORDER BY id`,
    { workflowId: `refund/${refundId}` },
  );
  return found.map(({ signal }) => signal);
}

describe('the bank’s answer', () => {
  test('is found by a workflow that has not slept yet, and no signal meets its task', async () => {
    await db.transaction(answer);
    expect(await signals()).toEqual([]);
    expect(await readRefund()).toMatchObject({ status: 'completed', next: null });
  });

  test('signals a workflow that sleeps, once', async () => {
    expect(await readRefund()).toMatchObject({ status: 'pending' });
    await db.transaction(answer);
    await db.transaction(answer);
    expect(await signals()).toEqual(['bankAnswered']);
    expect(await readRefund()).toMatchObject({ status: 'completed', next: null });
  });

  test('to a reminder, which comes while the workflow sends it, is found by that and signals nobody', async () => {
    await readRefund();
    await moveClock(db, standing.merchantId, '10 days');
    expect(await readRefund()).toMatchObject({ next: { inMs: 0 } });
    await activities().remindBank(refundId);
    await db.transaction(answer);
    expect(await signals()).toEqual([]);
    expect(await readRefund()).toMatchObject({ status: 'completed', next: null });
  });

  test('after a reminder signals the workflow, which sleeps again', async () => {
    await readRefund();
    await moveClock(db, standing.merchantId, '10 days');
    await activities().remindBank(refundId);
    await readRefund();
    await db.transaction(answer);
    expect(await signals()).toEqual(['bankAnswered']);
  });
});

/** One of the two waits for the other's lock. */
const waiting = () =>
  eventually(async () => {
    const found = await rows(
      db,
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
    );
    return found.length > 0;
  });

describe('an answer that comes while the workflow starts to wait', () => {
  test('just before it is seen, and signals nobody', async () => {
    let seen: ReturnType<typeof readRefund> | undefined;
    await db.transaction(async (trx) => {
      await answer(trx);
      seen = readRefund();
      await waiting();
    });
    expect(await seen).toMatchObject({ status: 'completed', next: null });
    expect(await signals()).toEqual([]);
  });

  test('just after it signals the workflow', async () => {
    let answered: Promise<unknown> | undefined;
    await db.transaction(async (trx) => {
      expect(await startWaiting(trx, refundId)).toMatchObject({ status: 'pending' });
      answered = db.transaction(answer);
      await waiting();
    });
    await answered;
    expect(await signals()).toEqual(['bankAnswered']);
  });
});

test('a test clock that is moved signals a workflow that sleeps, and leaves one alone that is about to read', async () => {
  await signalDue(db, standing.merchantId, 'infinity');
  expect(await signals()).toEqual([]);
  await readRefund();
  await signalDue(db, standing.merchantId, 'infinity');
  expect(await signals()).toEqual(['clockMoved']);
});
