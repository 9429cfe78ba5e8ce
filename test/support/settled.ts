import { billingRules, readConfig } from '../../src/settings/config';
import { acceptCharges } from '../../src/database/billing-request/accept-billing-requests';
import { answerBillingRequest } from '../../src/database/billing-request/settle-billing-request';
import type { Database } from '../../src/database/pool/connection';
import { createIntents } from '../../src/database/intent/ask-intents';
import { settleCredits } from '../../src/database/credit/follow-credit';
import { onboardBatch } from '../../src/database/customer/migrate-customers';
import { acceptCustomerPayments } from '../../src/database/billing-request/accept-payment';
import { answerRefund } from '../../src/database/refund/settle-refund';
import { initiateRefund } from '../../src/database/refund/accept-refund';
import { resolveException } from '../../src/database/resolution/resolve-exception';
import type { Resolution } from '../../src/domain/books/reconciliation-exception';
import { person } from './person';
import { lookupIdOf, standingApproval, type Standing } from './standing';

/** Money that has moved, and some that has not: something of each kind that the ledger follows. */

const rules = billingRules(readConfig({}));

export interface Billed {
  id: string;
  reference: string;
}

/**
 * Charges of 100 minor units, by one call of the merchant.
 *
 * @param by the standing approval, or a lookupID, which has the customer asked
 */
export async function billBy(
  db: Database,
  { merchantId, agreementId, customerId }: Standing,
  by: ('agreement' | 'lookupID')[],
  { currency = 'NGN' }: { currency?: string } = {},
): Promise<Billed[]> {
  const lookupId = await lookupIdOf(db, customerId);
  const items = await db.transaction((trx) =>
    acceptCharges(trx, rules, merchantId, {
      lines: by.map((way) =>
        way === 'agreement' ? { phrase: 'p', agreementId } : { phrase: lookupId, lookupId },
      ),
      charge: { amount: 100n, currency, description: 'Shoes' },
    }),
  );
  return items.map((item) => {
    if (!('accepted' in item)) throw new Error('the bill was refused');
    return { id: item.accepted.billingRequestId, reference: item.accepted.reference };
  });
}

/** A charge under the standing approval. */
export async function bill(db: Database, standing: Standing): Promise<Billed> {
  return (await billBy(db, standing, ['agreement']))[0] as Billed;
}

/** Intents of the merchant for customers. @returns their ids, in the order asked */
export async function askIntents(
  db: Database,
  { merchantId }: Pick<Standing, 'merchantId'>,
  lookupIds: string[],
): Promise<string[]> {
  const items = await db.transaction((trx) =>
    createIntents(trx, { ...rules, intentsPerCustomerDay: 1_000 }, merchantId, {
      lookupIds: lookupIds.map((lookupId) => ({ phrase: lookupId, lookupId })),
      currency: 'NGN',
      description: 'Gold plan',
      dueDate: undefined,
    }),
  );
  return items.map((item) => ('accepted' in item ? item.accepted.intentId : ''));
}

/** The bank's answer: the id of its debit; null where it declines, with its reason. */
export const answerBill = (
  db: Database,
  { bankId }: Pick<Standing, 'bankId'>,
  id: string,
  bankTransactionId: string | null,
  declineReason = 'insufficient_funds',
  action: 'approve_recurring' | null = null,
) =>
  db.transaction((trx) =>
    answerBillingRequest(
      trx,
      bankId,
      id,
      bankTransactionId === null
        ? { outcome: 'declined', declineReason, action: null }
        : { outcome: 'approved', bankTransactionId, action },
    ),
  );

export async function charge(db: Database, standing: Standing): Promise<Billed> {
  const billed = await bill(db, standing);
  await answerBill(db, standing, billed.id, `tx-${billed.id}`);
  return billed;
}

/** A bill by lookupID, by whose approval the customer also gives a standing one. */
export async function grantingCharge(db: Database, standing: Standing): Promise<Billed> {
  const [billed] = (await billBy(db, standing, ['lookupID'])) as [Billed];
  await answerBill(db, standing, billed.id, `tx-${billed.id}`, undefined, 'approve_recurring');
  return billed;
}

/**
 * A part of a charge on its way back, in major units; with the bank's answer, where it has given
 * one.
 */
export async function refund(
  db: Database,
  { merchantId, bankId }: Standing,
  reference: string,
  amount: number,
  action?: 'completed' | 'rejected',
): Promise<string> {
  const { refundId } = await db.transaction((trx) =>
    initiateRefund(trx, merchantId, { reference, amount, reason: undefined }),
  );
  if (action) {
    await db.transaction((trx) =>
      answerRefund(trx, bankId, refundId, {
        action,
        bankTransactionId: action === 'completed' ? `tx-${refundId}` : null,
        reason: action === 'rejected' ? 'account_closed' : null,
      }),
    );
  }
  return refundId;
}

/**
 * A payment of 250 kobo from the customer of one standing approval to that of another, debited at
 * the payer's bank.
 */
