import { digestOf } from '../../src/api/billing/statement';
import { billingRules, readConfig, recurringRules } from '../../src/config';
import { answerBillingRequest } from '../../src/database/billing-request/outcome';
import { row, rows } from '../../src/database/connection';
import { createIntents } from '../../src/database/intent/intent';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { foldBalances } from '../../src/database/ledger/balance';
import { closePeriod } from '../../src/database/ledger/period';
import { keepDigest } from '../../src/database/ledger/statement';
import { answerRefund } from '../../src/database/refund/outcome';
import { changeSchedule, pauseSchedule, resumeSchedule } from '../../src/database/recurring/action';
import { takeAsOperator } from '../../src/database/reconciliation-exception/operator';
import { resolveException } from '../../src/database/reconciliation-exception/resolve';
import { openStatementExceptions } from '../../src/database/reconciliation-exception/statement';
import { bookDifferences, chainBooks, chainDifferences } from '../support/books';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { OPERATOR } from '../support/operator';
import { answerBill, bill, charge, refund, returnedRefund, settleOfEachKind } from '../support/settled';
import { runSchedule } from '../support/schedule';
import { answerCharges, lookupIdOf, makeSchedule, moveClock, standingApproval } from '../support/standing';
import { dayOf } from '../support/statements';

/**
 * What whoever owns the schema changes in one table alone, or in one column of it: each is found by
 * `books verify`, and named by what it is about.
 */

const keyring = readKeyring(makeKeyring());
const timeZone = 'Africa/Lagos';
const rules = recurringRules(readConfig({}));

let database: TestDatabase;
let books: Record<string, string>;
beforeAll(async () => {
  database = await createTestDatabase();
  books = await writeBooks();
});
afterAll(() => database.drop());

