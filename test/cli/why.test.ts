import { lockAgreements } from '../../src/database/agreement/agreement';
import { applyDecision } from '../../src/database/decision/apply-decision';
import { NO_LIMITS, type Limit } from '../../src/domain/spending-limit';
import { readConfig, recurringRules } from '../../src/settings/config';
import { changeEndpoint } from '../../src/database/entity-control/control-entity';
import { OPERATOR } from '../support/operator';
import { beginDeliveryAttempt, deliveryToAttempt } from '../../src/database/webhook/attempt-delivery';
import { forgetDeliveries } from '../../src/database/webhook/delete-old-deliveries';
import { idAs } from '../../src/domain/identifier/ids';
import { send, serveApi, tokenOf, type ServedApi } from '../support/api';
import { openBookingCase } from '../support/bank-file';
import { sendBankFile } from '../support/send-bank-file';
import { calendarDay } from '../../src/domain/calendar';
import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { runSchedule } from '../support/schedule';
import { answerBill, bill, charge, grantingCharge, refund, exceptionOf } from '../support/settled';
import {
  answerCharges,
  lookupIdOf,
  makeSchedule,
  moveClock,
  standingApproval,
  type Standing,
} from '../support/standing';
import { recordOutcome } from '../support/record-outcome';
import { keys } from '../support/keyring';

/** The answer to an operator who has a reference on the telephone, or any id. */

const rules = recurringRules(readConfig({}));
const IDEMPOTENCY_KEY = 'key-that-is-private';
const URL = 'https://bank.example/hooks?token=hidden';

const database = databaseOfFile();
const { db } = database;
const cli = createCli(database, keys);
let api: ServedApi;
let standing: Standing;
beforeAll(async () => {
  api = await serveApi(db);
});
afterAll(() => api.close());
beforeEach(async () => {
  standing = await standingApproval(db);
});

interface Line {
  at: string;
  what: string;
  text: string;
  [more: string]: unknown;
}
interface Output {
  about: { id: string; kind: string; status: string | null; amount: number | null }[];
  lines: Line[];
  cut: boolean;
}

const why = (id: string) => cli.json<Output>('why', id);

/** The steps in short: what each is, and what it says first. */
const steps = ({ lines }: Output) =>
  lines.map(({ what, type, webhookType, kind, action }) =>
    [what, type ?? webhookType ?? kind ?? action].filter(Boolean).join(' '),
  );

const expectSteps = (told: Output, some: string[]) =>
  expect(steps(told)).toEqual(expect.arrayContaining(some));

/** An operator resolves an exception. The reason names a person, and stays in the audit record. */
const resolve = (exceptionId: string, ...more: string[]) =>
  cli.json('exceptions', 'resolve', exceptionId, '--reason', 'Ada asked', '--resolution', ...more);

/** Expects the timeline to be in order, and nothing in it that is a secret or a person's. */
async function expectNothingPrivate(id: string): Promise<void> {
  const told = await why(id);
  const { out } = await cli.run('why', id);
  const phrase = await lookupIdOf(db, standing.customerId);
  const secrets = Object.values(standing.credentials).flatMap(({ clientSecret, webhookSecret }) => [
    clientSecret,
    webhookSecret,
  ]);
  const hidden = [
    'Ada',
    'Obi',
    'ada@example.test',
    '0123456789',
    'Shoes',
    'bank.example',
    'hidden',
    'said by the receiver',
    IDEMPOTENCY_KEY,
    phrase,
    standing.paymentId,
    ...secrets,
  ];
  for (const text of [JSON.stringify(told), out]) {
    expect(hidden.filter((one) => text.includes(one))).toEqual([]);
  }
  const times = told.lines.map(({ at }) => at);
  expect(times).toEqual(times.toSorted());
}

interface Billed {
  id: string;
  reference: string;
  transactionId: string;
  deliveryId: string;
}

