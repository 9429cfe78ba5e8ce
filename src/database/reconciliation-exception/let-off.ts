import { IS_LET_OFF_BOOKED } from '../bank-statement/known';
import { rows, type Transaction } from '../connection';
import type { Keyring } from '../keys/keyring';
import { openStatementExceptions } from './statement';

/**
 * Opens an exception where a bank is let off a charge that one of its files has: its customer has
 * paid what nobody counts. The caller holds the charge locked.
 */
export async function openLetOffBooked(
  trx: Transaction,
  keyring: Keyring,
  billingRequestId: string,
): Promise<void> {
  const booked = await rows<{
    bankId: string;
    bankTransactionId: string;
    amount: bigint;
    currency: string;
    reference: string;
  }>(
    trx,
    `SELECT b.bank_id AS "bankId", b.bank_transaction_id AS "bankTransactionId", b.amount::bigint AS amount, b.currency, b.reference
     FROM billing_requests b WHERE b.id = :billingRequestId AND ${IS_LET_OFF_BOOKED}`,
    { billingRequestId },
  );
  for (const { bankId, ...one } of booked) {
    await openStatementExceptions(trx, keyring, bankId, [
      {
        ...one,
        kind: 'unknown_here',
        billingRequestId: null,
        refundId: null,
        direction: 'debit',
        bookedAmount: one.amount,
        bookedCurrency: one.currency,
        held: 0n,
      },
    ]);
  }
}
