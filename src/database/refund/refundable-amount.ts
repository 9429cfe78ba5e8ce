import type { Refundable } from '../../domain/refundable-amount';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { HELD_OF_CHARGE } from '../reconciliation-exception/held-amount';

const REFUNDABLE = `b.status, b.amount - b.refunded_amount - b.written_off_amount - b.reversed_amount AS untaken,
  ${HELD_OF_CHARGE}`;

export const readRefundable = (trx: Executor, chargeId: string) =>
  trx.oneRow<Refundable>`
    SELECT ${raw(REFUNDABLE)} AS held FROM billing_requests b WHERE b.id = ${chargeId}`;

/**
 * Takes a part of what can still be refunded (`domain/refundable-amount.ts`) of a locked charge.
 *
 * @param wished minor units; null for all that is left
 * @param ownHold the part of the hold that is for this very refund
 * @returns the charge before, and the part taken; null where it did not fit
 */
export function takePart(trx: Executor, chargeId: string, wished: bigint | null, ownHold = 0n) {
  return trx.oneRow<Refundable & { part: bigint | null }>`
    WITH charge AS (
      SELECT b.id, ${raw(REFUNDABLE)} - ${ownHold}::bigint AS held
      FROM billing_requests b WHERE b.id = ${chargeId}),
    taken AS (
      UPDATE billing_requests b
      SET refunded_amount = b.refunded_amount + coalesce(${wished}::bigint, c.untaken - c.held)
      FROM charge c
      WHERE b.id = c.id AND c.status = 'successful' AND coalesce(${wished}::bigint, 1) <= c.untaken - c.held
      RETURNING coalesce(${wished}::bigint, c.untaken - c.held) AS part)
    SELECT c.status, c.untaken, c.held, (SELECT part FROM taken) AS part FROM charge c`;
}
