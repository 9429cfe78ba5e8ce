import { Failure } from './failures';
import type { BillingRequestStatus } from './lifecycle';

/** A charge, in minor units. */
export interface Refundable {
  status: BillingRequestStatus;
  /** The part that no refund, no reversal and no write-off has taken. */
  untaken: bigint;
  /** The part that open exceptions hold. */
  held: bigint;
}

/**
 * The reason why an amount cannot be refunded, if it cannot. Refunds race, so SQL decides, in
 * `database/refund/refundable-amount.ts`.
 *
 * @param wished left out for all that is left
 */
export function refundRefusal({ status, untaken, held }: Refundable, wished = 1n): Failure | undefined {
  const data = { status };
  if (status !== 'successful') {
    const message = `The charge is ${status}; only a successful one can be refunded.`;
    return new Failure('not_refundable', message, { data });
  }
  if (wished > untaken) {
    const message = 'Less than that is left of this charge to be refunded.';
    return new Failure('exceeds_remaining', message, { data });
  }
  if (wished <= untaken - held) return undefined;
  const message = 'An open reconciliation exception holds some or all of what is left of this charge.';
  return new Failure('held_by_exception', message, { data });
}