/** Books with something of each kind, chained, of a day that is over for a merchant. */
async function writeBooks(): Promise<Record<string, string>> {
  const { db } = database;
  const standing = await standingApproval(db, keyring, { monthlyLimit: 1_000_000n });
  const { merchantId, bankId, customerId } = standing;
  const { payee, ...made } = await settleOfEachKind(db, keyring, standing);
  const declined = await bill(db, keyring, standing);
  await answerBill(db, keyring, standing, declined.id, null);
  const contested = await charge(db, keyring, standing);
  await answerBill(db, keyring, standing, contested.id, null);
  const taken = await charge(db, keyring, standing);
  await answerBill(db, keyring, standing, taken.id, null);
  const exceptionOf = async (chargeId: string) =>
    (
      await row<{ id: string }>(
        db,
        `SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :chargeId`,
        { chargeId },
      )
    )?.id ?? '';
  const exceptionOfRefund = async (refundId: string) =>
    (
      await row<{ id: string }>(db, `SELECT id FROM reconciliation_exceptions WHERE refund_id = :refundId`, {
        refundId,
      })
    )?.id ?? '';
  const takenException = await exceptionOf(taken.id);
  await db.transaction((trx) => takeAsOperator(trx, { ...OPERATOR, reason: 'I call them' }, takenException));
  // Who takes it over notes nothing, and the note of before stands.
  await db.transaction((trx) => takeAsOperator(trx, { ...OPERATOR, actor: 'operator:b' }, takenException));
  const explained = await charge(db, keyring, standing);
  await answerBill(db, keyring, standing, explained.id, null);
  const explainedException = await exceptionOf(explained.id);
  await db.transaction((trx) =>
    resolveException(
      trx,
      keyring,
      timeZone,
      { cause: 'bank', bankId, note: 'It was a slip' },
      explainedException,
      { resolution: 'confirmed', bankTransactionId: null },
    ),
  );
  const inWords = await bill(db, keyring, standing);
  await db.transaction((trx) =>
    answerBillingRequest(
      trx,
      keyring,
      timeZone,
      bankId,
      inWords.id,
      { outcome: 'declined', declineReason: 'Ask Ada', action: null },
      { metadata: { branch: 7 } },
    ),
  );
  await answerBill(db, keyring, standing, inWords.id, 'tx-late');
  const tookBack = await charge(db, keyring, standing);
  await answerBill(db, keyring, standing, tookBack.id, null);
  await db.transaction(async (trx) =>
    resolveException(
      trx,
      keyring,
      timeZone,
      { cause: 'bank', bankId, note: null },
      await exceptionOf(tookBack.id),
      { resolution: 'reversed', bankTransactionId: 'tx-took' },
    ),
  );
  const backInWords = await refund(db, keyring, standing, explained.reference, 0.1, 'rejected');
  const bounced = await charge(db, keyring, standing);
  const returnedId = await returnedRefund(db, keyring, standing, bounced.reference, 0.3);
  const stated = { bankTransactionId: 'tx-unknown', direction: 'debit', currency: 'NGN' } as const;
  const booked = { amount: 500n, bookedAmount: 500n, bookedCurrency: 'NGN', held: 0n };
  const [unknown] = await db.transaction((trx) =>
    openStatementExceptions(trx, keyring, bankId, [
      { ...stated, ...booked, kind: 'unknown_here', billingRequestId: null, refundId: null, reference: null },
    ]),
  );
  const refused = { action: 'completed', bankTransactionId: 'tx-back', reason: null } as const;
  await db.transaction((trx) => answerRefund(trx, keyring, timeZone, bankId, backInWords, refused));
  const lookupId = await lookupIdOf(db, customerId);
  const asked = {
    lookupIds: [{ phrase: 'p', lookupId }],
    currency: 'NGN',
    description: 'x',
    dueDate: undefined,
  };
  const askAgain = () =>
    db.transaction((trx) => createIntents(trx, keyring, rules, merchantId, asked, (id) => `intent/${id}`));
  const superseded = await askAgain();
  await askAgain();
  const scheduleId = await makeSchedule(db, keyring, standing, {
    maxBillings: 12,
    metadata: { plan: 'gold' },
  });
  const merchant = { entityId: merchantId, role: 'merchant' } as const;
  await db.transaction((trx) =>
    changeSchedule(trx, keyring, rules, merchant, scheduleId, { description: 'Gym', amount: 1_200 }),
  );
  await db.transaction((trx) => changeSchedule(trx, keyring, rules, merchant, scheduleId, { amount: 1_500 }));
  const billedId = await writeBillings();
  await foldBalances(db);
  expect(await db.transaction((trx) => closePeriod(trx, OPERATOR, timeZone, '2020-02-01'))).toBe('closed');
  const date = await dayOf(db, merchantId);
  await moveClock(db, merchantId, '1 day');
  const of = { party: { entityId: merchantId, role: 'merchant' as const }, date, currency: 'NGN' };
  await keepDigest(db, of, 0, await digestOf(db, of));
  await chainBooks(db, keyring);
  const [act] = await rows<{ id: bigint }>(db, 'SELECT max(id) AS id FROM audit_events');
  const reversal = await row<{ id: string }>(
    db,
    `SELECT transaction_id AS id FROM reversals WHERE billing_request_id = :reversedId`,
    made,
  );
  const entry = await row<{ id: bigint }>(
    db,
    `SELECT id FROM ledger_entries WHERE kind = 'charge' AND resource_id = :chargeId`,
    made,
  );
  return {
    ...made,
    merchantId,
    bankId,
    customerId,
    agreementId: standing.agreementId,
    otherId: payee.merchantId,
    otherBankId: payee.bankId,
    otherAgreementId: payee.agreementId,
    declinedId: declined.id,
    inWordsId: inWords.id,
    backInWordsId: backInWords,
    returnedId,
    explainedId: explainedException,
    lateId: await exceptionOf(inWords.id),
    conflictId: await exceptionOfRefund(backInWords),
    tookBackId: await exceptionOf(tookBack.id),
    openId: await exceptionOf(contested.id),
    takenId: takenException,
    resolvedId: await exceptionOf(made.reversedId),
    unknownId: unknown?.exceptionId ?? '',
    intentId: superseded.intents[0]?.id ?? '',
    scheduleId,
    billedId,
    date,
    statement: `${merchantId} on ${date} in NGN`,
    reversalId: reversal?.id ?? '',
    entryId: String(entry?.id),
    actId: String(act?.id),
  };
}

/** A schedule with billings that were paid, failed and skipped, and one that waits for a retry. */
async function writeBillings(): Promise<string> {
  const { db } = database;
  const standing = await standingApproval(db, keyring);
  const id = await makeSchedule(db, keyring, standing, { frequency: 'weekly' });
  const viewer = { entityId: standing.merchantId, role: 'merchant' } as const;
  const run = () => runSchedule(db, keyring, { ...rules, ...billingRules(readConfig({})) }, id);
  const answer = async (declineReason?: string) => {
    await run();
    await answerCharges(db, keyring, standing, declineReason);
    await run();
  };
  const aWeekLater = () => moveClock(db, standing.merchantId, '7 days');
  await answer();
  await aWeekLater();
  await answer('account_closed');
  await db.transaction((trx) => pauseSchedule(trx, keyring, viewer, id));
  await aWeekLater();
  await run();
  await db.transaction((trx) => resumeSchedule(trx, keyring, viewer, id));
  await aWeekLater();
  await answer('insufficient_funds');
  return id;
}

