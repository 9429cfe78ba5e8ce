import { generateKeyPairSync } from 'node:crypto';
import { sign } from 'jsonwebtoken';
import { Client } from 'pg';
import { ROWS_OF } from '../../../src/database/chain/chained-rows';
import { lastHead, readHead } from '../../../src/database/chain/sign-head';
import { foldBalances } from '../../../src/database/ledger/fold-balances';
import { recordAuditEvent } from '../../../src/database/record/audit-event';
import { forgetDeliveries } from '../../../src/database/webhook/delete-old-deliveries';
import { GENESIS, linkHash } from '../../../src/domain/books/chain';
import { allDifferences, bookDifferences, chainBooks, chainDifferences } from '../../support/books';
import { asSchemaLogin, createTestDatabase, type TestDatabase } from '../../support/database';
import { eventually } from '../../support/engine';
import { OPERATOR } from '../../support/operator';
import {
  answerBill,
  bill,
  charge,
  grantingCharge,
  returnedRefund,
  settleOfEachKind,
} from '../../support/settled';
import { moveClock, standingApproval } from '../../support/standing';
import { raw } from '../../../src/database/pool/statement';
import { closeExpiredRequests } from '../../../src/database/billing-request/close-expired-requests';
import { remindBank } from '../../../src/database/refund/remind-bank';

/**
 * Changes by the owner of the schema, who has no key: what `books verify` finds, by the row that it
 * names, and what it does not compare.
 */

let database: TestDatabase;
/** The login that owns the tables, who can take triggers away. */
let owner: Client;
/** Ids of rows, by their names in statements and expected sentences: `:chargeId`. */
let books: Record<string, string>;
beforeAll(async () => {
  database = await createTestDatabase();
  owner = new Client(database.url);
  await owner.connect();
  await owner.query('SET session_replication_role = replica');
  books = await writeBooks();
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});

/** Books with something of each kind, chained in two parts. */
async function writeBooks(): Promise<Record<string, string>> {
  const { db } = database;
  const standing = await standingApproval(db, { limits: { monthly: 1_000_000n } });
  const { merchantId, bankId } = standing;
  const { payee, ...made } = await settleOfEachKind(db, standing);
  const declined = await bill(db, standing);
  await answerBill(db, standing, declined.id, null);
  const contested = await charge(db, standing);
  await answerBill(db, standing, contested.id, null);
  const bounced = await charge(db, standing);
  const returnedId = await returnedRefund(db, standing, bounced.reference, 0.3);
  const granting = await grantingCharge(db, standing);
  const expired = await bill(db, standing);
  await db.rows`
    UPDATE webhook_deliveries SET status = 'delivered', finished_at = now(), sent = 1
    WHERE id = (SELECT bank_delivery_id FROM billing_requests WHERE id = ${expired.id})`;
  await moveClock(db, merchantId, '2 days');
  await db.transaction((trx) => closeExpiredRequests(trx, [expired.id]));
  const pending = await bill(db, standing);
  // The first makes the refund that is pending overdue.
  for (let reminders = 0; reminders < 2; reminders++) {
    await moveClock(db, merchantId, '20 days');
    await db.transaction(async (trx) => {
      const { id } = await trx.oneRow<{ id: string }>`SELECT id FROM refunds WHERE status = 'pending'`;
      await remindBank(trx, id);
    });
  }
  const act = (action: `entity.${string}`) =>
    db.transaction((trx) => recordAuditEvent(trx, OPERATOR, { action, entityId: merchantId }));
  await act('entity.enabled');
  await chainBooks(db);
  await foldBalances(db);
  await charge(db, standing);
  await act('entity.disabled');
  // A transaction that is open in another test's database holds the chain's progress up.
  await eventually(async () => {
    const { hasEnded } = await db.oneRow<{ hasEnded: boolean }>`
      SELECT bool_and(next_xmax <= pg_snapshot_xmin(pg_current_snapshot())) AS has_ended FROM chain_progress`;
    return hasEnded;
  });
  await chainBooks(db);
  const named = {
    ...made,
    merchantId,
    bankId,
    otherBankId: payee.bankId,
    returnedId,
    declinedId: declined.id,
    contestedId: contested.id,
    bouncedId: bounced.id,
    expiredId: expired.id,
    pendingId: pending.id,
    grantingId: granting.id,
  };
  const others = await db.row<Record<string, string>>`
    SELECT (SELECT id FROM ledger_entries WHERE (resource_id, kind) = (${named.chargeId},
      'charge'))::text AS "entryId",
    (SELECT id FROM ledger_entries WHERE (resource_id, kind) = (${named.contestedId},
      'charge'))::text AS "contestedEntryId",
    (SELECT id FROM ledger_entries WHERE (resource_id, kind) = (${named.paymentId},
      'credit'))::text AS "creditId",
    (SELECT transaction_id FROM reversals WHERE billing_request_id = ${named.reversedId}) AS "reversalId",
    (SELECT return_transaction_id FROM refunds WHERE id = ${named.returnedId}) AS "returnId",
    (SELECT id FROM refunds WHERE status = 'pending') AS "pendingRefundId",
    (SELECT id FROM reconciliation_exceptions WHERE billing_request_id = ${named.contestedId}) AS "openId",
    (SELECT id FROM reconciliation_exceptions WHERE billing_request_id = ${named.reversedId}) AS "reversedBy",
    (SELECT id FROM reconciliation_exceptions
    WHERE billing_request_id = ${named.writtenOffId}) AS "writtenOffBy",
    (SELECT id FROM audit_events WHERE action = 'entity.enabled')::text AS "actId"`;
  return { ...named, ...others };
}

