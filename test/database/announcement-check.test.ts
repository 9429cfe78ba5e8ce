import { readConfig, recurringRules } from '../../src/config';
import { row, rows } from '../../src/database/connection';
import { createIntents } from '../../src/database/intent/intent';
import { pauseSchedule, resumeSchedule } from '../../src/database/recurring/action';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { forgetDeliveries } from '../../src/database/webhook/retention';
import { resolveException } from '../../src/database/reconciliation-exception/resolve';
import { answerRefund } from '../../src/database/refund/outcome';
import { bookDifferences } from '../support/books';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { answerBill, bill, charge, refund, settleOfEachKind } from '../support/settled';
import { lookupIdOf, makeSchedule, moveClock, standingApproval, type Standing } from '../support/standing';
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

/** By the owner of the tables, who can take triggers away. */
const tamper = (sql: string) => asOwner(database.url, `SET session_replication_role = replica; ${sql}`);

const exceptionOf = async (id: string) =>
  (
    await row<{ id: string }>(
      database.db,
      `SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :id`,
      { id },
    )
  )?.id ?? '';

/** The words of `books verify` for an event that a receiver was not told of. */
const untold = (id: string, event: string, webhookType: string, receiverId: string) =>
  `eventsAnnounced: ${id}: its trail has ${event}, and the webhook ${webhookType} to ${receiverId} that tells of it is gone`;

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

