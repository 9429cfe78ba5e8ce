import {
  chargeEntry,
  creditEntry,
  refundEntry,
  refundReturnEntry,
  reversalEntry,
  writeOffEntry,
  type ExpectedBooking,
  type Payment,
} from '../../domain/books/ledger';
import type { BillingRequestStatus, RefundStatus } from '../../domain/lifecycle';
import { endExpectedCredit } from '../bank-statement/expected';
import { row, type Executor } from '../connection';
import { postEntries } from './entry';

/**
 * What the ledger says of each transition that moves money. Each is posted by the transaction that
 * makes the transition.
 */

interface Settled {
  amount: bigint;
  currency: string;
  /** The bank of the customer who paid. */
  bankId: string;
  /** Null of a payment between customers. */
  merchantId: string | null;
  /** Who billed: the merchant, or the payee's bank. */
  ownerId: string;
}

const paymentOf = ({ amount, currency, bankId, merchantId, ownerId }: Settled): Payment => ({
  amount,
  currency,
  bankId,
  payee: merchantId === null ? { bankId: ownerId } : { merchantId },
});

/** What the customer's bank is to book by the id that it has named; nothing where it named none. */
function bookingOf(
  { bankId, amount, currency }: Pick<Settled, 'bankId' | 'amount' | 'currency'>,
  identifier: string | null,
  about: Pick<ExpectedBooking, 'direction' | 'billingRequestId' | 'refundId'>,
): ExpectedBooking | undefined {
  if (identifier === null) return undefined;
  return { ...about, bankId, identifiedBy: 'bankTransactionId', identifier, amount, currency };
}

/** A charge as it ended; nothing is posted of one that did not succeed. */
interface EndedCharge extends Settled {
  id: string;
  bankTransactionId: string | null;
  status: BillingRequestStatus;
  closedAt: Date | null;
}

export async function postCharge(trx: Executor, timeZone: string, charge: EndedCharge): Promise<void> {
  const { id, status, closedAt, bankTransactionId } = charge;
  if (status !== 'successful') return;
  const about = { direction: 'debit', billingRequestId: id, refundId: null } as const;
  const booking = bookingOf(charge, bankTransactionId, about);
  await postEntries(trx, timeZone, [
    chargeEntry({ resourceId: id, settledAt: closedAt ?? new Date(Number.NaN), booking }, paymentOf(charge)),
  ]);
}

/** Of payments between customers, that the payees' banks know of what they have to credit. */
export async function postCredits(
  trx: Executor,
  timeZone: string,
  credits: (Settled & { id: string; reference: string; at: Date })[],
): Promise<void> {
  await postEntries(
    trx,
    timeZone,
    credits.map((credit) => {
      const { id, reference, ownerId, amount, currency, at } = credit;
      const booking: ExpectedBooking = {
        bankId: ownerId,
        identifiedBy: 'reference',
        identifier: reference,
        direction: 'credit',
        amount,
        currency,
        billingRequestId: id,
        refundId: null,
      };
      return creditEntry({ resourceId: id, settledAt: at, booking }, paymentOf(credit), ownerId);
    }),
  );
}

/** A refund as its bank has answered; nothing is posted of one that it did not complete. */
interface AnsweredRefund {
  refundId: string;
  billingRequestId: string;
  bankTransactionId: string | null;
  merchantId: string;
  bankId: string;
  amount: bigint;
  currency: string;
  status: RefundStatus;
  closedAt: Date | null;
}

export async function postRefund(trx: Executor, timeZone: string, refund: AnsweredRefund): Promise<void> {
  const { refundId, billingRequestId, merchantId, status, closedAt, bankTransactionId } = refund;
  if (status !== 'completed') return;
  const booking = bookingOf(refund, bankTransactionId, { direction: 'credit', billingRequestId, refundId });
  await postEntries(trx, timeZone, [
    refundEntry(
      { resourceId: refundId, settledAt: closedAt ?? new Date(Number.NaN), booking },
      paymentOf({ ...refund, ownerId: merchantId }),
    ),
  ]);
}

