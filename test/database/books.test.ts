import { readConfig, recurringRules } from '../../src/config';
import { row, rows } from '../../src/database/connection';
import { createIntents } from '../../src/database/intent/intent';
import { closeExpiredIntent } from '../../src/database/intent/outcome';
import { open } from '../../src/database/keys/sealing';
import { changeSchedule, pauseSchedule, resumeSchedule } from '../../src/database/recurring/action';
import { announce, bodyPlace } from '../../src/database/webhook/webhook';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { forgetDeliveries } from '../../src/database/webhook/retention';
import { bookCursor, walkBooks } from '../../src/database/operation/books';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { bookWords } from '../../src/domain/words/books-words';
import { resolveException } from '../../src/database/reconciliation-exception/resolve';
import { answerRefund } from '../../src/database/refund/outcome';
import { openStatementExceptions } from '../../src/database/reconciliation-exception/statement';
import { bookDifferences } from '../support/books';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { postingsOf } from '../support/ledger';
import { answerBill, bill, charge, refund, settleOfEachKind } from '../support/settled';
import {
  announcedTo,
  lookupIdOf,
  makeSchedule,
  moveClock,
  standingApproval,
  type Standing,
} from '../support/standing';
import { closeExpiredRequests } from '../../src/database/billing-request/outcome';

const keyring = readKeyring(makeKeyring());
const timeZone = 'Africa/Lagos';
const rules = recurringRules(readConfig({}));

let database: TestDatabase;
let standing: Standing;
let made: Awaited<ReturnType<typeof settleOfEachKind>> & { expiredId: string };
beforeEach(async () => {
  database = await createTestDatabase();
  standing = await standingApproval(database.db, keyring);
  const ended = await settleOfEachKind(database.db, keyring, standing);
  const { id: expiredId } = await bill(database.db, keyring, standing);
  await rows(
    database.db,
    `UPDATE webhook_deliveries SET status = 'delivered', finished_at = now(), sent = 1
     WHERE id = (SELECT bank_delivery_id FROM billing_requests WHERE id = :expiredId)`,
    { expiredId },
  );
  await moveClock(database.db, standing.merchantId, '2 days');
  await database.db.transaction((trx) => closeExpiredRequests(trx, keyring, [expiredId]));
  made = { ...ended, expiredId };
});
afterEach(() => database.drop());

async function look(fix: boolean) {
  const all = [];
  for await (const { differences } of walkBooks(
    database.db,
    keyring,
    fix ? timeZone : undefined,
    bookCursor('', ''),
  )) {
    all.push(...differences.map((one) => ({ ...one, ...bookWords(one) })));
  }
  return all;
}

/** By the owner of the tables, who can take triggers away. */
const tamper = (sql: string) => asOwner(database.url, `SET session_replication_role = replica; ${sql}`);

const unpost = (of: string) => `
  DELETE FROM ledger_postings WHERE entry_id IN (SELECT id FROM ledger_entries WHERE ${of});
  DELETE FROM ledger_entries WHERE ${of};
  DELETE FROM ledger_balance_changes; DELETE FROM ledger_folded_balances;
  INSERT INTO ledger_folded_balances SELECT p.party_id, p.account, p.currency, e.settlement_day,
    coalesce(sum(p.amount) FILTER (WHERE p.direction = 'debit'), 0), coalesce(sum(p.amount) FILTER (WHERE p.direction = 'credit'), 0)
    FROM ledger_postings p JOIN ledger_entries e ON e.id = p.entry_id GROUP BY 1, 2, 3, 4;
  DELETE FROM daily_totals_changes WHERE what <> 'declined';
  INSERT INTO daily_totals_changes SELECT p.party_id, e.settlement_day, p.currency,
    CASE e.kind WHEN 'charge' THEN 'charged' WHEN 'refund' THEN 'refunded' ELSE 'reversed' END, '', count(*), sum(p.amount)
    FROM ledger_postings p JOIN ledger_entries e ON e.id = p.entry_id
    WHERE p.account IN ('merchant', 'customer_bank') AND e.kind IN ('charge', 'refund', 'reversal') GROUP BY 1, 2, 3, 4`;

