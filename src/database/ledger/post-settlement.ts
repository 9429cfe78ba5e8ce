import { entryOf, type Movement, type Payment } from '../../domain/books/ledger';
import { endExpectedCredit } from './end-expected-booking';
import type { Executor } from '../pool/connection';
import { postEntries } from './post-entries';

/** Entries of charges, posted by the transactions of the transitions that move the money. */

/** Only a `successful` charge has an entry. */
export async function postCharge(
  trx: Executor,
  charge: Payment & { id: string; status: string; closedAt: Date | null; bankTransactionId: string | null },
): Promise<void> {
  const { id, status, closedAt, bankTransactionId: identifier } = charge;
  if (status !== 'successful') return;
  const settledAt = closedAt ?? new Date(Number.NaN);
  const booked = { identifier, billingRequestId: id };
  await postEntries(trx, [entryOf({ kind: 'charge', resourceId: id, settledAt, paid: charge, booked })]);
}

/** A part of a successful charge, or all of it, that is reversed or written off. */
interface Undone {
  /** The reversal, the exception, or the refund that ended. A resource has one entry of a kind. */
  resourceId: string;
  billingRequestId: string;
  /** Minor units, in the currency of the charge. */
  amount: bigint;
  /** Business time. */
  at: Date;
}

/**
 * Reverses the rest of a charge whose money did not stay: debits the payee, and credits the
 * customer's bank. The network is credited instead for the part that it bore before. The caller
 * holds the charge locked.
 */
export async function postReversal(
  trx: Executor,
  /** The bank's id for the reversal; null where it named none. */
  reversal: Undone & { bankTransactionId?: string | null },
): Promise<void> {
  const { billingRequestId, bankTransactionId: identifier = null, amount } = reversal;
  const borne = await borneByNetwork(trx, billingRequestId);
  const writtenOff = borne < amount ? borne : amount;
  const { merchantId } = await postUndone(trx, reversal, {
    kind: 'reversal',
    booked: { identifier, billingRequestId },
    writtenOff,
  });
  if (merchantId === null) await endExpectedCredit(trx, billingRequestId);
}

/** Writes off the customer's bank's debt for a charge: the payee keeps the money. */
export async function postWriteOff(trx: Executor, writeOff: Undone): Promise<void> {
  await postUndone(trx, writeOff, { kind: 'write_off' });
}

async function postUndone(
  trx: Executor,
  { resourceId, billingRequestId, amount, at }: Undone,
  more: Pick<Movement, 'kind' | 'booked' | 'writtenOff'>,
): Promise<Payment> {
  const charge = await trx.row<Omit<Payment, 'amount'>>`
    SELECT currency, bank_id, merchant_id, owner_id
    FROM billing_requests WHERE id = ${billingRequestId} AND status = 'successful'`;
  if (!charge) throw new Error(`${billingRequestId} has not succeeded, so no part of it can be reversed`);
  const paid = { ...charge, amount };
  await postEntries(trx, [entryOf({ resourceId, settledAt: at, paid, ...more })]);
  return paid;
}

export async function borneByNetwork(trx: Executor, billingRequestId: string): Promise<bigint> {
  const { amount } = await trx.oneRow<{ amount: bigint }>`
    SELECT coalesce(sum(CASE p.direction WHEN 'debit' THEN p.amount ELSE -p.amount END), 0)::bigint AS amount
    FROM (SELECT id FROM reconciliation_exceptions WHERE billing_request_id = ${billingRequestId}
          UNION ALL SELECT id FROM refunds WHERE billing_request_id = ${billingRequestId}
          UNION ALL SELECT transaction_id FROM reversals WHERE billing_request_id = ${billingRequestId}) AS of
      JOIN ledger_entries e ON e.resource_id = of.id
      JOIN ledger_postings p ON p.entry_id = e.id AND p.account = 'disputed'`;
  return amount;
}