/** A completed refund whose money came back: the contra entry, of the day that this was found. */
export async function postRefundReturn(
  trx: Executor,
  timeZone: string,
  returned: Omit<Settled, 'ownerId'> & { transactionId: string; merchantId: string; at: Date },
): Promise<void> {
  const { transactionId, merchantId, at } = returned;
  await postEntries(trx, timeZone, [
    refundReturnEntry(
      { resourceId: transactionId, settledAt: at },
      paymentOf({ ...returned, ownerId: merchantId }),
    ),
  ]);
}

/** Some or all of a successful charge, taken back or let off. */
interface Undone {
  /**
   * Of the reversal, the exception, or the refund that was rejected: of one there is one entry,
   * however often this is said.
   */
  resourceId: string;
  billingRequestId: string;
  /** Minor units, in the currency of the charge. */
  amount: bigint;
  /** Business time. */
  at: Date;
}

/**
 * Takes back what is left of a charge whose money did not stay: the payee is debited, and the
 * customer's bank credited, or the network where it has borne it before. The caller holds the
 * charge locked.
 */
export async function postReversal(
  trx: Executor,
  timeZone: string,
  /** The id by which the bank took the money back; null where it named none. */
  reversal: Undone & { bankTransactionId?: string | null },
): Promise<void> {
  const { billingRequestId, bankTransactionId = null } = reversal;
  const paid = await undonePayment(trx, reversal);
  const borne = await borneByNetwork(trx, billingRequestId);
  const writtenOff = borne < reversal.amount ? borne : reversal.amount;
  const about = { direction: 'credit', billingRequestId, refundId: null } as const;
  const booking = bookingOf(paid, bankTransactionId, about);
  await postEntries(trx, timeZone, [reversalEntry({ ...whatOf(reversal), booking }, paid, writtenOff)]);
  if ('bankId' in paid.payee) await endExpectedCredit(trx, billingRequestId);
}

/**
 * Writes off what the customer's bank owes of a charge: the payee keeps it, and the network bears
 * it.
 */
export async function postWriteOff(trx: Executor, timeZone: string, writeOff: Undone): Promise<void> {
  const paid = await undonePayment(trx, writeOff);
  await postEntries(trx, timeZone, [writeOffEntry(whatOf(writeOff), paid)]);
}

const whatOf = ({ resourceId, at }: Undone) => ({ resourceId, settledAt: at });

async function undonePayment(trx: Executor, { billingRequestId, amount }: Undone): Promise<Payment> {
  const charge = await row<Omit<Settled, 'amount'>>(
    trx,
    `SELECT currency, bank_id AS "bankId", merchant_id AS "merchantId", owner_id AS "ownerId"
     FROM billing_requests WHERE id = :billingRequestId AND status = 'successful'`,
    { billingRequestId },
  );
  if (!charge) throw new Error(`${billingRequestId} has not succeeded: nothing of it can be taken back`);
  return paymentOf({ ...charge, amount });
}

/**
 * Of each of some charges, by its id as `charge`: as `written_off` all that ever was, and as
 * `amount` what of that no reversal has given back.
 *
 * @param charges SQL of their ids
 */
export const borneOf = (charges: string) => `
  SELECT of.charge, sum(p.amount) FILTER (WHERE p.direction = 'debit') AS written_off,
    sum(CASE p.direction WHEN 'debit' THEN p.amount ELSE -p.amount END)::bigint AS amount
  FROM (SELECT billing_request_id AS charge, id FROM reconciliation_exceptions WHERE billing_request_id IN (${charges})
        UNION ALL
        SELECT billing_request_id, id FROM refunds WHERE billing_request_id IN (${charges})
        UNION ALL
        SELECT billing_request_id, transaction_id FROM reversals WHERE billing_request_id IN (${charges})) AS of
    JOIN ledger_entries e ON e.resource_id = of.id JOIN ledger_postings p ON p.entry_id = e.id AND p.account = 'disputed'
  GROUP BY of.charge`;

/** Of a charge, what was written off and no reversal has given back. */
export async function borneByNetwork(trx: Executor, billingRequestId: string): Promise<bigint> {
  const borne = await row<{ amount: bigint }>(trx, borneOf(':billingRequestId'), { billingRequestId });
  return borne?.amount ?? 0n;
}