export async function payAnother(
  db: Database,
  payer: Standing,
  payee: Standing,
): Promise<{ id: string; deliveryId: string }> {
  const [from, to] = await Promise.all([lookupIdOf(db, payer.customerId), lookupIdOf(db, payee.customerId)]);
  const items = await db.transaction((trx) =>
    acceptCustomerPayments(
      trx,
      rules,
      { bankId: payee.bankId, lookupId: to },
      {
        lines: [{ phrase: from, lookupId: from }],
        charge: { amount: 250n, currency: 'NGN', description: 'Rent' },
      },
    ),
  );
  const [item] = items;
  if (!item || !('accepted' in item)) throw new Error('the payment was refused');
  const id = item.accepted.billingRequestId;
  await answerBill(db, payer, id, `tx-${id}`);
  const told = await db.row<{ deliveryId: string }>`
    SELECT credit_delivery_id AS "deliveryId" FROM billing_requests WHERE id = ${id}`;
  return { id, deliveryId: told?.deliveryId ?? '' };
}

/** A payment of 250 kobo to another customer of the same bank, which was told of the credit. */
export async function payWithin(db: Database, payer: Standing): Promise<Billed> {
  const { customers } = await db.transaction((trx) =>
    onboardBatch(trx, payer.bankId, [{ person: person() }]),
  );
  const payee = { ...payer, customerId: customers[0]?.customerId ?? '' };
  const { id, deliveryId } = await payAnother(db, payer, payee);
  await settleCredit(db, deliveryId);
  return db.oneRow<Billed>`SELECT id, reference FROM billing_requests WHERE id = ${id}`;
}

/** The payee's bank has been told. */
export const settleCredit = (db: Database, deliveryId: string) =>
  db.transaction((trx) => settleCredits(trx, [deliveryId]));

/** Exceptions that are open, by their own id or that of their charge or refund. */
async function openExceptionsOf(db: Database, id: string): Promise<string[]> {
  const found = await db.rows<{ id: string }>`
    SELECT id FROM reconciliation_exceptions
    WHERE ${id} IN (id, billing_request_id, refund_id) AND state <> 'resolved'`;
  return found.map((one) => one.id);
}

export async function exceptionOf(db: Database, chargeId: string): Promise<string> {
  const [id, ...more] = await openExceptionsOf(db, chargeId);
  if (id === undefined || more.length > 0) throw new Error(`${chargeId} has not one open exception`);
  return id;
}

/**
 * An operator ends what is open.
 *
 * @param id of an exception, or of its charge or refund
 */
export async function resolveAsOperator(
  db: Database,
  id: string,
  resolution: Resolution,
  bankTransactionId: string | null = null,
): Promise<void> {
  const by = { cause: 'operator', note: null } as const;
  for (const open of await openExceptionsOf(db, id))
    await db.transaction((trx) => resolveException(trx, by, open, { resolution, bankTransactionId }));
}

/** A charge that its bank denies afterwards, as an operator resolves it. */
async function resolveDenied(
  db: Database,
  standing: Standing,
  resolution: 'no_money_moved' | 'written_off',
): Promise<Billed> {
  const billed = await charge(db, standing);
  await answerBill(db, standing, billed.id, null);
  await resolveAsOperator(db, billed.id, resolution);
  return billed;
}

/** A refund that was completed, and whose money came back. */
export async function returnedRefund(
  db: Database,
  standing: Standing,
  reference: string,
  amount: number,
): Promise<string> {
  const refundId = await refund(db, standing, reference, amount, 'completed');
  const rejected = { action: 'rejected', bankTransactionId: null, reason: 'account_closed' } as const;
  await db.transaction((trx) => answerRefund(trx, standing.bankId, refundId, rejected));
  await resolveAsOperator(db, refundId, 'reversed');
  return refundId;
}

/**
 * Charges and refunds that ended in every way, payments between customers, one of them in transit,
 * and charges that were taken back or written off.
 */
export async function settleOfEachKind(
  db: Database,
  standing: Standing,
): Promise<
  Record<'chargeId' | 'refundId' | 'paymentId' | 'reversedId' | 'writtenOffId', string> & { payee: Standing }
> {
  const payee = await standingApproval(db);
  const { id: chargeId, reference } = await charge(db, standing);
  await charge(db, standing);
  await bill(db, standing);
  await answerBill(db, standing, (await bill(db, standing)).id, null);
  const refundId = await refund(db, standing, reference, 0.3, 'completed');
  await refund(db, standing, reference, 0.2, 'rejected');
  await refund(db, standing, reference, 0.1);
  const { id: paymentId, deliveryId } = await payAnother(db, standing, payee);
  await payAnother(db, standing, payee);
  await settleCredit(db, deliveryId);
  const { id: reversedId } = await resolveDenied(db, standing, 'no_money_moved');
  const { id: writtenOffId } = await resolveDenied(db, standing, 'written_off');
  return { chargeId, refundId, paymentId, reversedId, writtenOffId, payee };
}