const filled = (text: string) => text.replace(/:([a-zA-Z]+)\b/g, (all, name: string) => books[name] ?? all);

/** Tables that are to be as before after the test. */
const touched = new Set<string>();

async function keep(table: string): Promise<void> {
  touched.add(table);
  await owner.query(`CREATE TABLE IF NOT EXISTS saved_${table} AS TABLE ${table}`);
}

async function tamper(change: string): Promise<void> {
  for (const [, table = ''] of change.matchAll(/(?:UPDATE|DELETE FROM|INSERT INTO) (\w+)/g))
    await keep(table);
  await owner.query(filled(change));
}

afterEach(async () => {
  for (const table of touched) {
    const { columns } = await database.db.oneRow<{ columns: string }>`
      SELECT string_agg(quote_ident(attname), ', ') AS columns FROM pg_attribute
      WHERE attrelid = to_regclass(${table}) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`;
    await owner.query(`DELETE FROM ${table};
      INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM saved_${table}`);
  }
  touched.clear();
});

const all = () => allDifferences(database.db);
const ofChains = () => chainDifferences(database.db);
const ofBooks = () => bookDifferences(database.db);

/** A finding that begins so; `:chargeId` is the charge's id. */
const finding = (says: string) => expect.stringMatching(new RegExp(`^${filled(says)}`)) as string;

/** The finding for an event that its receiver was not told of. */
const untold = (what: string, event: string, webhookType: string, receiver: string) =>
  filled(
    `${what}: its event ${event} (table events) is there, and the webhook ${webhookType} to ${receiver} that tells of it is gone`,
  );

test('books that are as they were written are right, also in a restored database, whose webhooks are renumbered', async () => {
  expect(await all()).toEqual([]);
  await tamper(`UPDATE webhook_deliveries SET created_xid = '3'`);
  expect(await ofBooks()).toEqual([]);
});

test.each([
  `UPDATE billing_requests SET description = 'Hats', metadata = '{"shoe": 1}', customer_id = 'cus_x', lookup_id = 'other'`,
  `UPDATE refunds SET reason = 'Hats', customer_id = 'cus_x', metadata = '{"shoe": 1}'`,
  `UPDATE reversals SET customer_id = 'cus_x', reference = 'OTHER'`,
  `UPDATE reconciliation_exceptions SET bank_note = 'It was you', operator_note = 'I wait', customer_id = 'cus_x'`,
  `UPDATE agreements SET spent_daily = 0, limits.daily = 7`,
])('is not compared: %s', async (change) => {
  await tamper(change);
  expect(await all()).toEqual([]);
});