/** By which name a thing of these books is known. */
type Named = (of: Record<string, string>) => string;
const the =
  (name: string): Named =>
  (of) =>
    of[name] ?? name;

/** Of each table: a row of it, the columns that matter with another value, and what is named. */
const CHANGED: [
  table: string,
  where: Named,
  columns: Record<string, string | [value: string, named: Named]>,
  named: Named,
][] = [
  [
    'billing_requests',
    (of) => `id = '${of['chargeId']}'`,
    {
      amount: '101',
      currency: `'USD'`,
      reference: [`'OTHER'`, the('statement')],
      description: [`'Hats'`, the('statement')],
      customer_id: `(SELECT max(id) FROM customers WHERE id <> customer_id)`,
      merchant_id: `(SELECT max(id) FROM entities WHERE type = 'merchant' AND id <> merchant_id)`,
      bank_id: `(SELECT max(id) FROM entities WHERE type = 'bank' AND id <> bank_id)`,
      bank_transaction_id: `'another'`,
      closed_at: `closed_at + interval '1 ms'`,
      created_at: [`created_at - interval '1 s'`, the('statement')],
      refunded_amount: '0',
      reversed_amount: '1',
      held_amount: '1',
      sequence: '7',
      counted_day: [`counted_day - 1`, the('agreementId')],
    },
    the('chargeId'),
  ],
  [
    'billing_requests',
    (of) => `id = '${of['declinedId']}'`,
    {
      amount: '101',
      decline_reason: `'limit_reached'`,
      closed_by: `'network'`,
      closed_at: `closed_at + interval '1 ms'`,
    },
    the('declinedId'),
  ],
  [
    'refunds',
    (of) => `id = '${of['refundId']}'`,
    {
      amount: '31',
      reminders: '1, overdue = true',
      currency: `'USD'`,
      reference: [`'OTHER'`, the('statement')],
      reason: [`'Hats'`, the('statement')],
      billing_request_id: `(SELECT max(id) FROM billing_requests WHERE id <> billing_request_id)`,
      bank_id: `(SELECT max(id) FROM entities WHERE type = 'bank' AND id <> bank_id)`,
      bank_transaction_id: `'another'`,
      closed_at: `closed_at + interval '1 ms'`,
      sequence: '7',
    },
    the('refundId'),
  ],
  [
    'refunds',
    (of) => `id = '${of['returnedId']}'`,
    {
      returned_at: `returned_at + interval '1 ms'`,
      return_transaction_id: `'txn_x'`,
      return_reference: `'X'`,
      returned_by: `(SELECT max(id) FROM reconciliation_exceptions WHERE id <> returned_by)`,
      status: `'completed', returned_at = NULL, return_transaction_id = NULL, return_reference = NULL, returned_by = NULL`,
    },
    the('returnedId'),
  ],
  [
    'reversals',
    (of) => `transaction_id = '${of['reversalId']}'`,
    {
      amount: '99',
      currency: `'USD'`,
      reference: `'OTHER'`,
      exception_id: `(SELECT max(id) FROM reconciliation_exceptions WHERE id <> exception_id)`,
      customer_id: `(SELECT max(id) FROM customers WHERE id <> customer_id)`,
      bank_transaction_id: `'another'`,
      created_at: `created_at + interval '1 ms'`,
    },
    the('reversalId'),
  ],
  [
    'reconciliation_exceptions',
    (of) => `id = '${of['resolvedId']}'`,
    {
      kind: `'late_answer'`,
      amount: '99',
      currency: `'USD'`,
      outcome: `'approved'`,
      bank_transaction_id: `'another'`,
      opened_at: `opened_at + interval '1 ms'`,
      resolved_at: `resolved_at + interval '1 ms'`,
      resolution: `'written_off'`,
      reversal_bank_transaction_id: [
        `'another', resolution = 'reversed'`,
        (of) => `${of['resolvedId']}: its row says that reversal_bank_transaction_id is another`,
      ],
      merchant_id: `(SELECT max(id) FROM entities WHERE type = 'merchant' AND id <> merchant_id)`,
      bank_id: `(SELECT max(id) FROM entities WHERE type = 'bank' AND id <> bank_id)`,
      billing_request_id: `(SELECT min(id) FROM billing_requests WHERE status = 'pending')`,
      sequence: '7',
    },
    the('resolvedId'),
  ],
  [
    'reconciliation_exceptions',
    (of) => `id = '${of['takenId']}'`,
    { state: `'open'`, owner: `'operator:other'`, bank_note: `'We have said nothing'` },
    the('takenId'),
  ],
  [
    'reconciliation_exceptions',
    (of) => `id = '${of['openId']}'`,
    { state: `'investigating', owner = 'operator:nobody'`, operator_note: `'Hats'`, held: 'held - 1' },
    (of) => `(${of['openId']}|held_amount is 100, and its exceptions hold 99)`,
  ],
  [
    'reconciliation_exceptions',
    (of) => `id = '${of['unknownId']}'`,
    {
      bank_id: `(SELECT max(id) FROM entities WHERE type = 'bank' AND id <> bank_id)`,
      booked_amount: '499',
      booked_currency: `'USD'`,
      direction: `'credit'`,
    },
    the('unknownId'),
  ],
  [
    'intents',
    (of) => `id = '${of['intentId']}'`,
    {
      status: `'approved', customer_decision = 'approve_once'`,
      currency: `'USD'`,
      agreement_id: `(SELECT max(id) FROM agreements WHERE id <> agreement_id)`,
      merchant_id: `(SELECT max(id) FROM entities WHERE type = 'merchant' AND id <> merchant_id)`,
      closed_at: `closed_at + interval '1 ms'`,
      sequence: '7',
    },
    the('intentId'),
  ],
  [
    'schedules',
    (of) => `id = '${of['scheduleId']}'`,
    {
      amount: '1',
      currency: `'USD'`,
      every: '2',
      frequency: `'yearly'`,
      start_at: `start_at + interval '1 day'`,
      end_at: `start_at + interval '9 days'`,
      max_billings: '13',
      status: `'cancelled', next_due_at = NULL`,
      agreement_id: `(SELECT max(id) FROM agreements WHERE id <> agreement_id)`,
      sequence: '7',
    },
    the('scheduleId'),
  ],
  [
    'schedules',
    (of) => `id = '${of['billedId']}'`,
    {
      ran: 'ran - 1',
      failed_in_a_row: '0',
      next_n: 'next_n + 1',
      paused: `true, status = 'paused'`,
      noticed_n: 'coalesce(noticed_n, 0) + 1',
      status: `'suspended'`,
    },
    the('billedId'),
  ],
  [
    'billings',
    (of) => `schedule_id = '${of['billedId']}' AND n = 0`,
    {
      status: `'failed', reason = 'insufficient_funds'`,
      attempts: '2',
      due_at: `due_at + interval '1 ms'`,
      first_attempt_at: `first_attempt_at + interval '1 ms'`,
      closed_at: `closed_at + interval '1 ms'`,
    },
    the('billedId'),
  ],
  [
    'billings',
    (of) => `schedule_id = '${of['billedId']}' AND n = 1`,
    { status: `'successful', reason = NULL`, reason: `'limit_reached'` },
    the('billedId'),
  ],
  [
    'billings',
    (of) => `schedule_id = '${of['billedId']}' AND status = 'skipped'`,
    { due_at: `due_at + interval '1 ms'`, reason: `'arrears'` },
    the('billedId'),
  ],
  [
    'billings',
    (of) => `schedule_id = '${of['billedId']}' AND status = 'retrying'`,
    { retry_at: `retry_at + interval '1 ms'`, reason: `'limit_reached'` },
    the('billedId'),
  ],
  [
    'agreements',
    (of) => `id = '${of['agreementId']}'`,
    {
      decision: `'approve_once'`,
      blocked: `true, decision = 'deny'`,
      currency: `'USD'`,
      daily_limit: '1',
      monthly_limit: '1',
      spent_day_total: 'spent_day_total + 1',
      spent_month_total: 'spent_month_total + 1',
      sequence: '7',
    },
    the('agreementId'),
  ],
  [
    'ledger_entries',
    (of) => `id = ${of['entryId']}`,
    {
      kind: `'credit'`,
      resource_id: `'brq_other'`,
      settled_at: `settled_at + interval '1 ms'`,
      settlement_day: 'settlement_day - 1',
      belongs_to: 'settlement_day - 1',
    },
    the('entryId'),
  ],
  [
    'ledger_postings',
    (of) => `entry_id = ${of['entryId']} AND n = 1`,
    {
      amount: '101',
      party_id: `(SELECT max(id) FROM entities WHERE type = 'bank' AND id <> party_id)`,
      currency: `'USD'`,
    },
    the('entryId'),
  ],
  [
    'ledger_folded_balances',
    (of) => `party_id = '${of['merchantId']}'`,
    { credits: 'credits + 1', debits: 'debits + 1', count: 'count + 1', day: 'day - 1', currency: `'USD'` },
    the('merchantId'),
  ],
  ['statement_digests', () => 'true', { sha256: `repeat('0', 64)`, reopenings: '1' }, the('statement')],
  ['ledger_periods', () => 'true', { state: `'reopened'`, reopenings: '3' }, the('2020-02')],
  [
    'bank_transactions',
    (of) => `resource_id = '${of['chargeId']}'`,
    { resource_id: `'brq_other'`, bank_transaction_id: `'another'` },
    the('chargeId'),
  ],
  ...[
    ['tx-late', 'lateId'],
    ['tx-back', 'conflictId'],
    ['tx-took', 'tookBackId'],
  ].map(([id = '', name = '']): (typeof CHANGED)[number] => [
    'bank_transactions',
    () => `bank_transaction_id = '${id}'`,
    { resource_id: `'brq_other'`, bank_transaction_id: `'another'` },
    (of) => `${of[name]}: its row has the bank's transaction ${id}, which is not noted as its own`,
  ]),
  [
    'events',
    (of) => `resource_id = '${of['chargeId']}' AND sequence = 2`,
    {
      details: `'{}'`,
      type: `'billing_request.declined'`,
      cause: `'network'`,
      business_at: `business_at + interval '1 ms'`,
      resource_id: `'brq_other'`,
      sequence: '3',
    },
    the('event evt_'),
  ],
  [
    'audit_events',
    (of) => `id = ${of['actId']}`,
    { actor: `'operator:other'`, action: `'entity.other'`, reason: `'other'`, after: `'{}'` },
    (of) => `act ${of['actId']}`,
  ],
  ...['ledger', 'event', 'act'].map((chain): (typeof CHANGED)[number] => [
    `${chain}_chain`,
    () => 'n = 1',
    { hash: 'sha256(hash)', n: '100000' },
    the(`${chain}Chain`),
  ]),
  ['chain_heads', () => 'number = 1', { jws: `jws || 'x'`, day: 'day - 1', number: '2' }, the('head ')],
  ['chain_keys', () => 'true', { kid: `'other'` }, the('head ')],
];

