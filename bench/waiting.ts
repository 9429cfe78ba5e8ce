import { setTimeout as wait } from 'node:timers/promises';
import { onDatabase } from '../src/database/pool/one-connection';

const POLL_MS = 250;
/** Longer than that after the moment: something is lost. */
const GIVE_UP_MS = 120_000;

/**
 * Ends when each schedule that starts at this moment has a workflow that sleeps. They are made some
 * times as fast as workflows start, and one that starts late would be measured with the work that
 * is due.
 *
 * @param at milliseconds since 1970
 * @throws Error where one still waits two minutes after the moment
 */
export async function untilWaiting(ownerUrl: string, at: number): Promise<void> {
  await onDatabase(ownerUrl, async (client) => {
    const awake = `SELECT 1 FROM schedules WHERE start_at = $1 AND NOT waiting LIMIT 1`;
    while ((await client.query(awake, [new Date(at)])).rows.length > 0) {
      if (Date.now() > at + GIVE_UP_MS) throw new Error('the workflow of a schedule has not begun');
      await wait(POLL_MS);
    }
  });
}