test('each event is named of which a receiver was not told', async () => {
  await tamper(`DELETE FROM webhook_deliveries WHERE webhook_type IN ('refund.request', 'billing.request', 'billing.reversed',
      'billing.closed', 'refund.response', 'exception.resolved');
    DELETE FROM webhook_deliveries WHERE webhook_type = 'billing.response' AND batch_id =
      (SELECT batch_id FROM billing_requests WHERE id = ':chargeId');
    DELETE FROM webhook_deliveries WHERE webhook_type = 'billing.response' AND batch_id =
      (SELECT batch_id FROM billing_requests WHERE id = ':grantingId')`);
  expect(await ofBooks()).toEqual(
    expect.arrayContaining([
      untold('charges: :pendingId', 'billing_request.accepted', 'billing.request', ':bankId'),
      ...['requested', 'overdue', 'reminded'].map((event) =>
        untold('refunds: :pendingRefundId', `refund.${event}`, 'refund.request', ':bankId'),
      ),
      untold('charges: :chargeId', 'billing_request.accepted', 'billing.request', ':bankId'),
      untold('charges: :chargeId', 'billing_request.successful', 'billing.response', ':merchantId'),
      untold('charges: :grantingId', 'billing_request.successful', 'billing.response', ':merchantId'),
      untold('charges: :reversedId', 'billing_request.reversed', 'billing.reversed', ':merchantId'),
      untold('charges: :expiredId', 'billing_request.declined', 'billing.closed', ':bankId'),
      untold('refunds: :refundId', 'refund.completed', 'refund.response', ':merchantId'),
      untold('exceptions: :reversedBy', 'exception.resolved', 'exception.resolved', ':bankId'),
      untold('exceptions: :reversedBy', 'exception.resolved', 'exception.resolved', ':merchantId'),
    ]),
  );
});

test('each of two events of one transaction has its own webhook', async () => {
  const [first, second] = await database.db.rows<{ id: string; told: string }>`
    SELECT e.id, d.id AS told FROM webhook_deliveries d JOIN events e ON e.id = ANY(d.tells)
    WHERE d.webhook_type = 'billing.response' AND e.type = 'billing_request.successful' ORDER BY d.id LIMIT 2`;
  await tamper(`UPDATE webhook_deliveries SET tells = ARRAY['${second?.id}'], commit_id =
      (SELECT commit_id FROM events WHERE id = '${second?.id}') WHERE id = '${first?.told}';
    UPDATE events SET commit_id = (SELECT commit_id FROM events o WHERE o.id = '${second?.id}') WHERE id = '${first?.id}'`);
  const untoldNow = (await ofBooks()).filter((one) => one.includes('billing.response'));
  expect(untoldNow).toHaveLength(1);
});

/** Copies rows of a table with other values. */
async function copy(table: string, set: Record<string, string>, where: string): Promise<void> {
  await keep(table);
  const { columns } = await database.db.oneRow<{ columns: string }>`
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns FROM pg_attribute
    WHERE attrelid = to_regclass(${table}) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`;
  const values = columns.split(', ').map((column) => set[column] ?? column);
  await owner.query(
    filled(`INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
    SELECT ${values.join(', ')} FROM ${table} WHERE ${where}`),
  );
}

test('a whole charge written by hand is named, also with ids older than what the chain has come to', async () => {
  const forged = 'brq_00000000000000000000000000';
  const id = `'${forged}'`;
  const own = { bank_transaction_id: `'tx-forged'`, reference: `'FORGED'` };
  await copy('billing_requests', { ...own, id, transaction_id: `'txn_forged'` }, `id = ':chargeId'`);
  const details = `CASE WHEN details ? 'bankTransactionId'
    THEN details || '{"bankTransactionId": "tx-forged"}' ELSE details END`;
  await copy(
    'events',
    { id: `'evt_000000000000000000000000' || lpad(sequence::text, 2, '0')`, resource_id: id, details },
    `resource_id = ':chargeId' AND type LIKE 'billing_request.%'`,
  );
  await copy('ledger_entries', { id: '-5', resource_id: id }, `id = :entryId`);
  await copy('ledger_postings', { entry_id: '-5' }, `entry_id = :entryId`);
  await copy(
    'expected_bookings',
    { identifier: `'tx-forged'`, billing_request_id: id },
    `billing_request_id = ':chargeId' AND refund_id IS NULL`,
  );
  const named = (await ofChains()).filter((one) => one.includes('written past the chain'));
  expect(named).toEqual([
    finding('links of the ledger: entry -5: it was written past the chain'),
    ...[1, 2].map((n) => finding(`links of events: event evt_0{24}0${n}: it was written past the chain`)),
  ]);
});