const DELETED: [table: string, where: Named, named: Named][] = [
  ...CHANGED.filter(([table]) => table !== 'statement_digests' && table !== 'chain_keys').map(
    ([table, where, , named]): (typeof DELETED)[number] => [table, where, named],
  ),
  ['chain_keys', () => 'true', the('head ')],
];

/** A row like another, under an id of its own. */
const ADDED: [table: string, of: Named, own: Record<string, unknown>, named: Named][] = [
  [
    'billing_requests',
    (of) => `id = '${of['chargeId']}'`,
    { id: 'brq_x', transaction_id: 'txn_x', reference: 'X', bank_transaction_id: 'x' },
    the('brq_x'),
  ],
  [
    'refunds',
    (of) => `id = '${of['refundId']}'`,
    { id: 'rfd_x', transaction_id: 'txn_x', reference: 'X', bank_transaction_id: 'x' },
    the('rfd_x'),
  ],
  [
    'reversals',
    (of) => `transaction_id = '${of['reversalId']}'`,
    { transaction_id: 'txn_x', reference: 'X', refund_id: 'rfd_x' },
    the('txn_x'),
  ],
  [
    'reconciliation_exceptions',
    (of) => `id = '${of['resolvedId']}'`,
    { id: 'exc_x', bank_transaction_id: 'x' },
    the('exc_x'),
  ],
  ['intents', (of) => `id = '${of['intentId']}'`, { id: 'int_x', reference: 'X' }, the('int_x')],
  ['schedules', (of) => `id = '${of['scheduleId']}'`, { id: 'sch_x' }, the('sch_x')],
  [
    'billings',
    (of) => `schedule_id = '${of['billedId']}' AND n = 0`,
    { n: 100 },
    (of) =>
      `${of['billedId']}: of its billing 101 the row says that status is successful, and its trail nothing`,
  ],
  ['agreements', (of) => `id = '${of['agreementId']}'`, { id: 'agr_x', customer_id: 'cus_x' }, the('agr_x')],
  ['ledger_entries', (of) => `id = ${of['entryId']}`, { id: 7_000, resource_id: 'brq_x' }, the('7000')],
  ['ledger_postings', (of) => `entry_id = ${of['entryId']} AND n = 1`, { n: 3 }, the('entryId')],
  [
    'ledger_folded_balances',
    (of) => `party_id = '${of['merchantId']}'`,
    { day: '2020-01-01' },
    the('on 2020-01-01'),
  ],
  [
    'ledger_balance_changes',
    () => 'false',
    {
      party_id: 'mch_x',
      account: 'merchant',
      currency: 'NGN',
      day: '2020-01-01',
      kind: 'charge',
      count: 1,
      debits: 0,
      credits: 1,
    },
    the('mch_x'),
  ],
  ['statement_digests', () => 'true', { reopenings: 1 }, the('statement')],
  ['statement_digests', () => 'true', { day: '2020-01-01' }, the('on 2020-01-01 in NGN')],
  ['ledger_periods', () => 'true', { month: '2020-03-01' }, the('2020-03')],
  [
    'events',
    (of) => `resource_id = '${of['chargeId']}' AND sequence = 2`,
    { id: 'evt_x', sequence: 3 },
    the('chargeId'),
  ],
  [
    'audit_events',
    (of) => `id = ${of['actId']}`,
    { id: -1, recorded_at: '2020-01-01T00:00:00Z' },
    the('act -1'),
  ],
  ['act_chain', () => 'n = 1', { n: 100_000, row_id: -1 }, the('act -1')],
  ['chain_heads', () => 'number = 1', { number: 7 }, the('head 7')],
];