const exceptionOf = async (id: string) =>
  (
    await row<{ id: string }>(
      database.db,
      `SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :id`,
      { id },
    )
  )?.id ?? '';

/** What is said of a resource of which somebody was not told. */
const missing = (id: string | undefined, webhooks: string) =>
  `${id} change_untold it has changed, and these webhooks, which tell of it, are not there: ${webhooks}`;

/** What was told to whom, of what, and by which number. */
async function told(): Promise<string[]> {
  const all = await rows<{ id: string; entityId: string; webhookType: string; bodySealed: Buffer }>(
    database.db,
    `SELECT id, entity_id AS "entityId", webhook_type AS "webhookType", body_sealed AS "bodySealed" FROM webhook_deliveries`,
  );
  return all
    .flatMap(({ id, entityId, webhookType, bodySealed }) => {
      const { data } = JSON.parse(open(keyring, bodySealed, bodyPlace(id))) as {
        data: ({ sequence: number; status?: string } & Record<string, string>)[];
      };
      return data.map((item) => {
        const about =
          item['refundId'] ??
          item['intentId'] ??
          item['scheduleId'] ??
          item['exceptionId'] ??
          item['billingRequestId'];
        return `${webhookType} to ${entityId}: ${about} ${item.sequence}`;
      });
    })
    .toSorted();
}

/** A schedule, by its id. */
async function pausedAndResumed(): Promise<string> {
  const { db } = database;
  const caller = { entityId: standing.merchantId, role: 'merchant' } as const;
  const scheduleId = await makeSchedule(db, keyring, standing);
  await db.transaction((trx) => pauseSchedule(trx, keyring, caller, scheduleId));
  await db.transaction((trx) => resumeSchedule(trx, keyring, caller, scheduleId));
  return scheduleId;
}

async function askIntent(): Promise<string> {
  const { db } = database;
  const lookupId = await lookupIdOf(db, standing.customerId);
  const asked = {
    lookupIds: [{ phrase: 'p', lookupId }],
    currency: 'NGN',
    description: 'x',
    dueDate: undefined,
  };
  const { intents } = await db.transaction((trx) =>
    createIntents(trx, keyring, rules, standing.merchantId, asked, (id) => `intent/${id}`),
  );
  return intents[0]?.id ?? '';
}

/** An intent whose place the merchant's next one has taken. */
async function supersededIntent(): Promise<string> {
  const intentId = await askIntent();
  await askIntent();
  return intentId;
}

/** An intent whose window has passed before its bank was asked. */
async function unaskedIntent(): Promise<string> {
  const { db } = database;
  const intentId = await askIntent();
  await moveClock(db, standing.merchantId, '25 hours');
  await db.transaction((trx) => closeExpiredIntent(trx, keyring, intentId));
  return intentId;
}