/** A charge of 100 naira, by the API. */
async function billByApi(): Promise<Billed> {
  const token = await tokenOf(api, standing.credentials.merchant);
  const asked = { paymentIDs: [standing.paymentId], amount: 100, currency: 'NGN', description: 'Shoes' };
  const { body } = await send(api.url, 'POST', '/v1/customer/bill', asked, {
    authorization: `Bearer ${token}`,
    'idempotency-key': IDEMPOTENCY_KEY,
    'x-request-id': 'shop-42',
  });
  const [item] = body as unknown as { billingRequestId: string }[];
  const found = await db.row<Billed>`
    SELECT id, reference, transaction_id AS "transactionId", bank_delivery_id AS "deliveryId"
    FROM billing_requests WHERE id = ${item?.billingRequestId}`;
  if (!found) throw new Error('the bill was refused');
  return found;
}

/** The bank's receiver is down at first, and takes the webhook at the second attempt. */
async function deliverAtSecondAttempt(deliveryId: string): Promise<void> {
  const delivery = await deliveryToAttempt(db, deliveryId);
  if (!delivery) throw new Error('there is no such delivery');
  await beginDeliveryAttempt(db, delivery, 0);
  const responseHead = 'said by the receiver';
  const down = { begun: true, httpStatus: 503, error: 'HTTP 503', durationMs: 40, responseHead };
  await recordOutcome(db, deliveryId, 1, down);
  await recordOutcome(db, deliveryId, 2, { responseHead });
}

test('a merchant’s reference leads to the call, the workflow, each attempt at a webhook and the postings', async () => {
  await db.transaction((trx) => changeEndpoint(trx, OPERATOR, standing.bankId, URL));
  const { id, reference, transactionId, deliveryId } = await billByApi();
  await deliverAtSecondAttempt(deliveryId);
  await answerBill(db, standing, id, 'FT-second-attempt');

  const told = await why(reference);
  expect(told.about).toMatchObject([{ id, kind: 'charge', status: 'successful', amount: 100 }]);
  expect(told.cut).toBe(false);
  expect(steps(told)).toEqual(
    [
      'call',
      'event billing_request.accepted',
      'limits',
      'workflow',
      'webhook billing.request',
      'attempt billing.request',
      'attempt billing.request',
      'event billing_request.successful',
      'ledger charge',
      'webhook billing.response',
    ].map((step) => expect.stringContaining(step) as string),
  );
  expect(told.lines).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({
        what: 'call',
        callerId: standing.merchantId,
        idempotencyKey: true,
        requestId: 'shop-42',
      }),
      expect.objectContaining({ n: 1, httpStatus: 503, error: 'HTTP 503', durationMs: 40 }),
      expect.objectContaining({ n: 2, httpStatus: 200, error: null, receiverId: standing.bankId }),
    ]) as Line[],
  );
  const { out } = await cli.run('why', reference);
  const workflowId = told.lines.find(({ what }) => what === 'workflow')?.['workflowId'];
  expect(out).toContain(`temporal workflow show --namespace default --workflow-id ${String(workflowId)}`);
  expect(out).toMatch(/attempt 1 at billing\.request .*: HTTP 503, after 40 ms/);
  expect(out).toMatch(
    /ledger entry \d+, charge .* debit customer_bank of Bank \(bnk_\w+\) NGN 100\.00, credit merchant of/,
  );

  for (const other of [id, transactionId, deliveryId, 'FT-second-attempt']) {
    expect(steps(await why(other))).toEqual(steps(told));
  }
  await expectNothingPrivate(reference);
});

test('a bank and a merchant stand with their names before their ids', async () => {
  const { reference } = await charge(db, standing);
  const [bank, merchant] = [`Bank (${standing.bankId})`, `Merchant (${standing.merchantId})`];
  const { out } = await cli.run('why', reference);

  expect(out).toContain(`, of ${bank} and ${merchant}, now successful`);
  expect(out).toContain(`debit customer_bank of ${bank} NGN`);
  expect(out).toMatch(
    new RegExp(`webhook billing\\.response .* to ${merchant.replaceAll(/[()]/g, String.raw`\$&`)}`),
  );
  const bare = out.replaceAll(bank, '').replaceAll(merchant, '');
  expect(bare).not.toMatch(/(?:bnk|mch)_/);
});