/** What is told of what stands in a row for good. */
const contentOf =
  (name: string, column: string): Named =>
  (of) =>
    `${of[name]}: of [a-z_, ]*\\b${column}\\b[a-z_, ]* its row says something else than its trail has the SHA-256 of`;

const LATER = (column: string) => `${column} + interval '1 microsecond'`;
const NONE = 'NULL';

/** Of each table: a row of it, its name, and columns that nothing but its content is known by. */
const CONTENT: [table: string, key: string, name: string, columns: Record<string, string>][] = [
  [
    'billing_requests',
    'id',
    'declinedId',
    {
      transaction_id: `'txn_x'`,
      reference: `'OTHER'`,
      batch_id: `'bat_x'`,
      merchant_id: `'mch_x'`,
      provider_id: NONE,
      customer_id: `'cus_x'`,
      bank_id: `'bnk_x'`,
      lookup_id: `'other'`,
      agreement_id: NONE,
      description: `'Hats'`,
      approval_required: 'NOT approval_required',
      workflow_id: `'other'`,
      bank_delivery_id: NONE,
      expires_at: LATER('expires_at'),
      created_at: LATER('created_at'),
      recorded_at: LATER('recorded_at'),
    },
  ],
  [
    'billing_requests',
    'id',
    'paymentId',
    { payee_customer_id: `'cus_x'`, payee_bank_id: `'bnk_x'`, payee_lookup_id: `'other'` },
  ],
  [
    'billing_requests',
    'id',
    'inWordsId',
    { decline_reason: `'Ask Obi'`, answer_action: `'suspended'`, bank_metadata: `'{"branch": 8}'` },
  ],
  [
    'refunds',
    'id',
    'refundId',
    {
      transaction_id: `'txn_x'`,
      reference: `'OTHER'`,
      reason: `'Hats'`,
      provider_id: NONE,
      customer_id: `'cus_x'`,
      expected_by: LATER('expected_by'),
      created_at: LATER('created_at'),
      recorded_at: LATER('recorded_at'),
    },
  ],
  ['refunds', 'id', 'backInWordsId', { reject_reason: `'It was long ago'` }],
  [
    'reversals',
    'transaction_id',
    'reversalId',
    {
      refund_id: `'rfd_x'`,
      provider_id: NONE,
      merchant_id: `'mch_x'`,
      created_at: LATER('created_at'),
      recorded_at: LATER('recorded_at'),
    },
  ],
  [
    'reconciliation_exceptions',
    'id',
    'resolvedId',
    {
      reference: `'OTHER'`,
      provider_id: NONE,
      customer_id: `'cus_x'`,
      reason: `'Hats'`,
      opened_at: LATER('opened_at'),
      recorded_at: LATER('recorded_at'),
    },
  ],
  ['reconciliation_exceptions', 'id', 'unknownId', { reference: `'OTHER'`, direction: `'credit'` }],
  ['reconciliation_exceptions', 'id', 'explainedId', { bank_note: `'It was you'` }],
  ['reconciliation_exceptions', 'id', 'takenId', { operator_note: `'I do nothing'` }],
  [
    'intents',
    'id',
    'intentId',
    {
      reference: `'OTHER'`,
      lookup_id: `'other'`,
      batch_id: `'bat_x'`,
      description: `'Hats'`,
      workflow_id: `'other'`,
      bank_delivery_id: NONE,
      due_date: 'expires_at',
      expires_at: LATER('expires_at'),
      created_at: LATER('created_at'),
      recorded_at: LATER('recorded_at'),
      daily_limit: '7',
      monthly_limit: '7',
      block_merchant: `true, status = 'declined', reason = 'blocked'`,
    },
  ],
  [
    'schedules',
    'id',
    'scheduleId',
    {
      provider_id: NONE,
      customer_id: `'cus_x'`,
      description: `'Hats'`,
      metadata: `'{"plan": "silver"}'`,
      created_at: LATER('created_at'),
      recorded_at: LATER('recorded_at'),
    },
  ],
  [
    'agreements',
    'id',
    'agreementId',
    {
      merchant_id: `'mch_x'`,
      customer_id: `'cus_x'`,
      bank_id: `'bnk_x'`,
      created_at: LATER('created_at'),
    },
  ],
];

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

