import type { Direction } from '../../domain/books/bank-file';
import type { Executor } from '../pool/connection';
import { customPlan } from '../pool/statement';

/** A booking that a bank is to make, and the file that has it. */
export interface Booking {
  bankId: string;
  /** The bank's own id; at the payee's bank the reference of the payment. */
  identifier: string;
  direction: Direction;
  amount: bigint;
  currency: string;
  settlementDay: string;
  /** The latest file that has it; null if none does. */
  statementId: string | null;
}

/** More than the charges of a schedule have; none has more than some dozens. */
const FOUND_MAX = 1_000;

/** The bookings of charges and of their refunds and reversals, oldest first. */
export async function findBookings(db: Executor, chargeIds: string[]): Promise<Booking[]> {
  return customPlan(db).rows<Booking>`
    WITH named AS (
      SELECT bank_id, bank_transaction_id AS identifier, 'bankTransactionId' AS identified_by
      FROM billing_requests WHERE id = ANY(${chargeIds})
      UNION SELECT payee_bank_id, reference, 'reference' FROM billing_requests WHERE id = ANY(${chargeIds})
      UNION SELECT bank_id, bank_transaction_id, 'bankTransactionId' FROM refunds
      WHERE billing_request_id = ANY(${chargeIds})
      UNION SELECT bank_id, reversal_bank_transaction_id, 'bankTransactionId' FROM reconciliation_exceptions
      WHERE billing_request_id = ANY(${chargeIds}))
    SELECT e.bank_id, e.identifier, e.direction, e.amount::bigint, e.currency::text,
      e.settlement_day::text AS settlement_day, e.matched_by AS statement_id
    FROM named JOIN expected_bookings e USING (bank_id, identified_by, identifier)
    ORDER BY e.settlement_day, e.identifier LIMIT ${FOUND_MAX}`;
}
