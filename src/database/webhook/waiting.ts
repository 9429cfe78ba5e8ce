import { row, rows, type Executor } from '../connection';
import type { DeliveryToAttempt } from './attempt';

/** Deliveries that wait for an attempt: why, and until when. */

/** Of a delivery that waits for its next attempt: what became of the last one. */
export async function lastAttempt(
  db: Executor,
  deliveryId: string,
): Promise<{ httpStatus: number | null; error: string | null }> {
  const last = await row<{ httpStatus: number | null; error: string | null }>(
    db,
    `SELECT http_status, error FROM webhook_attempts WHERE delivery_id = :deliveryId
     ORDER BY n DESC LIMIT 1`,
    { deliveryId },
  );
  return last ?? { httpStatus: null, error: null };
}

/**
 * Writes down when a webhook that was never attempted, and found no place, comes again. A wish for
 * an attempt that came meanwhile stands; so does an attempt that somebody else makes.
 *
 * The row of a retry without a place goes on saying since when it is due, so that its delay shows.
 * That of a first attempt shows by when the webhook was announced.
 */
export async function awaitPlace(
  db: Executor,
  { id, nextAttemptAt }: Pick<DeliveryToAttempt, 'id' | 'nextAttemptAt'>,
  inMs: number,
): Promise<void> {
  await rows(
    db,
    `UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp() + :inMs * interval '1 millisecond'
     WHERE id = :id AND status = 'pending' AND attempts = 0
       AND next_attempt_at::text IS NOT DISTINCT FROM :nextAttemptAt::text
       AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())`,
    { id, nextAttemptAt, inMs },
  );
}
