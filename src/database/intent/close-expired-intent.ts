import { lockAgreementsWhere } from '../agreement/agreement';
import { windowPassed } from '../clock/window-passed';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { endIntents, ENDED_COLUMNS, type EndedIntent } from './end-intents';

/**
 * Declines an intent whose window has passed. The second of two callers finds nothing to do.
 *
 * @returns whether it ended now
 */
export async function closeExpiredIntent(trx: Executor, intentId: string): Promise<boolean> {
  const asked = sql`a.id = (SELECT agreement_id FROM intents WHERE id = ${intentId})`;
  await lockAgreementsWhere(trx, asked);
  const ended = await trx.rows<EndedIntent>`
    UPDATE intents i SET status = 'declined', reason = 'expired', closed_at = business_now(i.merchant_id),
      sequence = i.sequence + 1
    WHERE i.id = ${intentId} AND i.status = 'pending' AND ${windowPassed(sql`business_now(i.merchant_id)`)}
    RETURNING ${raw(ENDED_COLUMNS)}`;
  await endIntents(trx, ended, { cause: 'network' });
  return ended.length > 0;
}