test('events agree with webhooks that are kept no longer', async () => {
  await tamper(`UPDATE webhook_deliveries SET status = 'delivered', finished_at = now(),
      created_at = now() - interval '40 days', id = 'dlv_00' || substr(id, 7);
    UPDATE billing_requests SET bank_delivery_id = 'dlv_00' || substr(bank_delivery_id, 7);
    UPDATE refunds SET bank_delivery_ids = ARRAY(SELECT 'dlv_00' || substr(id, 7) FROM unnest(bank_delivery_ids) AS id);
    UPDATE events SET recorded_at = recorded_at - interval '40 days'`);
  await keep('webhook_receipts');
  await forgetDeliveries(database.db, 30);
  expect((await ofBooks()).filter((one) => one.includes('webhook'))).toEqual([]);
});

const AT = '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z';
const EVENT_SAYS = 'and its last event \\(table events\\) says';

/**
 * Statements that each change one row, each followed by what is found then: the beginning of a
 * finding, as a regular expression.
 */
const FOUND: Record<string, string> = {
  'an amount': String.raw`
    UPDATE billing_requests SET amount = 101 WHERE id = ':chargeId'
    -- charges: :chargeId: its row says amount 101, ${EVENT_SAYS} amount 100
    UPDATE billing_requests SET refunded_amount = 1 WHERE id = ':bouncedId'
    -- charges: :bouncedId: its row says refunded 1, reversed 0 and written off 0; its parts come to 0, 0 and 0
    UPDATE billing_requests SET reversed_amount = 0 WHERE id = ':reversedId'
    -- charges: :reversedId: its row says refunded \d+, reversed 0 and written off 0; its parts come to \d+, 99 and 0
    UPDATE billing_requests SET written_off_amount = 0 WHERE id = ':writtenOffId'
    -- charges: :writtenOffId: its row says refunded 0, reversed 0 and written off 0; its parts come to 0, 0 and 100
    UPDATE billing_requests SET written_off_amount = 1 WHERE id = ':chargeId'
    -- charges: :chargeId: its row says refunded 40, reversed 0 and written off 1; its parts come to 41, 0 and 0
    UPDATE refunds SET amount = 31 WHERE id = ':refundId'
    -- refunds: :refundId: its row says amount 31, ${EVENT_SAYS} amount 30
    UPDATE reversals SET amount = 99 WHERE transaction_id = ':reversalId'
    -- reversals and returns: :reversalId: its row says amount 99, ${EVENT_SAYS} amount 100
    UPDATE ledger_postings SET amount = 1 WHERE entry_id = :entryId AND n = 1
    -- balances: :entryId: the entry does not balance: 99 NGN are left over
    UPDATE ledger_postings SET amount = amount + 1 WHERE entry_id IN (
      SELECT id FROM ledger_entries WHERE (resource_id, kind) = (':writtenOffBy', 'write_off'))
    -- exceptions: :writtenOffBy: its row asks for no write_off; the ledger has ${AT}: debit \d+ NGN disputed
    UPDATE ledger_folded_balances SET credits = credits + 1 WHERE party_id = ':merchantId'
    -- balances: merchant of :merchantId in NGN by \w+ on [\d-]+: the balance has \d+ postings with debits of \d+ and credits of \d+, and the ledger \d+ postings with
    UPDATE ledger_folded_balances SET count = count + 1 WHERE party_id = ':otherBankId'
    -- balances: payee_bank of :otherBankId in NGN by
    UPDATE ledger_balance_changes SET debits = debits + 1 WHERE party_id = ':bankId'
    -- balances: customer_bank of :bankId in NGN by
  `,
  'an expected booking': String.raw`
    DELETE FROM expected_bookings WHERE billing_request_id = ':grantingId'
    -- charges: :grantingId: its rows ask for the booking debit \d+ NGN tx-.*; the table expected_bookings has none
    UPDATE expected_bookings SET amount = 99 WHERE billing_request_id = ':contestedId'
    -- charges: :contestedId: its rows ask for the booking debit 100 NGN tx-.*; the table expected_bookings has debit 99 NGN tx-
    UPDATE expected_bookings SET settlement_day = settlement_day + 1 WHERE refund_id = ':refundId'
    -- charges: :chargeId: its rows ask for the booking credit 30 NGN
    INSERT INTO expected_bookings SELECT bank_id, identified_by, 'other', direction, amount, currency, settlement_day, ':declinedId' FROM expected_bookings WHERE billing_request_id = ':chargeId' AND refund_id IS NULL
    -- charges: :declinedId: its rows ask for the booking none; the table expected_bookings has debit 100 NGN other
    UPDATE expected_bookings SET billing_request_id = 'brq_none' WHERE billing_request_id = ':paymentId' AND direction = 'credit'
    -- charges: :paymentId: its rows ask for the booking credit \d+ NGN \w+; the table expected_bookings has none
    -- charges: brq_none: its rows ask for the booking none
  `,
  'a currency': String.raw`
    UPDATE billing_requests SET currency = 'KES' WHERE id = ':chargeId'
    -- charges: :chargeId: its row says currency KES, ${EVENT_SAYS} currency NGN
    UPDATE refunds SET currency = 'KES' WHERE id = ':refundId'
    -- refunds: :refundId: its row says currency KES, and
    UPDATE reversals SET currency = 'KES' WHERE transaction_id = ':reversalId'
    -- reversals and returns: :reversalId: its row says currency KES, and
  `,
  'the id of a bank’s transaction': String.raw`
    UPDATE billing_requests SET bank_transaction_id = 'other' WHERE id = ':chargeId'
    -- charges: :chargeId: its row says bankTransactionId other, ${EVENT_SAYS} bankTransactionId tx-
    UPDATE refunds SET bank_transaction_id = 'other' WHERE id = ':refundId'
    -- refunds: :refundId: its row says bankTransactionId other, and
    UPDATE reversals SET bank_transaction_id = 'other' WHERE transaction_id = ':reversalId'
    -- reversals and returns: :reversalId: its row says bankTransactionId other, and
  `,
  'a time': String.raw`
    UPDATE billing_requests SET closed_at = closed_at + interval '1 ms' WHERE id = ':chargeId'
    -- charges: :chargeId: its row says closedAt ${AT}, ${EVENT_SAYS} closedAt ${AT}
    UPDATE refunds SET closed_at = closed_at + interval '1 ms' WHERE id = ':refundId'
    -- refunds: :refundId: its row says closedAt
    UPDATE refunds SET returned_at = returned_at - interval '1 h' WHERE id = ':returnedId'
    -- reversals and returns: :returnId: its row asks for this refund_return: ${AT}: debit 30 NGN customer_bank :bankId, credit 30 NGN merchant :merchantId; the ledger has ${AT}:
    UPDATE reversals SET created_at = created_at + interval '1 ms' WHERE transaction_id = ':reversalId'
    -- reversals and returns: :reversalId: its row says closedAt
    UPDATE ledger_folded_balances SET day = '2020-01-01' WHERE party_id = ':merchantId' AND kind = 'charge'
    -- balances: merchant of :merchantId in NGN by \w+ on 2020-01-01: .*, and the ledger 0 postings
  `,
  'a status': String.raw`
    UPDATE billing_requests SET status = 'declined', decline_reason = 'x', bank_transaction_id = NULL, counted_day = NULL,
      counted_terms = NULL, refunded_amount = 0 WHERE id = ':chargeId'
    -- charges: :chargeId: its row says status declined, bankTransactionId none, ${EVENT_SAYS} status successful, bankTransactionId tx-
    UPDATE billing_requests SET status = 'successful', decline_reason = NULL, bank_transaction_id = 'forged' WHERE id = ':declinedId'
    -- charges: :declinedId: its row asks for this charge: ${AT}: debit 100 NGN customer_bank :bankId, credit 100 NGN merchant :merchantId; the ledger has none
    UPDATE billing_requests SET credit_settled = false WHERE id = ':paymentId'
    -- charges: :paymentId: its row asks for no credit; the ledger has debit 250 NGN in_transit :otherBankId, credit 250 NGN payee_bank :otherBankId
    UPDATE refunds SET status = 'rejected', bank_transaction_id = NULL WHERE id = ':refundId'
    -- refunds: :refundId: its row says status rejected, bankTransactionId none, ${EVENT_SAYS} status completed
    UPDATE refunds SET status = 'completed', returned_at = NULL, return_transaction_id = NULL, return_reference = NULL,
      returned_by = NULL WHERE id = ':returnedId'
    -- refunds: :returnedId: its row says status completed, ${EVENT_SAYS} status returned
    UPDATE reconciliation_exceptions SET state = 'investigating', assignee = 'operator' WHERE id = ':openId'
    -- exceptions: :openId: its row says state investigating, ${EVENT_SAYS} state open
    UPDATE reconciliation_exceptions SET resolution = 'no_difference' WHERE id = ':writtenOffBy'
    -- exceptions: :writtenOffBy: its row says resolution no_difference, ${EVENT_SAYS} resolution written_off
    -- exceptions: :writtenOffBy: its row asks for no write_off; the ledger has
  `,
  'a row that is there no more': String.raw`
    DELETE FROM billing_requests WHERE id = ':chargeId'
    -- charges: :chargeId: it was deleted: its last event \(table events\) says .*status successful, .* and there is no row
    DELETE FROM refunds WHERE id = ':refundId'
    -- refunds: :refundId: it was deleted:
    DELETE FROM reversals WHERE transaction_id = ':reversalId'
    -- reversals and returns: :reversalId: it was deleted:
    DELETE FROM reconciliation_exceptions WHERE id = ':openId'
    -- exceptions: :openId: it was deleted:
    DELETE FROM ledger_entries WHERE id = :contestedEntryId
    -- links of the ledger: entry :contestedEntryId: its link \d+ of the chain is there, and its row was deleted
    -- charges: :contestedId: its row asks for this charge: .*; the ledger has none
    DELETE FROM ledger_postings WHERE entry_id = :creditId AND n = 1
    -- charges: :paymentId: its row asks for this credit: .*; the ledger has credit 250 NGN
    DELETE FROM ledger_folded_balances WHERE account = 'payee_bank'
    -- balances: payee_bank of :otherBankId in NGN by credit on .*: the balance has 0 postings with debits of 0 and credits of 0, and the ledger 1 postings
    DELETE FROM audit_events WHERE id = :actId
    -- links of audit events: audit event :actId: its link \d+ of the chain is there, and its row was
    DELETE FROM events WHERE resource_id = ':bouncedId' AND sequence = 2
    -- links of events: event evt_\w+: its link \d+ of the chain is there, and its row was deleted
    DELETE FROM event_chain WHERE n = 3
    -- links of events: event evt_\w+: the links from 3 to 3, before its own, were deleted
  `,
  'a row that nothing made': String.raw`
    INSERT INTO billing_requests (id, reference, batch_id, merchant_id, provider_id, customer_id, bank_id, lookup_id,
      amount, currency, description, approval_required, workflow_id, expires_at, created_at)
      SELECT 'brq_forged', 'FORGED', batch_id, merchant_id, provider_id, customer_id, bank_id, lookup_id, amount, currency,
      description, true, workflow_id, expires_at, created_at FROM billing_requests WHERE id = ':chargeId'
    -- charges: brq_forged: its row says amount 100, currency NGN, status pending, and no event \(table events\) says that it was made
    INSERT INTO ledger_entries (id, kind, resource_id, settled_at, settlement_day, commit_id) OVERRIDING SYSTEM VALUE
      SELECT 7000, kind, 'brq_x', settled_at, settlement_day, commit_id FROM ledger_entries WHERE id = :entryId
    -- charges: brq_x: its row asks for no charge; the ledger has ${AT}: no postings
    INSERT INTO ledger_entries (id, kind, resource_id, settled_at, settlement_day, commit_id) OVERRIDING SYSTEM VALUE
      SELECT 7001, 'reversal', ':chargeId', settled_at, settlement_day, commit_id FROM ledger_entries WHERE id = :entryId
    -- charges: :chargeId: its row asks for no reversal; the ledger has ${AT}: no postings
    INSERT INTO ledger_entries (id, kind, resource_id, settled_at, settlement_day, commit_id) OVERRIDING SYSTEM VALUE
      SELECT 7002, 'write_off', ':returnedId', settled_at, settlement_day, commit_id FROM ledger_entries WHERE id = :entryId;
      INSERT INTO ledger_postings SELECT 7002, n, party_id, account, currency, direction, amount
      FROM ledger_postings WHERE entry_id = :entryId
    -- refunds: :returnedId: its row asks for no write_off; the ledger has ${AT}: debit 100 NGN customer_bank :bankId, credit 100 NGN merchant
    INSERT INTO ledger_postings SELECT entry_id, 3, party_id, account, currency, direction, 1
      FROM ledger_postings WHERE entry_id = :entryId AND n = 1
    -- charges: :chargeId: its row asks for this charge: .*; the ledger has .*: debit \d+ NGN customer_bank :bankId, debit \d+ NGN customer_bank :bankId, credit 100 NGN
  `,
};