test('a charge by lookupID whose answer also grants a standing approval is told whole, as one moment', async () => {
  const { id } = await grantingCharge(db, standing);
  const told = await why(id);
  expect(steps(told).slice(-3)).toEqual([
    'event billing_request.successful',
    'ledger charge',
    'webhook billing.response',
  ]);
  expect(new Set(told.lines.slice(-3).map(({ at }) => at)).size).toBe(1);
});

test('an answer that came too late is there though it was refused, with its exception and what an operator did', async () => {
  const { id, reference } = await bill(db, standing);
  await moveClock(db, standing.merchantId, '8 days');
  await answerBill(db, standing, id, 'FT-late');
  const exceptionId = await exceptionOf(db, id);
  await resolve(exceptionId, 'reversed', '--bank-transaction-id', 'FT-back');

  const told = await why(exceptionId);
  expectSteps(told, [
    'event billing_request.declined',
    'event exception.updated',
    'event exception.resolved',
    'act exception.resolved',
    'webhook exception.opened',
    'webhook exception.resolved',
  ]);
  // One transaction declined it and opened the exception: what follows from the other comes second.
  expect(steps(told).filter((step) => step.startsWith('event '))).toEqual([
    'event billing_request.accepted',
    'event billing_request.declined',
    'event exception.opened',
    'event exception.updated',
    'event exception.resolved',
  ]);
  const { out } = await cli.run('why', reference);
  expect(out).toMatch(/late_answer, the bank said approved, bankTransactionId FT-late/);
  expect(out).toMatch(/resolved as reversed, bankTransactionId FT-back/);
  expect(out).toMatch(/and given back: its money did not move/);
  expect(out).toMatch(/by its test clock/);
  expect(steps(await why('FT-late'))).toEqual(steps(told));
  expect(steps(await why('FT-back'))).toEqual(steps(told));
  await expectNothingPrivate(exceptionId);
});

test('each answer of a bank has its request, also one that was refused', async () => {
  const { id, reference } = await billByApi();
  const token = await tokenOf(api, standing.credentials.bank);
  const answers = ['FT-first', 'FT-other'].map((bankTransactionId) => ({
    billingRequestId: id,
    bankTransactionId,
  }));
  for (const answer of answers) {
    await send(api.url, 'POST', '/v1/billing/bank-response', answer, {
      authorization: `Bearer ${token}`,
      'x-request-id': `core-${answer.bankTransactionId}`,
    });
  }
  const { lines } = await why(reference);
  expect(lines.filter(({ what }) => what === 'event')).toMatchObject([
    { type: 'billing_request.accepted', details: { requestId: 'shop-42' } },
    { type: 'billing_request.successful', details: { requestId: 'core-FT-first' } },
    { type: 'exception.opened', details: { requestId: 'core-FT-other' } },
  ]);
  // By which what stands in the rows is known to be unchanged is nobody's to read.
  expect(JSON.stringify(lines)).not.toMatch(/content|chargeMade/);
});

test('a charge leads to its refund and its reversal, and each of them back to it', async () => {
  const { id, reference } = await charge(db, standing);
  const refundId = await refund(db, standing, reference, 0.4, 'completed');
  const ofRefund = await why(refundId);
  expect(ofRefund.about.map(({ kind }) => kind)).toEqual(['charge', 'refund']);
  expectSteps(ofRefund, [
    'event refund.requested',
    'webhook refund.request',
    'event refund.completed',
    'ledger refund',
    'webhook refund.response',
  ]);
  expect(steps(await why(id))).toEqual(steps(ofRefund));
  await expectNothingPrivate(refundId);

  const denied = await charge(db, standing);
  await answerBill(db, standing, denied.id, null);
  await resolve(await exceptionOf(db, denied.id), 'no_money_moved');
  const told = await why(denied.reference);
  expectSteps(told, [
    'ledger charge',
    'event reversal.completed',
    'ledger reversal',
    'webhook billing.reversed',
  ]);
  const reversal = told.about.find(({ kind }) => kind === 'reversal');
  expect(steps(await why(reversal?.id ?? ''))).toEqual(steps(told));
});