const differences = async () => [
  ...(await chainDifferences(database.db, keyring)),
  ...(await bookDifferences(database.db)),
];

/** By the owner of the tables, who can take triggers away. */
const owner = (sql: string) => asOwner(database.url, `SET session_replication_role = replica; ${sql}`);

/** What is told once the owner of the tables has done this to one, which is as before then. */
async function expectNamed(table: string, change: string, named: Named): Promise<void> {
  const columns = await columnsOf(table);
  await owner(`CREATE TABLE saved AS TABLE ${table}`);
  try {
    await owner(change);
    expect(await differences()).toContainEqual(expect.stringMatching(new RegExp(named(books))));
  } finally {
    await owner(`DELETE FROM ${table};
      INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM saved; DROP TABLE saved`);
  }
}

// So that each of these is found in books that are right.
test('books that nobody has touched are right', async () => {
  expect(await differences()).toEqual([]);
});

test('all that begins with an event has a SHA-256 of what stands in its row, also what is declined at once', async () => {
  const { db } = database;
  const poor = await standingApproval(db, keyring, { monthlyLimit: 1n });
  const id = await makeSchedule(db, keyring, poor);
  await runSchedule(db, keyring, { ...rules, ...billingRules(readConfig({})) }, id);
  const begun = await rows<{ kind: string; atOnce: boolean; parts: string[] }>(
    db,
    `SELECT DISTINCT left(resource_id, 3) AS kind, type = 'billing_request.declined' AS "atOnce",
       ARRAY(SELECT jsonb_object_keys(details->'content') ORDER BY 1) AS parts
     FROM events WHERE sequence = 1 ORDER BY 1, 2`,
  );
  expect(begun).toEqual([
    { kind: 'brq', atOnce: false, parts: ['chargeMade'] },
    { kind: 'brq', atOnce: true, parts: ['chargeEnded', 'chargeMade'] },
    { kind: 'exc', atOnce: false, parts: ['exceptionOpened', 'exceptionSaid'] },
    { kind: 'int', atOnce: false, parts: ['intentMade'] },
    { kind: 'rfd', atOnce: false, parts: ['refundMade'] },
    { kind: 'sch', atOnce: false, parts: ['scheduleDescription', 'scheduleMade', 'scheduleMetadata'] },
    { kind: 'txn', atOnce: false, parts: ['reversalMade'] },
  ]);
  expect(await bookDifferences(db)).toEqual([]);
});

