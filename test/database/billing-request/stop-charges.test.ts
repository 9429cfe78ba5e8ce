import { acceptCharges, type BillLine } from '../../../src/database/billing-request/accept-billing-requests';
import { changeDecision } from '../../../src/database/intent/change-decision';
import type { Executor } from '../../../src/database/pool/connection';
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
  const { items } = await acceptCharges(on, RULES, merchantId, {
    lines: [line],
    charge: { amount: 10n, currency: 'NGN', description: 'Shoes' },
    workflowIdOf: (batchId) => `billing-request/${batchId}`,
  });
  return items.every((item) => 'accepted' in item);
}

type Change = Parameters<typeof changeDecision>[3];

const change = ({ bankId, agreementId }: Standing, body: Change) =>
  db.transaction((trx) => changeDecision(trx, bankId, agreementId, body));

const acceptedOf = async ({ merchantId }: Standing) =>
  (await db.rows`SELECT FROM billing_requests WHERE merchant_id = ${merchantId}`).length;

const BLOCK = { customerDecision: 'deny', blockMerchant: true } as const;

const CHANGES: [string, Payer, Change][] = [
  ['a denial', 'paymentID', { customerDecision: 'deny' }],
  ['a block', 'paymentID', BLOCK],
  ['a block', 'lookupID', BLOCK],
  ['a suspension', 'paymentID', { customerDecision: 'suspended' }],
  [
    'a lower limit',
    'paymentID',
    { customerDecision: 'approve_recurring', spendingLimits: { perCharge: 0.09 } },
  ],
];

const BILLERS = 8;
const ACCEPTED_BEFORE = 20;

it.each(CHANGES)(
  'no bill is accepted once %s has returned, by %s, however many race',
  async (_, payer, body) => {
    const standing = await standingApproval(db);
    let accepted = 0;
    const billUntilRefused = async (): Promise<void> => {
      while (await db.transaction((trx) => bill(trx, standing, payer))) accepted += 1;
    };
    const racing = Promise.all(Array.from({ length: BILLERS }, billUntilRefused));
    await eventually(() => Promise.resolve(accepted >= ACCEPTED_BEFORE));
    await change(standing, body);
    const before = await acceptedOf(standing);
    await racing;
    expect(await acceptedOf(standing)).toBe(before);
  },
);

it.each(CHANGES.filter(([, , { customerDecision }]) => customerDecision === 'deny'))(
  '%s waits for a bill by %s that is about to be accepted, and stops it',
  async (_, payer, body) => {
    const standing = await standingApproval(db);
    const open = await openTransaction(db);
    expect(await bill(open.trx, standing, payer)).toBe(true);
    const changing = change(standing, body);
    await waitsForALock(db).finally(() => open.commit());
    await changing;
    const charges = await db.rows`
      SELECT status, decline_reason AS reason FROM billing_requests WHERE merchant_id = ${standing.merchantId}`;
    expect(charges).toEqual([{ status: 'declined', reason: 'denied' }]);
  },
);
