import { createRefundActivities } from '../../src/activities/refund';
import type { Executor, Transaction } from '../../src/database/pool/connection';
import { signalDue } from '../../src/database/sandbox-clock/advance-sandbox-clock';
import { answerRefund, markRefundWaiting } from '../../src/database/refund/settle-refund';
import { databaseOfFile } from '../support/database';
import { waitsForALock } from '../support/open-transaction';
import { signalsTo } from '../support/outbox';
import { charge, refund } from '../support/settled';
import { moveClock, standingApproval, type Standing } from '../support/standing';

const { db } = databaseOfFile();
let standing: Standing;
let refundId: string;

/** Each test has a refund that nobody has looked at. */
beforeEach(async () => {
  standing = await standingApproval(db);
  const { reference } = await charge(db, standing);
  refundId = await refund(db, standing, reference, 1);
});

const activities = () => createRefundActivities(db);
const readRefund = () => activities().readRefund(refundId);

const answer = (trx: Transaction) =>
  answerRefund(trx, standing.bankId, refundId, {
    action: 'completed',
    bankTransactionId: `back-${refundId}`,
    reason: null,
  });

const signals = (trx: Executor = db) => signalsTo(trx, `refund/${refundId}`);

describe('the bank’s answer', () => {
  test('signals a workflow that sleeps, once', async () => {
    expect(await readRefund()).toMatchObject({ status: 'pending' });
    await db.transaction(answer);
    await db.transaction(answer);
    expect(await signals()).toEqual(['bankAnswered']);
    expect(await readRefund()).toMatchObject({ status: 'completed', next: null });
  });

  test('to a reminder is found by the workflow that sends it, and signals it once it waits again', async () => {
    await readRefund();
    await moveClock(db, standing.merchantId, '10 days');
    expect(await readRefund()).toMatchObject({ next: { inMs: 0 } });
    await activities().remindBank(refundId);
    const undone = new Error('undone');
    const early = db.transaction(async (trx) => {
      await answer(trx);
      expect(await signals(trx)).toEqual([]);
      throw undone;
    });
    await expect(early).rejects.toBe(undone);
    await readRefund();
    await db.transaction(answer);
    expect(await signals()).toEqual(['bankAnswered']);
    expect(await readRefund()).toMatchObject({ status: 'completed', next: null });
  });
});

describe('an answer that comes while the workflow starts to wait', () => {
  test('just before it is seen, and signals nobody', async () => {
    let seen: ReturnType<typeof readRefund> | undefined;
    await db.transaction(async (trx) => {
      await answer(trx);
      seen = readRefund();
      await waitsForALock(db);
    });
    expect(await seen).toMatchObject({ status: 'completed', next: null });
    expect(await signals()).toEqual([]);
  });

  test('just after it signals the workflow', async () => {
    let answered: Promise<unknown> | undefined;
    await db.transaction(async (trx) => {
      expect(await markRefundWaiting(trx, refundId)).toMatchObject({ status: 'pending' });
      answered = db.transaction(answer);
      await waitsForALock(db);
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