test('whatever is changed for good later has the SHA-256 of it in its event, too', async () => {
  const changed = await rows<{ type: string; parts: string[] }>(
    database.db,
    `SELECT DISTINCT type, ARRAY(SELECT jsonb_object_keys(details->'content') ORDER BY 1) AS parts
     FROM events WHERE sequence > 1 AND type NOT LIKE 'schedule.billing%'
       AND type NOT IN ('billing_request.reversed', 'schedule.past_due', 'schedule.paused', 'schedule.resumed')
     ORDER BY 1, 2`,
  );
  expect(changed.map(({ type, parts }) => `${type}: ${parts.join(', ')}`)).toEqual([
    'agreement.decided: agreementMade',
    'billing_request.declined: chargeEnded',
    'billing_request.successful: chargeEnded',
    // Nobody noted anything.
    'exception.investigating: ',
    'exception.investigating: exceptionOperatorNote',
    'exception.resolved: ',
    'exception.resolved: exceptionBankNote',
    'intent.superseded: intentEnded',
    'refund.completed: refundEnded',
    'refund.rejected: refundEnded',
    // All that it writes is compared with its details.
    'refund.returned: ',
    // Of another amount.
    'schedule.changed: ',
    'schedule.changed: scheduleDescription',
  ]);
});

test('a function of the same name that the owner of the schema puts before the one that is meant hides nothing', async () => {
  const { chargeId } = books;
  await owner(`UPDATE billing_requests SET description = 'Hats' WHERE id = '${chargeId}';
    CREATE FUNCTION public.convert_to(text, text) RETURNS bytea LANGUAGE sql IMMUTABLE AS
      $$ SELECT pg_catalog.convert_to(replace($1, 'Hats', 'Shoes'), 'UTF8'::name) $$;
    CREATE FUNCTION public.sha256(text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT ''::bytea $$`);
  const found = await bookDifferences(database.db);
  await owner(`DROP FUNCTION public.convert_to(text, text); DROP FUNCTION public.sha256(text);
    UPDATE billing_requests SET description = 'Shoes' WHERE id = '${chargeId}'`);
  expect(found).toEqual(
    expect.arrayContaining([expect.stringMatching(contentOf('chargeId', 'description')(books))]),
  );
});