describe('charges, refunds, intents, schedules and exceptions', () => {
  it('agree with their webhooks, also once these are forgotten', async () => {
    await pausedAndResumed();
    await supersededIntent();
    expect(await bookDifferences(database.db)).toEqual([]);
    await tamper(`UPDATE webhook_deliveries SET status = 'delivered', finished_at = now(), created_at = now() - interval '40 days',
      id = 'dlv_00' || substr(id, 7)`);
    await tamper(`UPDATE billing_requests SET bank_delivery_id = 'dlv_00' || substr(bank_delivery_id, 7)`);
    await tamper(`UPDATE refunds SET bank_delivery_ids =
      ARRAY(SELECT 'dlv_00' || substr(id, 7) FROM unnest(bank_delivery_ids) AS id)`);
    await tamper(`UPDATE intents SET bank_delivery_id = 'dlv_00' || substr(bank_delivery_id, 7)`);
    await tamper(`UPDATE events SET recorded_at = recorded_at - interval '40 days'`);
    await forgetDeliveries(database.db, keyring, 30);
    expect((await bookDifferences(database.db)).filter((one) => one.includes('Announced'))).toEqual([]);
  });

  it('agree with their webhooks in a restored database, where ids of transactions are others', async () => {
    await pausedAndResumed();
    await tamper(`UPDATE webhook_deliveries SET created_xid = '3'`);
    expect(await bookDifferences(database.db)).toEqual([]);
  });

  it.each<[string, string, () => string | Promise<string>, () => string | Promise<string>]>([
    [
      'a silence without an exception',
      'it expired at a bank that may have the charge, and it has no exception',
      async () => {
        const id = await exceptionOf(made.expiredId);
        return `DELETE FROM reconciliation_exceptions WHERE id = '${id}'; DELETE FROM events WHERE resource_id = '${id}'`;
      },
      () => `chargesAnnounced: ${made.expiredId}`,
    ],
    [
      'an exception that no side was told of',
      'it is open, and no webhook tells of it',
      async () =>
        `UPDATE reconciliation_exceptions SET told = 0 WHERE id = '${await exceptionOf(made.expiredId)}'`,
      async () => `exceptionsAnnounced: ${await exceptionOf(made.expiredId)}`,
    ],
    [
      'a refund whose question to its bank is gone',
      'it waits for its bank, and the webhook that asks the bank is gone: ask the bank whether it has it',
      () =>
        `DELETE FROM webhook_deliveries WHERE id IN (SELECT unnest(bank_delivery_ids) FROM refunds WHERE status = 'pending')`,
      async () => {
        const pending = await row<{ id: string }>(
          database.db,
          `SELECT id FROM refunds WHERE status = 'pending'`,
        );
        return `refundsAnnounced: ${pending?.id}`;
      },
    ],
  ])('name %s', async (_, words, change, named) => {
    const expected = `${await named()}: ${words}`;
    await tamper(await change());
    expect(await bookDifferences(database.db)).toContain(expected);
  });

  it('name each charge and each intent whose question to its bank is gone', async () => {
    const intentId = await askIntent();
    const { id } = await bill(database.db, keyring, standing);
    await tamper(
      `DELETE FROM webhook_deliveries WHERE webhook_type IN ('billing.intent', 'billing.request')`,
    );
    const words = 'it waits for its bank, and the webhook that asks the bank is gone';
    expect(await bookDifferences(database.db)).toEqual(
      expect.arrayContaining([
        expect.stringContaining(`chargesAnnounced: ${id}: ${words}`),
        expect.stringContaining(`intentsAnnounced: ${intentId}: ${words}`),
      ]),
    );
  });

  it('name a charge of which something is left, though its exception says that its money did not stay', async () => {
    const { db } = database;
    const { id, reference } = await charge(db, keyring, standing);
    const refundId = await refund(db, keyring, standing, reference, 1);
    await answerBill(db, keyring, standing, id, null);
    const exceptionId = await exceptionOf(id);
    const by = { cause: 'operator', note: null } as const;
    const finding = { resolution: 'confirmed', bankTransactionId: null } as const;
    await db.transaction((trx) => resolveException(trx, keyring, timeZone, by, exceptionId, finding));
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
    expect(await bookDifferences(db)).toContain(
      `chargesAnnounced: ${id}: its exception says that its money did not stay, and something of it is neither refunded nor reversed`,
    );
  });

  it('name each event of which a receiver was not told', async () => {
    const { db } = database;
    const { merchantId, bankId } = standing;
    const scheduleId = await pausedAndResumed();
    const intentId = await supersededIntent();
    const exceptionId = await exceptionOf(made.reversedId);
    await tamper(`DELETE FROM webhook_deliveries WHERE webhook_type IN ('billing.reversed', 'billing.closed',
        'refund.response', 'billing.intent.response', 'billing.intent.closed', 'exception.resolved');
      DELETE FROM webhook_deliveries WHERE webhook_type = 'billing.response' AND batch_id =
        (SELECT batch_id FROM billing_requests WHERE id = '${made.chargeId}')`);
    expect(await bookDifferences(db)).toEqual(
      expect.arrayContaining([
        untold(made.chargeId, 'billing_request.successful', 'billing.response', merchantId),
        untold(made.reversedId, 'billing_request.reversed', 'billing.reversed', merchantId),
        untold(made.expiredId, 'billing_request.declined', 'billing.closed', bankId),
        untold(made.refundId, 'refund.completed', 'refund.response', merchantId),
        untold(intentId, 'intent.superseded', 'billing.intent.response', merchantId),
        untold(intentId, 'intent.superseded', 'billing.intent.closed', bankId),
        untold(exceptionId, 'exception.resolved', 'exception.resolved', bankId),
        untold(exceptionId, 'exception.resolved', 'exception.resolved', merchantId),
      ]),
    );
    // The one of two changes within a minute whose webhook is gone.
    await tamper(`DELETE FROM webhook_deliveries WHERE id = (
      SELECT min(id) FROM webhook_deliveries WHERE webhook_type = 'recurring.updated' AND entity_id = '${bankId}')`);
    const ofSchedule = (await bookDifferences(db)).filter((one) => one.includes(scheduleId));
    expect(ofSchedule).toEqual([untold(scheduleId, 'schedule.paused', 'recurring.updated', bankId)]);
  });

  it('are written by nothing that compares them: a declined charge that a hand made successful is named, and stays', async () => {
    const { db } = database;
    const { id } = await bill(db, keyring, standing);
    await answerBill(db, keyring, standing, id, null);
    await tamper(
      `UPDATE billing_requests SET status = 'successful', decline_reason = NULL, bank_transaction_id = 'forged' WHERE id = '${id}'`,
    );
    const counts = () =>
      rows(
        db,
        `SELECT (SELECT count(*) FROM ledger_entries) AS entries, (SELECT count(*) FROM webhook_deliveries) AS webhooks,
           (SELECT count(*) FROM reconciliation_exceptions) AS exceptions, (SELECT count(*) FROM events) AS events`,
      );
    const before = await counts();
    expect(await bookDifferences(db)).toContain(
      `charges: ${id}: its row says that there is a charge, and the ledger has another or none`,
    );
    expect(await counts()).toEqual(before);
  });
});
