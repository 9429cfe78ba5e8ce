import { recordAuditEvent } from '../../src/database/record/audit-event';
import { row, rows } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { foldBalances } from '../../src/database/ledger/fold-balances';
import { bookDifferences, chainBooks, chainDifferences } from '../support/books';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { OPERATOR } from '../support/operator';
import { answerBill, bill, charge, returnedRefund, settleOfEachKind } from '../support/settled';
import { standingApproval } from '../support/standing';

/**
 * Changes by the owner of the schema, in one table alone: what `books verify` finds, by the row
 * that it names, and what it does not compare.
 */

const keyring = readKeyring(makeKeyring());

let database: TestDatabase;
let books: Record<string, string>;
beforeAll(async () => {
  database = await createTestDatabase();
  books = await writeBooks();
});
afterAll(() => database.drop());

/** Books with something of each kind, chained. */
async function writeBooks(): Promise<Record<string, string>> {
  const { db } = database;
  const standing = await standingApproval(db, keyring, { monthlyLimit: 1_000_000n });
  const { payee, ...made } = await settleOfEachKind(db, keyring, standing);
  const declined = await bill(db, keyring, standing);
  await answerBill(db, keyring, standing, declined.id, null);
  const contested = await charge(db, keyring, standing);
  await answerBill(db, keyring, standing, contested.id, null);
  const bounced = await charge(db, keyring, standing);
  const returnedId = await returnedRefund(db, keyring, standing, bounced.reference, 0.3);
  await db.transaction((trx) =>
    recordAuditEvent(trx, OPERATOR, { action: 'entity.enabled', entityId: standing.merchantId }),
  );
  await foldBalances(db);
  await charge(db, keyring, standing);
  await chainBooks(db, keyring);
  const others = await row<Record<string, string>>(
    db,
    `SELECT (SELECT id FROM ledger_entries WHERE (resource_id, kind) = (:chargeId, 'charge'))::text AS "entryId",
       (SELECT id FROM ledger_entries WHERE (resource_id, kind) = (:paymentId, 'credit'))::text AS "creditId",
       (SELECT transaction_id FROM reversals WHERE billing_request_id = :reversedId) AS "reversalId",
       (SELECT return_transaction_id FROM refunds WHERE id = :returnedId) AS "returnId",
       (SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :contestedId) AS "openId",
       (SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :writtenOffId) AS "writtenOffBy",
       (SELECT max(id) FROM audit_events)::text AS "actId"`,
    { ...made, returnedId, contestedId: contested.id },
  );
  return {
    ...made,
    ...others,
    merchantId: standing.merchantId,
    bankId: standing.bankId,
    otherBankId: payee.bankId,
    declinedId: declined.id,
    returnedId,
  };
}

const differences = async () => [
  ...(await chainDifferences(database.db, keyring)),
  ...(await bookDifferences(database.db)),
];

/** By the owner of the tables, who can take triggers away. */
const owner = (sql: string) => asOwner(database.url, `SET session_replication_role = replica; ${sql}`);

/** SQL, or an expected sentence, that names rows of the books: `:chargeId` is the charge's id. */
const filled = (text: string) => text.replace(/:([a-zA-Z]+)\b/g, (all, name: string) => books[name] ?? all);