test('so are those that the first versions wrote', async () => {
  await owner(`UPDATE events SET details = details - 'terms' || jsonb_build_object('approved', details->'terms')
      WHERE type = 'agreement.decided' AND details ? 'terms';
    UPDATE events SET details = details || '{"amount": 1500}' WHERE type = 'schedule.created'`);
  const found = await bookDifferences(database.db);
  await owner(`UPDATE events SET details = details - 'approved' || jsonb_build_object('terms', details->'approved')
      WHERE type = 'agreement.decided' AND details ? 'approved';
    UPDATE events SET details = details || '{"amount": "150000"}' WHERE type = 'schedule.created'`);
  expect(found).toEqual([]);
});

describe.each(CHANGED)('in %s', (table, where, columns, named) => {
  test.each(Object.entries(columns))('another %s is found', async (column, change) => {
    const [value, otherwise = named] = typeof change === 'string' ? [change] : change;
    await expectNamed(table, `UPDATE ${table} SET ${column} = ${value} WHERE ${where(books)}`, otherwise);
  });
});

describe.each(CONTENT)('in %s', (table, key, name, columns) => {
  test.each(Object.entries(columns))(
    `another %s of ${name} is found by its SHA-256`,
    async (column, value) => {
      const change = `UPDATE ${table} SET ${column} = ${value} WHERE ${key} = '${books[name]}'`;
      await expectNamed(table, change, contentOf(name, column));
    },
  );
});

// What wrote them has left no SHA-256, and whoever has noted something has not said so.
test('of rows that an older version wrote, or changed last, what has no SHA-256 is not compared', async () => {
  const notCompared = async (which: string) => {
    await owner(`CREATE TABLE saved AS TABLE events;
      UPDATE events SET details = details - 'content' - 'noted' WHERE ${which}`);
    // An event that was written again has another transaction's id than its webhooks.
    const found = (await bookDifferences(database.db)).filter((one) => !one.startsWith('eventsAnnounced'));
    await owner(`UPDATE events e SET details = s.details FROM saved s WHERE s.id = e.id; DROP TABLE saved`);
    return found;
  };
  expect(await notCompared('true')).toEqual([]);
  await owner(`UPDATE schedules SET description = 'Pool' WHERE id = '${books['scheduleId']}';
    UPDATE reconciliation_exceptions SET operator_note = 'I wait' WHERE id = '${books['takenId']}'`);
  const changedLast = await notCompared(`type IN ('schedule.changed', 'exception.investigating')`);
  await owner(`UPDATE schedules SET description = 'Gym' WHERE id = '${books['scheduleId']}';
    UPDATE reconciliation_exceptions SET operator_note = 'I call them' WHERE id = '${books['takenId']}'`);
  expect(changedLast).toEqual([]);
});

test.each(DELETED)('a row that is deleted from %s is found', async (table, where, named) => {
  await expectNamed(table, `DELETE FROM ${table} WHERE ${where(books)}`, named);
});

test.each(ADDED)('a row that is put into %s is found', async (table, of, own, named) => {
  const columns = await columnsOf(table);
  await expectNamed(
    table,
    `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
     SELECT ${columns} FROM jsonb_populate_record(NULL::${table},
       coalesce((SELECT to_jsonb(o) FROM ${table} o WHERE ${of(books)} LIMIT 1), '{}') || '${JSON.stringify(own)}')`,
    named,
  );
});