test.each(Object.entries(FOUND))('%s is found', async (_, written) => {
  const findings = [...written.matchAll(/^ *-- (.*)$/gm)].map(([, says = '']) => finding(says));
  for (const change of written.split(/^ *-- .*$/m)) await tamper(change);
  expect(await all()).toEqual(expect.arrayContaining(findings));
});

/** A change of each column that a link stands for. */
const COLUMNS: [table: string, called: string, sets: string[]][] = [
  [
    'ledger_postings',
    'links of the ledger: entry',
    [
      'amount = 1',
      "party_id = 'bnk_x'",
      "account = 'disputed'",
      "currency = 'KES'",
      "direction = 'credit'",
      'n = 3',
    ],
  ],
  [
    'ledger_entries',
    'links of the ledger: entry',
    [
      "settled_at = settled_at + interval '1 s'",
      'settlement_day = settlement_day - 1',
      'belongs_to = settlement_day - 1',
      "resource_id = 'brq_x'",
    ],
  ],
  [
    'events',
    'links of events: event',
    [
      "type = 'billing_request.declined'",
      "cause = 'operator'",
      `details = details || '{"more": 1}'`,
      "business_at = business_at + interval '1 ms'",
      "recorded_at = recorded_at + interval '1 us'",
      "request_id = 'other'",
      'commit_id = gen_random_uuid()',
      'sequence = 700',
      "resource_id = 'brq_x'",
    ],
  ],
  ['audit_events', 'links of audit events: audit event', ["actor = 'operator:other'", "after = '{}'"]],
];