test('a schedule is told with the charges of its billings, and a charge with the billing alone', async () => {
  const scheduleId = await makeSchedule(db, standing);
  await runSchedule(db, rules, scheduleId);
  await answerCharges(db, standing, 'Ada Obi is away');
  await runSchedule(db, rules, scheduleId);

  const told = await why(scheduleId);
  expect(told.about.map(({ kind }) => kind)).toEqual(['charge', 'schedule']);
  expectSteps(told, [
    'event schedule.created',
    'event schedule.billing_charged',
    'event billing_request.accepted',
    'event billing_request.declined',
  ]);
  const text = told.lines.map((line) => line.text).join('\n');
  expect(text).toMatch(new RegExp(`--workflow-id recurring/${scheduleId}`));
  expect(text).toMatch(/charge declined: .*reason other, by the bank/);
  const alone = steps(await why(told.about[0]?.id ?? ''));
  expect(alone).toContain('event schedule.billing_charged');
  expect(alone).not.toContain('event schedule.created');
  await expectNothingPrivate(scheduleId);
});

test.each<[Limit, bigint, string]>([
  ['perCharge', 149_999n, 'at most NGN 1,499.99'],
  ['monthly', 150_000n, 'NGN 1.00 of NGN 1,500.00'],
  ['count.monthly', 1n, '1 of 1'],
])('a scheduled charge over `%s` names the limit, and what was counted of it', async (limit, most, words) => {
  await charge(db, standing);
  const scheduleId = await makeSchedule(db, standing);
  await db.transaction(async (trx) => {
    await lockAgreements(trx, [standing.agreementId]);
    await applyDecision(trx, standing.agreementId, {
      decision: 'approve_recurring',
      blocked: false,
      terms: { currency: 'NGN', limits: { ...NO_LIMITS, [limit]: most } },
    });
  });
  await runSchedule(db, rules, scheduleId);
  const { out } = await cli.run('why', scheduleId);
  expect(out).toMatch(/charge declined: .*reason limit_reached/);
  expect(out).toContain(`refused by \`${limit}\`: ${words}, by the network`);
});

test('what a bank has booked and nobody knows of is told by its exception, and by what proves its way back', async () => {
  const { bankId } = standing;
  const exceptionId = await db.transaction((trx) =>
    openBookingCase(trx, {
      kind: 'unknown_here',
      billingRequestId: null,
      refundId: null,
      bankId,
      bankTransactionId: 'FT-STRAY',
      direction: 'debit',
      amount: 700n,
      currency: 'NGN',
      bookedAmount: 700n,
      bookedCurrency: 'NGN',
      reference: null,
    }),
  );
  await resolve(exceptionId, 'reversed', '--bank-transaction-id', 'FT-BACK');
  for (const id of [exceptionId, 'FT-STRAY', 'FT-BACK']) {
    const told = await why(id);
    expect(told.about).toMatchObject([{ id: exceptionId, kind: 'exception', status: 'resolved', amount: 7 }]);
    expectSteps(told, ['event exception.opened', 'event exception.resolved', 'act exception.resolved']);
  }
});

