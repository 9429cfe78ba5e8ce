import { row, rows } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { forgetDeliveries } from '../../src/database/webhook/delete-old-deliveries';
import { bookDifferences } from '../support/books';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { answerBill, bill, settleOfEachKind } from '../support/settled';
import { moveClock, standingApproval, type Standing } from '../support/standing';
import { closeExpiredRequests } from '../../src/database/billing-request/settle-billing-request';

const keyring = readKeyring(makeKeyring());

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
  `${id}: its event ${event} (table events) is there, and the webhook ${webhookType} to ${receiverId} that tells of it is gone`;

describe('charges, refunds and exceptions', () => {
  it('agree with their webhooks, also once these are forgotten', async () => {
    expect(await bookDifferences(database.db)).toEqual([]);
    await tamper(`UPDATE webhook_deliveries SET status = 'delivered', finished_at = now(), created_at = now() - interval '40 days',
      id = 'dlv_00' || substr(id, 7)`);
    await tamper(`UPDATE billing_requests SET bank_delivery_id = 'dlv_00' || substr(bank_delivery_id, 7)`);
    await tamper(`UPDATE refunds SET bank_delivery_ids =
      ARRAY(SELECT 'dlv_00' || substr(id, 7) FROM unnest(bank_delivery_ids) AS id)`);
    await tamper(`UPDATE events SET recorded_at = recorded_at - interval '40 days'`);
    await forgetDeliveries(database.db, keyring, 30);
    expect((await bookDifferences(database.db)).filter((one) => one.includes('webhook'))).toEqual([]);
  });

  it('agree with their webhooks in a restored database, where ids of transactions are others', async () => {
    await tamper(`UPDATE webhook_deliveries SET created_xid = '3'`);
    expect(await bookDifferences(database.db)).toEqual([]);
  });

  it('agree with their webhooks once an event was restored, and name the one that is gone', async () => {
    const theirs = `resource_id IN ('${made.chargeId}', '${made.reversedId}', '${made.expiredId}')`;
    await tamper(`UPDATE webhook_deliveries SET created_at = created_at - interval '1 hour'
        WHERE created_xid::text IN (SELECT xmin::text FROM events WHERE ${theirs});
      UPDATE events SET recorded_at = recorded_at - interval '1 hour' WHERE ${theirs}`);
    expect(await bookDifferences(database.db)).toEqual([]);
    await tamper(`DELETE FROM webhook_deliveries WHERE webhook_type = 'billing.reversed'`);
    expect(await bookDifferences(database.db)).toContainEqual(
      `charges: ${untold(made.reversedId, 'billing_request.reversed', 'billing.reversed', standing.merchantId)}`,
    );
  });

  it('name the exception of a silence that is gone', async () => {
    const id = await exceptionOf(made.expiredId);
    await tamper(`DELETE FROM reconciliation_exceptions WHERE id = '${id}'`);
    expect(await bookDifferences(database.db)).toEqual([
      `exceptions: ${id}: it was deleted: its last event (table events) says state open, and there is no row`,
    ]);
  });

  it('name each charge and each refund whose question to its bank is gone', async () => {
    const { id } = await bill(database.db, keyring, standing);
    const pending = await row<{ id: string }>(database.db, `SELECT id FROM refunds WHERE status = 'pending'`);
    await tamper(
      `DELETE FROM webhook_deliveries WHERE webhook_type IN ('refund.request', 'billing.request')`,
    );
    expect(await bookDifferences(database.db)).toEqual(
      expect.arrayContaining([
        `charges: ${untold(id, 'billing_request.accepted', 'billing.request', standing.bankId)}`,
        `refunds: ${untold(pending?.id ?? '', 'refund.requested', 'refund.request', standing.bankId)}`,
      ]),
    );
  });

  it('name each event of which a receiver was not told', async () => {
    const { db } = database;
    const { merchantId, bankId } = standing;
    const exceptionId = await exceptionOf(made.reversedId);
    await tamper(`DELETE FROM webhook_deliveries WHERE webhook_type IN ('billing.reversed', 'billing.closed',
        'refund.response', 'exception.resolved');
      DELETE FROM webhook_deliveries WHERE webhook_type = 'billing.response' AND batch_id =
        (SELECT batch_id FROM billing_requests WHERE id = '${made.chargeId}')`);
    expect(await bookDifferences(db)).toEqual(
      expect.arrayContaining([
        `charges: ${untold(made.chargeId, 'billing_request.successful', 'billing.response', merchantId)}`,
        `charges: ${untold(made.reversedId, 'billing_request.reversed', 'billing.reversed', merchantId)}`,
        `charges: ${untold(made.expiredId, 'billing_request.declined', 'billing.closed', bankId)}`,
        `refunds: ${untold(made.refundId, 'refund.completed', 'refund.response', merchantId)}`,
        `exceptions: ${untold(exceptionId, 'exception.resolved', 'exception.resolved', bankId)}`,
        `exceptions: ${untold(exceptionId, 'exception.resolved', 'exception.resolved', merchantId)}`,
      ]),
    );
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
    expect(await bookDifferences(db)).toContainEqual(
      expect.stringMatching(`^charges: ${id}: its row asks for this charge: .*; the ledger has none$`),
    );
    expect(await counts()).toEqual(before);
  });
});