/** Columns that are written, and not worked out. */
async function columnsOf(table: string): Promise<string> {
  const columns = await rows<{ name: string }>(
    database.db,
    `SELECT quote_ident(attname) AS name FROM pg_attribute
     WHERE attrelid = to_regclass(:table) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    { table },
  );
  return columns.map(({ name }) => name).join(', ');
}

/** What is found once the owner of the tables has changed this one, which is as before then. */
async function foundAfter(table: string, change: string): Promise<string[]> {
  const columns = await columnsOf(table);
  await owner(`CREATE TABLE saved AS TABLE ${table}`);
  try {
    await owner(filled(change));
    return await differences();
  } finally {
    await owner(`DELETE FROM ${table};
      INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM saved; DROP TABLE saved`);
  }
}

test('books that are as they were written are right', async () => {
  expect(await differences()).toEqual([]);
});

const THE_CHARGE = `billing_requests WHERE id = ':chargeId'`;
const AT = '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z';

/** What is changed of a row, and what the finding says of it. */
const FOUND: [change: string, finding: string][] = [
  // A charge.
  ...Object.entries({
    'amount = 101': 'amount 101, and its last event \\(table events\\) says amount 100',
    "currency = 'KES'": 'currency KES, and its last event \\(table events\\) says currency NGN',
    "bank_transaction_id = 'other'":
      'bankTransactionId other, and its last event \\(table events\\) says bankTransactionId tx-',
    "closed_at = closed_at + interval '1 ms'": `closedAt ${AT}, and its last event \\(table events\\) says closedAt ${AT}`,
    "status = 'declined', decline_reason = 'x', bank_transaction_id = NULL, counted_day = NULL, counted_month = NULL, refunded_amount = 0":
      'status declined, bankTransactionId none, and its last event \\(table events\\) says status successful, bankTransactionId tx-',
  }).map(([set, says]): [string, string] => [
    `UPDATE billing_requests SET ${set} WHERE id = ':chargeId'`,
    `charges: :chargeId: its row says ${says}`,
  ]),
  [
    `UPDATE billing_requests SET status = 'successful', decline_reason = NULL, bank_transaction_id = 'forged' WHERE id = ':declinedId'`,
    `charges: :declinedId: its row asks for this charge: ${AT}: debit 100 NGN customer_bank :bankId, credit 100 NGN merchant :merchantId; the ledger has none`,
  ],
  [
    `DELETE FROM ${THE_CHARGE}`,
    `charges: :chargeId: it was deleted: its last event \\(table events\\) says .*status successful, .* and there is no row`,
  ],
  [
    `INSERT INTO billing_requests (id, transaction_id, reference, batch_id, merchant_id, provider_id, customer_id, bank_id, lookup_id,
       amount, currency, description, approval_required, workflow_id, expires_at, created_at)
     SELECT 'brq_forged', 'txn_forged', 'FORGED', batch_id, merchant_id, provider_id, customer_id, bank_id, lookup_id, amount, currency,
       description, true, workflow_id, expires_at, created_at FROM ${THE_CHARGE}`,
    'charges: brq_forged: its row says amount 100, currency NGN, status pending, and no event \\(table events\\) says that it was made',
  ],
  [
    `UPDATE billing_requests SET credit_settled = false WHERE id = ':paymentId'`,
    'charges: :paymentId: its row asks for no credit; the ledger has debit 250 NGN in_transit :otherBankId, credit 250 NGN payee_bank :otherBankId',
  ],
  // A refund, and its return.
  ...Object.entries({
    'amount = 31': 'amount 31, and its last event \\(table events\\) says amount 30',
    "currency = 'KES'": 'currency KES, and',
    "bank_transaction_id = 'other'": 'bankTransactionId other, and',
    "closed_at = closed_at + interval '1 ms'": 'closedAt ',
    "status = 'rejected', bank_transaction_id = NULL":
      'status rejected, bankTransactionId none, and its last event \\(table events\\) says status completed',
  }).map(([set, says]): [string, string] => [
    `UPDATE refunds SET ${set} WHERE id = ':refundId'`,
    `refunds: :refundId: its row says ${says}`,
  ]),
  [`DELETE FROM refunds WHERE id = ':refundId'`, 'refunds: :refundId: it was deleted: '],
  [
    `UPDATE refunds SET status = 'completed', returned_at = NULL, return_transaction_id = NULL, return_reference = NULL,
       returned_by = NULL WHERE id = ':returnedId'`,
    'refunds: :returnedId: its row says status completed, and its last event \\(table events\\) says status returned',
  ],
  [
    `UPDATE refunds SET returned_at = returned_at - interval '1 h' WHERE id = ':returnedId'`,
    `reversals and returns: :returnId: its row asks for this refund_return: ${AT}: debit 30 NGN customer_bank :bankId, credit 30 NGN merchant :merchantId; the ledger has ${AT}: `,
  ],
  // A reversal.
  ...[
    'amount = 99',
    "currency = 'KES'",
    "bank_transaction_id = 'other'",
    "created_at = created_at + interval '1 ms'",
  ].map((set): [string, string] => [
    `UPDATE reversals SET ${set} WHERE transaction_id = ':reversalId'`,
    'reversals and returns: :reversalId: its row says ',
  ]),
  [
    `DELETE FROM reversals WHERE transaction_id = ':reversalId'`,
    'reversals and returns: :reversalId: it was deleted: ',
  ],
  // An entry, and a posting.
  ...[
    "settled_at = settled_at + interval '1 s'",
    'settlement_day = settlement_day - 1',
    'belongs_to = settlement_day - 1',
  ].map((set): [string, string] => [
    `UPDATE ledger_entries SET ${set} WHERE id = :entryId`,
    'links of the ledger: entry :entryId: its row or its link \\d+ was changed since it was chained',
  ]),
  [
    `UPDATE ledger_entries SET resource_id = 'brq_x' WHERE id = :entryId`,
    `charges: brq_x: its row asks for no charge; the ledger has ${AT}: debit 100 NGN`,
  ],
  [
    `DELETE FROM ledger_entries WHERE id = :entryId`,
    'links of the ledger: entry :entryId: its link \\d+ of the chain is there, and its row was deleted',
  ],
  [
    `DELETE FROM ledger_entries WHERE id = :entryId`,
    'charges: :chargeId: its row asks for this charge: .*; the ledger has none',
  ],
  [
    `INSERT INTO ledger_entries (id, kind, resource_id, settled_at, settlement_day) OVERRIDING SYSTEM VALUE
     SELECT 7000, kind, 'brq_x', settled_at, settlement_day FROM ledger_entries WHERE id = :entryId`,
    `charges: brq_x: its row asks for no charge; the ledger has ${AT}: no postings`,
  ],
  [
    `INSERT INTO ledger_entries (id, kind, resource_id, settled_at, settlement_day) OVERRIDING SYSTEM VALUE
     SELECT 7000, 'reversal', ':chargeId', settled_at, settlement_day FROM ledger_entries WHERE id = :entryId`,
    `charges: :chargeId: its row asks for no reversal; the ledger has ${AT}: no postings`,
  ],
  [
    `INSERT INTO ledger_entries (id, kind, resource_id, settled_at, settlement_day) OVERRIDING SYSTEM VALUE
     SELECT 7000, 'write_off', ':returnedId', settled_at, settlement_day FROM ledger_entries WHERE id = :entryId;
     INSERT INTO ledger_postings SELECT 7000, n, party_id, account, currency, direction, amount
     FROM ledger_postings WHERE entry_id = :entryId`,
    `refunds: :returnedId: its row asks for no write_off; the ledger has ${AT}: debit 100 NGN customer_bank :bankId, credit 100 NGN merchant`,
  ],
  [
    `UPDATE ledger_postings SET amount = amount + 1 WHERE entry_id IN (
       SELECT id FROM ledger_entries WHERE (resource_id, kind) = (':writtenOffBy', 'write_off'))`,
    `exceptions: :writtenOffBy: its row asks for no write_off; the ledger has ${AT}: debit \\d+ NGN disputed`,
  ],
  [
    `UPDATE ledger_postings SET party_id = ':otherBankId' WHERE direction = 'credit' AND entry_id IN (
       SELECT id FROM ledger_entries WHERE resource_id = ':reversalId')`,
    `reversals and returns: :reversalId: its row asks for this reversal: .*; the ledger has .* customer_bank :otherBankId`,
  ],
  [
    `UPDATE billing_requests SET refunded_amount = 1 WHERE id = ':chargeId'`,
    'charges: :chargeId: its row says refunded 1 and reversed 0; its refunds and reversals come to \\d+ and 0',
  ],
  [
    `UPDATE billing_requests SET reversed_amount = 0 WHERE id = ':reversedId'`,
    'charges: :reversedId: its row says refunded \\d+ and reversed 0; its refunds and reversals come to ',
  ],
  ...[
    'amount = 1',
    "party_id = 'bnk_x'",
    "account = 'disputed'",
    "currency = 'KES'",
    "direction = 'credit'",
    'n = 3',
  ].map((set): [string, string] => [
    `UPDATE ledger_postings SET ${set} WHERE entry_id = :entryId AND n = 1`,
    'links of the ledger: entry :entryId: its row or its link \\d+ was changed since it was chained',
  ]),
  [
    `UPDATE ledger_postings SET amount = 1 WHERE entry_id = :entryId AND n = 1`,
    'balances: :entryId: the entry does not balance: 99 NGN are left over',
  ],
  [
    `DELETE FROM ledger_postings WHERE entry_id = :creditId AND n = 1`,
    'charges: :paymentId: its row asks for this credit: .*; the ledger has credit 250 NGN',
  ],
  [
    `INSERT INTO ledger_postings SELECT entry_id, 3, party_id, account, currency, direction, 1
     FROM ledger_postings WHERE entry_id = :entryId AND n = 1`,
    'charges: :chargeId: its row asks for this charge: .*; the ledger has .*: debit \\d+ NGN customer_bank :bankId, debit \\d+ NGN customer_bank :bankId, credit 100 NGN',
  ],
  // A balance.
  [
    `UPDATE ledger_folded_balances SET credits = credits + 1 WHERE party_id = ':merchantId'`,
    'balances: merchant of :merchantId in NGN by \\w+ on [\\d-]+: the balance has \\d+ postings with debits of \\d+ and credits of \\d+, and the ledger \\d+ postings with ',
  ],
  [
    `UPDATE ledger_folded_balances SET count = count + 1 WHERE party_id = ':merchantId'`,
    'balances: merchant of :merchantId in NGN by ',
  ],
  [
    `DELETE FROM ledger_folded_balances WHERE account = 'payee_bank'`,
    'balances: payee_bank of :otherBankId in NGN by credit on .*: the balance has 0 postings with debits of 0 and credits of 0, and the ledger 1 postings',
  ],
  [
    `UPDATE ledger_balance_changes SET debits = debits + 1 WHERE party_id = ':bankId'`,
    'balances: customer_bank of :bankId in NGN by ',
  ],
  [
    `UPDATE ledger_folded_balances SET day = '2020-01-01' WHERE party_id = ':merchantId' AND kind = 'charge'`,
    'balances: merchant of :merchantId in NGN by \\w+ on 2020-01-01: .*, and the ledger 0 postings',
  ],
  // An exception.
  [
    `UPDATE reconciliation_exceptions SET state = 'investigating', owner = 'operator' WHERE id = ':openId'`,
    'exceptions: :openId: its row says state investigating, and its last event \\(table events\\) says state open',
  ],
  [
    `UPDATE reconciliation_exceptions SET resolution = 'no_difference' WHERE id = ':writtenOffBy'`,
    'exceptions: :writtenOffBy: its row says resolution no_difference, and its last event \\(table events\\) says resolution written_off',
  ],
  [
    `UPDATE reconciliation_exceptions SET resolution = 'no_difference' WHERE id = ':writtenOffBy'`,
    'exceptions: :writtenOffBy: its row asks for no write_off; the ledger has ',
  ],
  [`DELETE FROM reconciliation_exceptions WHERE id = ':openId'`, 'exceptions: :openId: it was deleted: '],
  // A chained audit event, and a signed head.
  [
    `UPDATE audit_events SET actor = 'operator:other' WHERE id = :actId`,
    'links of audit events: audit event :actId: its row or its link \\d+ was changed',
  ],
  [
    `DELETE FROM audit_events WHERE id = :actId`,
    'links of audit events: audit event :actId: its link \\d+ of the chain is there, and its row was',
  ],
  [
    `UPDATE event_chain SET hash = sha256(hash) WHERE n = 3`,
    'links of events: event evt_\\w+: its row or its link 3 was changed',
  ],
  [
    `DELETE FROM event_chain WHERE n = 3`,
    'links of events: event evt_\\w+: the links from 3 to 3, before its own, were deleted',
  ],
  [`UPDATE chain_heads SET jws = substr(jws, 1, 40)`, 'heads: head 1 of [\\d-]+: it is signed with no key'],
  [`DELETE FROM chain_heads`, 'heads: heads: the heads from 1 to 1 were deleted'],
  // A chained event, last: what is written again has another transaction's id.
  ...[
    "type = 'billing_request.declined'",
    "cause = 'operator'",
    "details = details - 'amount'",
    "business_at = business_at + interval '1 ms'",
    "recorded_at = recorded_at + interval '1 us'",
    "request_id = 'other'",
    'sequence = 7',
    "resource_id = ':declinedId'",
  ].map((set): [string, string] => [
    `UPDATE events SET ${set.replace("= ':declinedId'", "= ':declinedId', sequence = 7")} WHERE resource_id = ':chargeId' AND sequence = 2`,
    'links of events: event evt_\\w+: its row or its link \\d+ was changed since it was chained',
  ]),
  [
    `DELETE FROM events WHERE resource_id = ':chargeId' AND sequence = 2`,
    'links of events: event evt_\\w+: its link \\d+ of the chain is there, and its row was deleted',
  ],
];

const tableIn = (change: string) => /(?:UPDATE|FROM|INTO) (\w+)/.exec(change)?.[1] ?? '';

/** What is compared with nothing. */
const PASSED_OVER = [
  `UPDATE billing_requests SET description = 'Hats', metadata = '{"shoe": 1}', customer_id = 'cus_x', lookup_id = 'other'`,
  `UPDATE refunds SET reason = 'Hats', customer_id = 'cus_x', metadata = '{"shoe": 1}'`,
  `UPDATE reversals SET customer_id = 'cus_x', reference = 'OTHER'`,
  `UPDATE reconciliation_exceptions SET bank_note = 'It was you', operator_note = 'I wait', customer_id = 'cus_x'`,
  `UPDATE intents SET description = 'Hats'`,
  `UPDATE agreements SET spent_day_total = 0, daily_limit = 7`,
];

test.each(PASSED_OVER)('is not compared: %s', async (change) => {
  expect(await foundAfter(tableIn(change), change)).toEqual([]);
});

test.each(FOUND)('%s: is found', async (change, finding) => {
  expect(await foundAfter(tableIn(change), change)).toContainEqual(
    expect.stringMatching(new RegExp(`^${filled(finding)}`)),
  );
});