it('tells of an agreement what was asked, what was decided and by whom, and that the merchant was told', async () => {
  const as = async (role: 'bank' | 'merchant') => ({
    authorization: `Bearer ${await tokenOf(api, standing.credentials[role])}`,
  });
  const { agreementId, bankId, merchantId } = standing;
  const asked = {
    lookupIDs: [await lookupIdOf(db, standing.customerId)],
    currency: 'NGN',
    description: 'Shoes',
  };
  const made = await send(api.url, 'POST', '/v1/billing/intent', asked, await as('merchant'));
  const [item] = made.body as unknown as { intentId: string }[];
  const decision = { customerDecision: 'deny' };
  const url = `/v1/bank/customer-decisions/${agreementId}`;
  expect((await send(api.url, 'PUT', url, decision, await as('bank'))).status).toBe(200);

  const told = await why(agreementId);
  expect(told.about).toMatchObject([
    { id: item?.intentId, kind: 'intent', status: 'declined' },
    { id: agreementId, kind: 'agreement', status: 'deny', bankId, merchantId },
  ]);
  expectSteps(told, [
    'event agreement.decided',
    'call',
    'event intent.created',
    'webhook billing.intent',
    'webhook decision.updated',
  ]);
  const decided = told.lines.filter(({ type }) => type === 'agreement.decided');
  expect(decided.map(({ text }) => text)).toEqual([
    expect.stringMatching(/^agreement decided: agr_\w+, it is now approve_recurring, by the bank/),
    expect.stringMatching(/^agreement decided: agr_\w+, it is now deny, request .*, by the bank/),
  ]);
  const webhook = told.lines.find(({ webhookType }) => webhookType === 'decision.updated');
  expect((await why(String(webhook?.['deliveryId']))).about).toContainEqual(
    expect.objectContaining({ id: agreementId }),
  );
  await expectNothingPrivate(agreementId);
});

test('what nothing has ends with 1, and says what is accepted', async () => {
  await db.rows`
    INSERT INTO bank_transactions (bank_id, bank_transaction_id, resource_id)
    VALUES (${standing.bankId}, 'FT-GONE', 'brq_gone')`;
  for (const id of ['AAAABBBBCCCCDDDDEEEEFFFF', `bat_${'0'.repeat(26)}`, 'ada@example.test', 'FT-GONE']) {
    const { code, out, err } = await cli.run('why', id);
    expect({ id, code, out }).toEqual({ id, code: 1, out: '' });
    expect(err).toMatch(
      /^assent: unknown here: nothing has this reference or id\. Accepted are .*brq_.*evt_/,
    );
  }
});

it('finds a webhook that is forgotten by its event, as by its own id', async () => {
  const { reference } = await charge(db, standing);
  await refund(db, standing, reference, 0.4, 'completed');
  await asSchemaLogin(
    database.url,
    `UPDATE webhook_deliveries SET status = 'delivered', finished_at = now() WHERE entity_id = '${standing.bankId}'`,
  );
  await forgetDeliveries(db, 0);
  const told = await db.row<{ deliveryId: string }>`
    SELECT delivery_id AS "deliveryId" FROM webhook_receipts
    WHERE webhook_type = 'refund.request' AND entity_id = ${standing.bankId}`;
  const { deliveryId } = told ?? { deliveryId: '' };
  const byId = await why(deliveryId);
  expect(byId.lines).not.toEqual([]);
  expect((await why(idAs('event', deliveryId))).lines).toEqual(byId.lines);
});

test('a charge has each booking that its banks are to make, with the file that has it, or with none', async () => {
  const { id, reference } = await charge(db, standing);
  const refundId = await refund(db, standing, reference, 0.3, 'completed');
  const today = calendarDay(new Date(), 'Africa/Lagos');
  const { bankId } = standing;
  const statementId = await sendBankFile(db, bankId, [`tx-${id},${today},1,NGN,debit`]);

  const { bookings } = await cli.json<{ bookings: object[] }>('why', refundId);
  const ofBank = { bankId, currency: 'NGN', settlementDay: today, isExtra: false };
  const inFile = { statementId, bookedOn: today };
  expect(bookings).toEqual([
    { ...ofBank, identifier: `tx-${id}`, direction: 'debit', amount: 1, ...inFile },
    {
      ...ofBank,
      identifier: `tx-${refundId}`,
      direction: 'credit',
      amount: 0.3,
      statementId: null,
      bookedOn: null,
    },
  ]);
  const { out } = await cli.run('why', reference);
  expect(out).toMatch(
    new RegExp(
      `\ndebit tx-${id} of NGN 1\\.00 at Bank \\(${bankId}\\), .* is in its file ${statementId}, booked ${today}\n`,
    ),
  );
  expect(out).toMatch(new RegExp(`\ncredit tx-${refundId} of NGN 0\\.30 .* is in none of its files\n`));
});
