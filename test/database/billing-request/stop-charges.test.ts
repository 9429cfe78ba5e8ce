import { ANSWER_WITHIN_MS } from '../../../src/api/http/deadline';
import { acceptCharges, type BillLine } from '../../../src/database/billing-request/accept-billing-requests';
import { pauseDecision } from '../../../src/database/decision/pause-decision';
import { changeDecision, releaseAgreement } from '../../../src/database/intent/change-decision';
import type { Executor, Transaction } from '../../../src/database/pool/connection';
import { databaseOfFile } from '../../support/database';
import { eventually } from '../../support/engine';
import { openTransaction, waitsForALock } from '../../support/open-transaction';
import { lookupIdOf, standingApproval, type Standing } from '../../support/standing';

/** What a customer has revoked, against bills on other connections; no worker runs. */

const { db } = databaseOfFile();

const RULES = {
  timeZone: 'Africa/Lagos',
  intentWindowS: 86_400,
  approvalWindowS: 900,
  settlementWindowS: 86_400,
  intentsPerCustomerDay: 20,
  approvalsPerCustomerDay: 1_000_000,
};

type Payer = 'paymentID' | 'lookupID';

/** @returns whether it was accepted */
async function bill(on: Executor, { merchantId, agreementId, customerId }: Standing, payer: Payer) {
  const line: BillLine =
    payer === 'paymentID'
      ? { phrase: agreementId, agreementId }
      : { phrase: 'ada', lookupId: await lookupIdOf(on, customerId) };
  const items = await acceptCharges(on, RULES, merchantId, {
    lines: [line],
    charge: { amount: 10n, currency: 'NGN', description: 'Shoes' },
  });
  return items.every((item) => 'accepted' in item);
}

const change =
  (body: Parameters<typeof changeDecision>[3]) =>
  (trx: Transaction, { bankId, agreementId }: Standing) =>
    changeDecision(trx, bankId, agreementId, body);

const acceptedOf = async ({ merchantId }: Standing) =>
  (await db.rows`SELECT FROM billing_requests WHERE merchant_id = ${merchantId}`).length;

const deny = change({ customerDecision: 'deny' });
const block = change({ customerDecision: 'deny', blockMerchant: true });
const release = (trx: Transaction, { providerId, agreementId }: Standing) =>
  releaseAgreement(trx, { entityId: providerId, role: 'provider' }, agreementId);

type Act = (trx: Transaction, standing: Standing) => Promise<unknown>;

const DENIALS: [string, Payer, Act][] = [
  ['a denial', 'paymentID', deny],
  ['a block', 'paymentID', block],
  ['a block', 'lookupID', block],
  ['a release', 'paymentID', release],
];

const LESSENING: [string, Payer, Act][] = [
  ['a suspension', 'paymentID', change({ customerDecision: 'suspended' })],
  [
    'a lower limit',
    'paymentID',
    change({ customerDecision: 'approve_recurring', spendingLimits: { perCharge: 0.09 } }),
  ],
  [
    'a pause',
    'paymentID',
    (trx, { bankId, agreementId }) => pauseDecision(trx, bankId, agreementId, undefined),
  ],
];

const BILLERS = 8;
const ACCEPTED_BEFORE = 20;

it.each([...DENIALS, ...LESSENING])(
  'no bill is accepted once %s has returned, by %s, however many race',
  async (_, payer, act) => {
    const standing = await standingApproval(db);
    let accepted = 0;
    const billUntilRefused = async (): Promise<void> => {
      while (await db.transaction((trx) => bill(trx, standing, payer))) accepted += 1;
    };
    const racing = Promise.all(Array.from({ length: BILLERS }, billUntilRefused));
    await eventually(() => Promise.resolve(accepted >= ACCEPTED_BEFORE));
    await db.transaction((trx) => act(trx, standing));
    const before = await acceptedOf(standing);
    await racing;
    expect(await acceptedOf(standing)).toBe(before);
  },
);

it.each(DENIALS)(
  '%s waits for a bill by %s that is about to be accepted, and stops it',
  async (_, payer, act) => {
    const standing = await standingApproval(db);
    const open = await openTransaction(db);
    expect(await bill(open.trx, standing, payer)).toBe(true);
    const changing = db.transaction((trx) => act(trx, standing));
    await waitsForALock(db).finally(() => open.commit());
    await changing;
    const charges = await db.rows`
      SELECT status, decline_reason AS reason FROM billing_requests WHERE merchant_id = ${standing.merchantId}`;
    expect(charges).toEqual([{ status: 'declined', reason: 'denied' }]);
  },
);

/** Pending charges by paymentID, straight in the table: no webhook of theirs can be withdrawn. */
async function insertPending({ agreementId }: Standing, approvalRequired: boolean, count: number) {
  await db.rows`
    INSERT INTO billing_requests (id, reference, batch_id, merchant_id, customer_id, bank_id, lookup_id,
      agreement_id, amount, currency, description, approval_required, expires_at, workflow_id, created_at)
    SELECT 'brq_' || lpad(n::text, 26, '0'), lpad(n::text, 24, '0'), 'bat_1', a.merchant_id, a.customer_id,
      a.bank_id, 'a-b-c-d-10', a.id, 100, 'NGN', 'Shoes', ${approvalRequired}, clock_timestamp() + interval '1 day',
      'billing-request/' || n, clock_timestamp()
    FROM agreements a, (SELECT count(*) AS there FROM billing_requests WHERE id < 'brq_1') AS before,
      generate_series(there + 1, there + ${count}::int) AS n
    WHERE a.id = ${agreementId}`;
}

const openOf = async ({ agreementId }: Standing) =>
  (await db.rows`SELECT FROM billing_requests WHERE agreement_id = ${agreementId} AND status = 'pending'`)
    .length;

const ACTS: [string, Act & typeof deny][] = [
  ['denial', deny],
  ['block', block],
  ['release', release],
];

it.each(ACTS)(
  'a %s of more charges than one call closes is said in time, and again closes the next',
  async (_, act) => {
    const standing = await standingApproval(db);
    await insertPending(standing, false, 300);
    await insertPending(standing, true, 2_100);
    const inTime = () =>
      db.until(performance.now() + ANSWER_WITHIN_MS).transaction((trx) => act(trx, standing));
    expect(await inTime()).toHaveLength(1_000);
    expect(await openOf(standing)).toBe(2_200);
    expect(await inTime()).toHaveLength(1_000);
    expect(await openOf(standing)).toBe(2_000);
  },
);

it('a denial names those that it leaves for another call', async () => {
  const standing = await standingApproval(db);
  await insertPending(standing, true, 300);
  expect(await db.transaction((trx) => deny(trx, standing))).toHaveLength(100);
  expect(await db.transaction((trx) => deny(trx, standing))).toEqual([]);
  expect(await openOf(standing)).toBe(0);
});
