import { createIntentActivities } from '../../src/activities/intent';
import { changeDecision } from '../../src/database/intent/change-decision';
import type { Executor } from '../../src/database/pool/connection';
import { signalDue } from '../../src/database/sandbox-clock/advance-sandbox-clock';
import { answerIntent } from '../../src/database/intent/answer-intent';
import { markIntentWaiting } from '../../src/database/intent/read-intent';
import { databaseOfFile } from '../support/database';
import { waitsForALock } from '../support/open-transaction';
import { signalsTo } from '../support/outbox';
import { lookupIdOf, moveClock, standingApproval, type Standing } from '../support/standing';
import { askIntents } from '../support/settled';

const { db } = databaseOfFile();
let standing: Standing;
beforeEach(async () => {
  standing = await standingApproval(db);
});

const readDecision = (intentId: string) => createIntentActivities(db).readDecision(intentId);

/** @returns the id of the intent; its workflow would be `intent/<id>` */
async function ask(): Promise<string> {
  const [id = ''] = await askIntents(db, standing, [await lookupIdOf(db, standing.customerId)]);
  return id;
}

async function answer(trx: Executor): Promise<void> {
  const { bankId, merchantId, customerId } = standing;
  const lookupId = await lookupIdOf(trx, customerId);
  const said = {
    customerDecision: 'approve_recurring',
    spendingLimits: undefined,
    blockMerchant: false,
  } as const;
  await answerIntent(trx, bankId, { customerId, merchantId, lookupId, ...said });
}

const signalsOf = (intentId: string) => signalsTo(db, `intent/${intentId}`);

const refuse = (decision: 'deny' | 'suspended', blockMerchant: boolean) =>
  db.transaction((trx) =>
    changeDecision(trx, standing.bankId, standing.agreementId, {
      customerDecision: decision,
      spendingLimits: undefined,
      blockMerchant,
    }),
  );

/** All that ends an intent before its window does. */
const ENDS = [
  ['the bank’s answer', () => db.transaction(answer), 'bankAnswered', 'approved'],
  ['the customer’s refusal at the bank', () => refuse('suspended', false), 'intentClosed', 'declined'],
  ['a block of the merchant', () => refuse('deny', true), 'intentClosed', 'declined'],
  ['a newer intent', async () => void (await ask()), 'intentClosed', 'superseded'],
] as const;

test.each(ENDS)(
  '%s signals a workflow that waits, once, and is found by one that does not wait yet',
  async (_, end, signal, status) => {
    const intentId = await ask();
    await end();
    expect(await signalsOf(intentId)).toEqual([]);
    expect(await readDecision(intentId)).toMatchObject({ status, closes: null });

    standing = await standingApproval(db);
    const waiting = await ask();
    expect(await readDecision(waiting)).toMatchObject({ status: 'pending' });
    await end();
    await end().catch(() => undefined);
    expect(await signalsOf(waiting)).toEqual([signal]);
    expect(await readDecision(waiting)).toMatchObject({ status, closes: null });
  },
);

describe('an answer that comes while the workflow starts to wait', () => {
  test('just before it is seen, and signals nobody', async () => {
    const intentId = await ask();
    let seen: ReturnType<typeof readDecision> | undefined;
    await db.transaction(async (trx) => {
      await answer(trx);
      seen = readDecision(intentId);
      await waitsForALock(db);
    });
    expect(await seen).toMatchObject({ status: 'approved', closes: null });
    expect(await signalsOf(intentId)).toEqual([]);
  });

  test('just after it signals the workflow', async () => {
    const intentId = await ask();
    let answered: Promise<void> | undefined;
    await db.transaction(async (trx) => {
      expect(await markIntentWaiting(trx, intentId)).toMatchObject({ status: 'pending' });
      answered = db.transaction(answer);
      await waitsForALock(db);
    });
    await answered;
    expect(await signalsOf(intentId)).toEqual(['bankAnswered']);
  });
});

test('a window that has passed is closed by the workflow itself, which nobody signals', async () => {
  const intentId = await ask();
  await moveClock(db, standing.merchantId, '25 hours');
  expect(await readDecision(intentId)).toMatchObject({ status: 'expired', closes: null });
  expect(await signalsOf(intentId)).toEqual([]);
});

test('a test clock that is moved signals a workflow that sleeps, and leaves one alone that is about to read', async () => {
  const intentId = await ask();
  await signalDue(db, standing.merchantId, 'infinity');
  expect(await signalsOf(intentId)).toEqual([]);
  await readDecision(intentId);
  await signalDue(db, standing.merchantId, 'infinity');
  expect(await signalsOf(intentId)).toEqual(['clockMoved']);
});