describe('books that belong together', () => {
  it('show no difference, also once their webhooks are forgotten', async () => {
    expect(await look(false)).toEqual([]);
    await tamper(`UPDATE webhook_deliveries SET status = 'delivered', finished_at = now(), created_at = now() - interval '40 days',
      id = 'dlv_00' || substr(id, 7)`);
    await tamper(`UPDATE billing_requests SET bank_delivery_id = 'dlv_00' || substr(bank_delivery_id, 7)`);
    await tamper(`UPDATE refunds SET bank_delivery_ids =
      ARRAY(SELECT 'dlv_00' || substr(id, 7) FROM unnest(bank_delivery_ids) AS id)`);
    await tamper(`UPDATE events SET recorded_at = recorded_at - interval '40 days'`);
    await forgetDeliveries(database.db, keyring, 30);
    expect(await look(false)).toEqual([]);
  });

  it.each<[string, string, () => string | Promise<string>, () => string | Promise<string>]>([
    [
      'a charge that an older process has settled without the ledger',
      'charge_unposted',
      () => unpost(`resource_id = '${made.chargeId}'`),
      () => made.chargeId,
    ],
    [
      'a credit',
      'credit_unposted',
      () => unpost(`resource_id = '${made.paymentId}' AND kind = 'credit'`),
      () => made.paymentId,
    ],
    ['a refund', 'refund_unposted', () => unpost(`kind = 'refund'`), () => made.refundId],
    [
      'a reversal',
      'reversal_unposted',
      () => unpost(`kind = 'reversal'`),
      async () =>
        (await row<{ id: string }>(database.db, `SELECT transaction_id AS id FROM reversals`))?.id ?? '',
    ],
    [
      'a write-off',
      'write_off_unposted',
      () => unpost(`kind = 'write_off'`),
      async () =>
        (
          await row<{ id: string }>(
            database.db,
            `SELECT id FROM reconciliation_exceptions WHERE resolution = 'written_off'`,
          )
        )?.id ?? '',
    ],
    [
      'a silence that nobody would look into',
      'silence_unnoted',
      async () => {
        const id = await exceptionOf(made.expiredId);
        return `DELETE FROM reconciliation_exceptions WHERE id = '${id}'; DELETE FROM events WHERE resource_id = '${id}';
          DELETE FROM webhook_deliveries WHERE webhook_type = 'exception.opened' AND created_xid =
            (SELECT max(created_xid) FROM webhook_deliveries WHERE webhook_type = 'exception.opened')`;
      },
      () => made.expiredId,
    ],
    [
      'an exception that no side was told of',
      'exception_untold',
      async () =>
        `UPDATE reconciliation_exceptions SET told = 0 WHERE id = '${await exceptionOf(made.expiredId)}'`,
      () => exceptionOf(made.expiredId),
    ],
    [
      'an exception of no charge that its bank was not told of',
      'exception_untold',
      () => `UPDATE reconciliation_exceptions SET told = 0 WHERE kind = 'unknown_here'`,
      async () => {
        const unknown = {
          kind: 'unknown_here',
          billingRequestId: null,
          refundId: null,
          bankTransactionId: 'FEE-1',
          direction: 'debit',
          amount: 7n,
          currency: 'NGN',
          bookedAmount: 7n,
          bookedCurrency: 'NGN',
          reference: null,
          held: 0n,
        } as const;
        const [opened] = await database.db.transaction((trx) =>
          openStatementExceptions(trx, keyring, standing.bankId, [unknown]),
        );
        return opened?.exceptionId ?? '';
      },
    ],
    [
      'an amount that is held for nothing',
      'held_differs',
      () => `UPDATE billing_requests SET held_amount = 7 WHERE id = '${made.chargeId}'`,
      () => made.chargeId,
    ],
    [
      'an end that its merchant was never told of',
      'end_unannounced',
      () => `DELETE FROM webhook_deliveries WHERE webhook_type = 'billing.response' AND batch_id =
        (SELECT batch_id FROM billing_requests WHERE id = '${made.chargeId}')`,
      () => made.chargeId,
    ],
  ])('name %s, and have it written once', async (_, wrong, take, ofWhat) => {
    const before = await postingsOf(database.db, made.chargeId);
    const id = await ofWhat();
    await tamper(await take());
    const difference = { id, wrong, todo: '"reconcile --fix" mends it' };
    expect(await look(false)).toMatchObject([{ ...difference, mended: false }]);
    expect(await look(true)).toMatchObject([{ ...difference, mended: true }]);
    expect(await look(true)).toEqual([]);
    expect(await postingsOf(database.db, made.chargeId)).toEqual(before);
    const differing = (await bookDifferences(database.db)).filter((one) => !one.startsWith('trails'));
    expect(differing).toEqual([]);
  });

  it('name a write-off of what a bank has booked otherwise, and have no more written than differed', async () => {
    const { db } = database;
    const { id } = await charge(db, keyring, standing);
    const differing = {
      kind: 'amount_differs',
      billingRequestId: id,
      refundId: null,
      bankTransactionId: `tx-${id}`,
      direction: 'debit',
      amount: 100n,
      currency: 'NGN',
      bookedAmount: 70n,
      bookedCurrency: 'NGN',
      reference: null,
      held: 30n,
    } as const;
    const [opened] = await db.transaction((trx) =>
      openStatementExceptions(trx, keyring, standing.bankId, [differing], 'bank-statement/stm_1'),
    );
    const exceptionId = opened?.exceptionId ?? '';
    const by = { cause: 'operator', note: null } as const;
    const finding = { resolution: 'written_off', bankTransactionId: null } as const;
    await db.transaction((trx) => resolveException(trx, keyring, timeZone, by, exceptionId, finding));
    const before = await postingsOf(db, exceptionId);
    expect(before).toContain(`write_off: +30 NGN customer_bank of ${standing.bankId}`);

    await tamper(unpost(`resource_id = '${exceptionId}'`));
    expect(await look(false)).toMatchObject([{ id: exceptionId, wrong: 'write_off_unposted' }]);
    expect(await look(true)).toMatchObject([{ mended: true }]);
    expect(await look(true)).toEqual([]);
    expect(await postingsOf(db, exceptionId)).toEqual(before);
  });

  it('name a charge that was found reversed, of which something is left, and have it reversed once', async () => {
    const { db } = database;
    const { id, reference } = await charge(db, keyring, standing);
    const refundId = await refund(db, keyring, standing, reference, 1);
    await answerBill(db, keyring, standing, id, null);
    const exceptionId = await exceptionOf(id);
    const by = { cause: 'operator', note: null } as const;
    const finding = { resolution: 'no_money_moved', bankTransactionId: null } as const;
    await db.transaction((trx) => resolveException(trx, keyring, timeZone, by, exceptionId, finding));
    // An older process has taken the bank's word on the refund.
    await tamper(`UPDATE reconciliation_exceptions SET resolution = 'confirmed' WHERE id = '${exceptionId}'`);
    await db.transaction((trx) =>
      answerRefund(trx, keyring, timeZone, standing.bankId, refundId, {
        action: 'rejected',
        bankTransactionId: null,
        reason: 'account_closed',
      }),
    );
    await tamper(
      `UPDATE reconciliation_exceptions SET resolution = 'no_money_moved' WHERE id = '${exceptionId}'`,
    );

    expect(await look(false)).toMatchObject([{ id, wrong: 'reversal_lacking', mended: false }]);
    expect(await look(true)).toMatchObject([{ mended: true }]);
    expect(await look(true)).toEqual([]);
    const reversed = await rows(
      db,
      `SELECT amount::int, refund_id AS "refundId" FROM reversals WHERE billing_request_id = :id`,
      { id },
    );
    expect(reversed).toEqual([{ amount: 100, refundId }]);
    expect(await bookDifferences(db)).toEqual([]);
  });

  it.each<[string, string[], () => string]>([
    [
      'a charge whose row says no more that it succeeded',
      ['end_unrecorded', 'entry_of_unsettled'],
      () => `UPDATE billing_requests SET status = 'declined', decline_reason = 'x', bank_transaction_id = NULL,
        refunded_amount = 0 WHERE id = '${made.chargeId}'`,
    ],
    [
      'an entry whose refund is gone',
      ['change_of_nothing', 'entry_of_nothing', 'telling_of_nothing'],
      () => `DELETE FROM refunds WHERE id = '${made.refundId}'`,
    ],
    [
      'a question to a bank whose charge is gone',
      ['change_of_nothing', 'question_of_nothing'],
      () => `DELETE FROM billing_requests WHERE id = '${made.expiredId}'`,
    ],
    [
      'a charge whose question to its bank is gone',
      ['question_lost'],
      () =>
        `DELETE FROM webhook_deliveries d USING billing_requests b WHERE b.bank_delivery_id = d.id AND b.status = 'pending'`,
    ],
    [
      'a refund whose question to its bank is gone',
      ['refund_question_lost'],
      () =>
        `DELETE FROM webhook_deliveries WHERE id IN (SELECT unnest(bank_delivery_ids) FROM refunds WHERE status = 'pending')`,
    ],
    [
      'a refund whose end is not in its trail',
      ['end_unrecorded'],
      () =>
        `DELETE FROM events WHERE resource_id = '${made.refundId}' AND type = 'refund.completed';
         UPDATE refunds SET sequence = 1 WHERE id = '${made.refundId}'`,
    ],
  ])('name %s, and leave it to an operator', async (_, wrong, change) => {
    await tamper(change());
    const found = await look(true);
    expect([...new Set(found.map((one) => one.wrong))].toSorted()).toEqual(wrong);
    expect(found.every((one) => !one.mended && one.todo.length > 20)).toBe(true);
  });

  it('name each open intent whose question to its bank is gone, and have the bank asked once, by the same webhook', async () => {
    const { db } = database;
    const question = () =>
      rows<{ id: string; batchId: string; status: string; body: string }>(
        db,
        `SELECT id, batch_id AS "batchId", status, body_sealed AS body FROM webhook_deliveries WHERE webhook_type = 'billing.intent'`,
      );
    const asked = async () =>
      (await announcedTo(db, keyring, standing.bankId)).filter(({ type }) => type === 'billing.intent');
    const intentId = await askIntent();
    const [before] = await question();
    const [itemBefore] = await asked();
    await tamper(`DELETE FROM webhook_deliveries WHERE webhook_type = 'billing.intent'`);

    const lost = { id: intentId, wrong: 'intent_question_lost' };
    expect(await look(false)).toMatchObject([{ ...lost, mended: false }]);
    const urlIs = (url: string | null) =>
      rows(db, `UPDATE webhook_endpoints SET url = :url WHERE entity_id = :bankId`, {
        url,
        bankId: standing.bankId,
      });
    await urlIs('https://bank.example/hooks');
    expect(await look(true)).toMatchObject([{ ...lost, mended: true }]);
    await urlIs(null);
    expect(await look(true)).toEqual([]);
    const after = await question();
    expect(after.map(({ id, batchId }) => ({ id, batchId }))).toEqual([
      { id: before?.id, batchId: before?.batchId },
    ]);
    expect((await asked()).map(({ item }) => item)).toEqual([itemBefore?.item]);
    // Also where the workflow of the one that was lost has ended.
    const starts = await rows<{ again: string | null }>(
      db,
      `SELECT start->>'again' AS again FROM outbox WHERE workflow_id = :id ORDER BY created_at DESC LIMIT 1`,
      { id: workflowIds.webhookDelivery(String(before?.id)) },
    );
    expect(starts).toEqual([{ again: 'redeliveryRequested' }]);
    const { details } = (await row<{ details: object }>(
      db,
      `SELECT details FROM events WHERE resource_id = :intentId AND type = 'intent.announced'`,
      { intentId },
    )) ?? { details: {} };
    expect(details).toEqual({ of: 1, to: standing.bankId, webhookType: 'billing.intent' });
    expect(await bookDifferences(db)).toEqual([]);

    // Whose window has passed is asked for no more.
    await tamper(`DELETE FROM webhook_deliveries WHERE webhook_type = 'billing.intent'`);
    await moveClock(db, standing.merchantId, '25 hours');
    expect((await look(true)).filter(({ id }) => id === intentId)).toEqual([]);
    expect(await question()).toEqual([]);
  });

  it('name each change that somebody was not told of, and have each told once, by the number it had', async () => {
    const { db } = database;
    const { merchantId, bankId } = standing;
    const scheduleId = await pausedAndResumed();
    const intent = await supersededIntent();
    const exceptionId = await exceptionOf(made.reversedId);
    expect(await look(false)).toEqual([]);

    const before = await told();
    await tamper(`DELETE FROM webhook_deliveries WHERE webhook_type IN
      ('refund.response', 'billing.intent.response', 'billing.intent.closed', 'exception.resolved');
      DELETE FROM webhook_deliveries WHERE webhook_type = 'recurring.updated' AND entity_id = '${bankId}'`);

    const lacking = (await look(false)).map(({ id, wrong, what }) => `${id} ${wrong} ${what}`);
    expect(lacking).toEqual(
      expect.arrayContaining([
        missing(made.refundId, `refund.response to ${merchantId} (refund.completed)`),
        missing(
          intent,
          `billing.intent.closed to ${bankId} (intent.superseded), billing.intent.response to ${merchantId} (intent.superseded)`,
        ),
        missing(
          scheduleId,
          `recurring.updated to ${bankId} (schedule.paused), recurring.updated to ${bankId} (schedule.resumed)`,
        ),
        missing(
          exceptionId,
          [bankId, merchantId]
            .toSorted()
            .map((side) => `exception.resolved to ${side} (exception.resolved)`)
            .join(', '),
        ),
      ]),
    );
    const mended = await look(true);
    expect(mended.every((one) => one.mended)).toBe(true);
    expect(await told()).toEqual(before);
    expect(await look(true)).toEqual([]);
    expect(await told()).toEqual(before);
    expect(await bookDifferences(db)).toEqual([]);

    // As in a database that was restored: the numbers of its transactions are others.
    await tamper(`UPDATE webhook_deliveries SET created_xid = '3'`);
    expect(await look(false)).toEqual([]);
  });

  it('name a reversal and a close that nobody was told of, and have each told once, by the number it had', async () => {
    const { db } = database;
    const { merchantId, bankId } = standing;
    const { id: unaskedId } = await bill(db, keyring, standing);
    await moveClock(db, merchantId, '2 days');
    await db.transaction((trx) => closeExpiredRequests(trx, keyring, [unaskedId]));
    const before = await told();
    expect(before).toEqual(
      expect.arrayContaining([
        `billing.reversed to ${merchantId}: ${made.reversedId} 2`,
        `billing.closed to ${bankId}: ${made.expiredId} 2`,
        `billing.closed to ${bankId}: ${unaskedId} 1`,
      ]),
    );
    const closeLost = `billing.closed to ${bankId} (billing_request.declined)`;
    await tamper(`DELETE FROM webhook_deliveries WHERE webhook_type IN ('billing.reversed', 'billing.closed');
      DELETE FROM webhook_deliveries d USING billing_requests b
        WHERE b.id = '${unaskedId}' AND d.batch_id = b.batch_id AND d.webhook_type = 'billing.response'`);
    expect((await look(false)).map(({ id, wrong, what }) => `${id} ${wrong} ${what}`)).toEqual(
      expect.arrayContaining([
        missing(made.reversedId, `billing.reversed to ${merchantId} (billing_request.reversed)`),
        missing(made.expiredId, closeLost),
        missing(unaskedId, closeLost),
        expect.stringContaining(`${unaskedId} end_unannounced`),
      ]),
    );
    expect((await look(true)).every((one) => one.mended)).toBe(true);
    expect(await told()).toEqual(before);
    expect(await look(true)).toEqual([]);
    expect(await told()).toEqual(before);
    expect(await bookDifferences(db)).toEqual([]);

    // What was made up for hides no loss of another.
    await tamper(`DELETE FROM webhook_deliveries d USING billing_requests b
      WHERE b.id = '${made.reversedId}' AND d.batch_id = b.batch_id AND d.webhook_type = 'billing.response'`);
    expect(await look(true)).toMatchObject([{ id: made.reversedId, wrong: 'end_unannounced', mended: true }]);
    expect(await told()).toEqual(before);
  });

  it('have new terms told again with the amount before and from when they hold', async () => {
    const { db } = database;
    const { merchantId, bankId } = standing;
    const caller = { entityId: merchantId, role: 'merchant' } as const;
    const scheduleId = await makeSchedule(db, keyring, standing);
    const newTerms = { amount: 2_000 };
    await db.transaction((trx) => changeSchedule(trx, keyring, rules, caller, scheduleId, newTerms));
    const updates = async () =>
      (await Promise.all([merchantId, bankId].map((id) => announcedTo(db, keyring, id))))
        .flat()
        .flatMap(({ type, item }) => (type === 'recurring.updated' ? [item] : []));
    const before = await updates();
    const terms = { amount: 2_000, previousAmount: 1_500, effectiveFrom: expect.any(String) as string };
    expect(before).toMatchObject([terms, terms]);
    await tamper(`DELETE FROM webhook_deliveries WHERE webhook_type = 'recurring.updated'`);
    expect(await look(true)).toMatchObject([{ id: scheduleId, wrong: 'change_untold', mended: true }]);
    expect(await updates()).toEqual(before);
  });

  it('have the end of what a bank was never asked for told by number 1, whatever it has read since', async () => {
    const { db } = database;
    const intentId = await unaskedIntent();
    const questions = () =>
      rows(
        db,
        `SELECT id, status, withdrawn_at, body_sealed FROM webhook_deliveries WHERE webhook_type = 'billing.intent'`,
      );
    const before = [await told(), await questions()];
    expect(before[0]).toContain(`billing.intent.closed to ${standing.bankId}: ${intentId} 1`);
    await tamper(`DELETE FROM webhook_deliveries WHERE webhook_type = 'billing.intent.closed';
      UPDATE webhook_endpoints SET feed_read_xid = '9223372036854775807'`);
    expect(await look(true)).toMatchObject([{ id: intentId, wrong: 'change_untold', mended: true }]);
    expect([await told(), await questions()]).toEqual(before);
  });

  it('name a change of a schedule that was not told, though its next one was within the minute', async () => {
    const { bankId } = standing;
    const scheduleId = await pausedAndResumed();
    const before = await told();
    await tamper(`DELETE FROM webhook_deliveries WHERE id = (
      SELECT min(id) FROM webhook_deliveries WHERE webhook_type = 'recurring.updated' AND entity_id = '${bankId}')`);
    expect((await look(true)).map(({ id, wrong, what }) => `${id} ${wrong} ${what}`)).toEqual([
      missing(scheduleId, `recurring.updated to ${bankId} (schedule.paused)`),
    ]);
    expect(await told()).toEqual(before);
    expect(await look(false)).toEqual([]);
  });

  it('name an exception that a bank was not told of, though it was told of a hundred others since', async () => {
    const { db } = database;
    const { bankId } = standing;
    const [lost, other] = [await exceptionOf(made.reversedId), await exceptionOf(made.expiredId)];
    await tamper(`DELETE FROM webhook_deliveries d USING events e
      WHERE d.webhook_type = 'exception.opened' AND d.entity_id = '${bankId}' AND e.resource_id = '${lost}'
        AND e.type = 'exception.opened' AND d.created_xid::text = e.xmin::text`);
    const opened = {
      entityId: bankId,
      webhookType: 'exception.opened' as const,
      items: [{ exceptionId: other, sequence: 1 }],
    };
    await db.transaction((trx) =>
      announce(
        trx,
        keyring,
        Array.from({ length: 100 }, () => opened),
      ),
    );
    const untold = missing(lost, `exception.opened to ${bankId} (exception.opened)`);
    expect((await look(true)).map(({ id, wrong, what }) => `${id} ${wrong} ${what}`)).toEqual([untold]);
    expect(await look(false)).toEqual([]);
    // As in a database that was restored.
    await tamper(`UPDATE webhook_deliveries SET created_xid = '3'`);
    expect(await look(false)).toEqual([]);
  });
});
