import type { Database } from '../../src/database/pool/connection';
import { deliveryToAttempt, recordAttempt, type Attempt } from '../../src/database/webhook/attempt-delivery';

/** Records an attempt at a webhook, which its receiver took unless `outcome` says otherwise. */
export const recordOutcome = async (
  db: Database,
  deliveryId: string,
  n: number,
  outcome: Partial<Attempt> = {},
  maxAttempts = 12,
) =>
  recordAttempt(
    db,
    {
      deliveryId,
      n,
      begun: false,
      nextAttemptAt: (await deliveryToAttempt(db, deliveryId))?.nextAttemptAt ?? null,
      reached: 'yes',
      durationMs: 7,
      httpStatus: 200,
      error: null,
      responseHead: null,
      ...outcome,
    },
    { maxAttempts, retryInMs: 5_000 },
  );
