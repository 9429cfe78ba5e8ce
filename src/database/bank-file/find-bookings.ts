import type { Direction } from '../../domain/books/bank-file';
import type { Executor } from '../pool/connection';
import { customPlan } from '../pool/statement';

/** A booking that a bank is to make, or has made beside, and the file that has it. */
export interface Booking {
  bankId: string;
  /** The bank's own id; at the payee's bank the reference of the payment. */
  identifier: string;
  direction: Direction;
  amount: bigint;
  currency: string;
  /** Null where it settles nothing. */
  settlementDay: string | null;
  /** The latest file that has it, and the bank's booking date; null if none does. */
  statementId: string | null;
  bookedOn: string | null;
  /** Whether the bank booked it beside what settled. */
  isExtra: boolean;
}

/** More than the charges of a schedule have; none has more than some dozens. */
const FOUND_MAX = 1_000;

/** The bookings of charges and of their refunds and reversals, oldest first. */
export async function findBookings(db: Executor, chargeIds: string[]): Promise<Booking[]> {
  return customPlan(db).rows<Booking>`
    SELECT bank_id, identifier, direction, amount::bigint, currency::text, settlement_day::text AS settlement_day,
      matched_by AS statement_id, booked_on::text AS booked_on, false AS is_extra
    FROM expected_bookings WHERE billing_request_id = ANY(${chargeIds})
    UNION ALL
    SELECT bank_id, bank_transaction_id, direction, amount::bigint, currency::text, NULL, matched_by,
      booked_on::text, true
    FROM extra_bookings WHERE billing_request_id = ANY(${chargeIds})
    ORDER BY is_extra, settlement_day, booked_on, identifier LIMIT ${FOUND_MAX}`;
}

/** SQL: whether a bank's file has lines that the end of a charge or refund may explain. */
export const fileHas = (row: string, chargeId: string) => `EXISTS (
    SELECT FROM extra_bookings e WHERE e.billing_request_id = ${row}.${chargeId})
  OR EXISTS (
    SELECT FROM reconciliation_exceptions x
    WHERE x.bank_id = ${row}.bank_id AND x.bank_transaction_id = ${row}.bank_transaction_id
      AND x.kind = 'unknown_here' AND x.billing_request_id IS NULL AND NOT x.withdrawn AND x.resolution IS NULL) AS is_in_file`;
