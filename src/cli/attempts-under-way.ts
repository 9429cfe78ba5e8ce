import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/pool/connection';
import { attemptsUnderWay, stillUnderWay } from '../database/webhook/attempt-delivery';
import { counted } from '../domain/words/counted';
import { progress } from './output';

const POLL_MS = 50;

/**
 * Ends once each attempt at the entity's webhooks that was begun before now is recorded, or its
 * process must have died. Bounded by the database: an attempt has `WEBHOOK_TIMEOUT_S` (a first
 * attempt 4 s from its claim), and 4 s to be recorded.
 *
 * An attempt at a delivery that ended while it was sent is not waited for: it too leaves within its
 * time.
 */
export async function letAttemptsEnd(db: Database, entityId: string): Promise<void> {
  const begun = await attemptsUnderWay(db, entityId);
  if (begun.length === 0) return;
  for (;;) {
    const left = await stillUnderWay(db, begun);
    if (left === 0) return;
    const attempts = counted(begun.length, 'webhooks');
    progress.part(begun.length - left, begun.length, `of ${attempts} on their way to it have left`);
    await sleep(POLL_MS);
  }
}