test.each(COLUMNS)('each column of %s is part of its link', async (table, called, sets) => {
  const [key, where] = table === 'ledger_postings' ? ['entry_id', 'AND n = 1'] : ['id', ''];
  const of =
    { events: 'events', audit_events: 'audit_events' }[table] ?? `ledger_entries WHERE kind = 'charge'`;
  const found = await database.db.rows<{ id: string }>`
    SELECT id::text FROM (SELECT id FROM ${raw(of)} ORDER BY id LIMIT 9) AS first ORDER BY first.id`;
  for (const [i, set] of sets.entries())
    await tamper(`UPDATE ${table} SET ${set} WHERE ${key} = '${found[i]?.id}' ${where}`);
  expect((await ofChains()).filter((one) => one.includes('was changed since it was chained'))).toEqual(
    sets.map((_, i) =>
      finding(`${called} ${found[i]?.id}: its row or its link \\d+ was changed since it was chained`),
    ),
  );
});

const deleteAct = (action: string) =>
  tamper(`DELETE FROM audit_events WHERE action = '${action}';
    DELETE FROM audit_chain c WHERE NOT EXISTS (SELECT FROM audit_events a WHERE a.id = c.row_id)`);

/** Has an audit event say otherwise, and makes its chain anew, as can be done without the key. */
async function rebuildActs(): Promise<void> {
  await tamper(`UPDATE audit_events SET actor = 'operator:other' WHERE action = 'entity.enabled'`);
  const { table, chain, content } = ROWS_OF.audit;
  const linked = await database.db.rows<{ n: bigint; content: string }>`
    SELECT c.n, ${raw(content)} AS content FROM ${raw(chain)} c JOIN ${raw(table)} r ON r.id = c.row_id
    ORDER BY c.n`;
  let hash = GENESIS;
  for (const one of linked) {
    hash = linkHash(hash, 'audit', one.content);
    await tamper(`UPDATE ${chain} SET hash = '\\x${hash}' WHERE n = ${one.n}`);
  }
}

