import { rows, type Executor } from '../../src/database/pool/connection';

/** The time until a webhook's next attempt is over. */
export async function makeDue(db: Executor, deliveryId: string): Promise<void> {
  await rows(db, `UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp() WHERE id = :deliveryId`, {
    deliveryId,
  });
}