describe('the chain', () => {
  it('misses a deleted audit event whose link went with it', async () => {
    await deleteAct('entity.enabled');
    expect((await ofChains())[0]).toMatch(
      /^links of audit events: audit event \d+: the links from (\d+) to \1, before its own, were deleted$/,
    );
  });

  it('names both of two audit events whose places were exchanged', async () => {
    await tamper(`UPDATE audit_chain SET row_id = -row_id WHERE n IN (1, 2);
      UPDATE audit_chain c SET row_id = -(SELECT row_id FROM audit_chain o WHERE o.n = 3 - c.n) WHERE n = 1;
      UPDATE audit_chain c SET row_id = (SELECT id FROM audit_events a WHERE NOT EXISTS
        (SELECT FROM audit_chain o WHERE o.row_id = a.id) ORDER BY id LIMIT 1) WHERE n = 2`);
    const named = (await ofChains()).filter((one) => /^links of audit events: .* was changed/.test(one));
    expect(named.length).toBeGreaterThanOrEqual(2);
  });

  it('that was made anew without the key contradicts the heads that were signed', async () => {
    await rebuildActs();
    expect((await ofChains())[0]).toMatch(
      /^heads: head 2 of \S+: it says that link \d+ of audit_chain is \w+, and the chain, which was rebuilt, has \w+$/,
    );
  });
});

describe('a head', () => {
  it('that was changed, or signed with a key of the owner’s own, is none of ours', async () => {
    await rebuildActs();
    const head = await lastHead(database.db);
    const said = head && readHead(head.jws);
    const tip = await database.db.row<{ hash: Buffer }>`SELECT hash FROM audit_chain ORDER BY n DESC LIMIT 1`;
    const audit = { n: said?.tips?.audit?.n, hash: tip?.hash.toString('hex') };
    const forged = { ...said, tips: { ...said?.tips, audit } };
    const [protectedPart, , signature] = head?.jws.split('.') ?? [];
    const payload = Buffer.from(JSON.stringify(forged)).toString('base64url');
    await tamper(`UPDATE chain_heads SET jws = '${protectedPart}.${payload}.${signature}' WHERE number = 2`);
    expect(await ofChains()).toContainEqual(
      finding('heads: head 2 of \\S+: it was changed: the key key_\\w+ has not signed what it says$'),
    );

    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jws = sign(forged, privateKey, {
      algorithm: 'ES256',
      keyid: 'key_own',
      noTimestamp: true,
      header: { alg: 'ES256', typ: 'assent-head+jwt' },
    });
    await tamper(`INSERT INTO chain_keys (kid, private_key_encrypted, retired_at)
        SELECT 'key_own', private_key_encrypted, clock_timestamp() FROM chain_keys;
      UPDATE chain_heads SET jws = '${jws}' WHERE number = 2`);
    expect(await ofChains()).toContainEqual(
      finding("heads: head 2 of \\S+: it is signed with key_own, which is none of the network's$"),
    );
  });

  it('contradicts an end that was taken away', async () => {
    await deleteAct('entity.disabled');
    expect(await ofChains()).toEqual([
      finding('heads: head 2 of \\S+: it says that audit_chain has \\d+ links: its end was deleted$'),
    ]);
  });

  it('is missed once it was taken away, and no other gets its number', async () => {
    await keep('chain_progress');
    await tamper(`DELETE FROM chain_heads WHERE number = 2`);
    expect(await ofChains()).toEqual(['heads: heads: the heads from 2 to 2 were deleted']);
    await chainBooks(database.db);
    expect(await ofChains()).toEqual([finding('heads: head 3 of \\S+: the heads from 2 to 2 were deleted$')]);
    await tamper(`DELETE FROM chain_heads`);
    expect(await ofChains()).toEqual(['heads: heads: the heads from 1 to 3 were deleted']);
  });
});

test('what proves the books is never changed, neither by the serving role nor by an owner in passing', async () => {
  for (const [table, change] of [
    ['ledger_entries', "kind = 'credit'"],
    ['ledger_postings', 'amount = 1'],
    ['ledger_chain', 'hash = sha256(hash)'],
    ['event_chain', 'hash = sha256(hash)'],
    ['audit_chain', 'row_id = row_id + 1'],
    ['chain_heads', "jws = 'x'"],
    ['statement_digests', "sha256 = repeat('0', 64)"],
    ['events', "details = '{}'"],
    ['audit_events', "actor = 'operator:other'"],
  ]) {
    const truncate = `TRUNCATE ${table} CASCADE`;
    for (const sql of [`UPDATE ${table} SET ${change}`, `DELETE FROM ${table}`, truncate]) {
      await expect(database.db.query(sql)).rejects.toMatchObject({ code: '42501' });
      await expect(asSchemaLogin(database.url, sql)).rejects.toThrow('append-only');
    }
  }
  for (const sql of [
    'DELETE FROM chain_keys',
    "UPDATE chain_keys SET private_key_encrypted = ''",
    'DELETE FROM chain_progress',
    "INSERT INTO chain_progress (stream, after) VALUES ('ledger', '0')",
  ]) {
    await expect(database.db.query(sql)).rejects.toMatchObject({ code: '42501' });
  }
});
