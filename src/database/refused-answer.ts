import { row, type Executor } from './connection';
import { recordEvents } from './event';
import { jsonOf } from './json';

/**
 * Answers of a bank that change nothing, on the time line of what they are about: whoever looks
 * into it later sees what the bank said, and when.
 */

/**
 * Refused answers of one thing that are on record, the first of each kind: a program may go on
 * sending its own for days.
 */
const REFUSED_MAX = 20;

const ABOUT = {
  billing_request: { table: 'billing_requests', owner: 'owner_id' },
  refund: { table: 'refunds', owner: 'merchant_id' },
  exception: {
    table: 'reconciliation_exceptions',
    owner: 'coalesce(merchant_id, payee_bank_id, bank_id)',
  },
} as const;

/**
 * The caller holds what the answer is about locked.
 *
 * @param details what the bank said; the same again is not noted again
 */
export async function noteRefusedAnswer(
  trx: Executor,
  about: keyof typeof ABOUT,
  resourceId: string,
  details: Record<string, string | null>,
): Promise<void> {
  const { table, owner } = ABOUT[about];
  const type = `${about}.answer_refused`;
  const refused = await row<{ sequence: number; at: Date }>(
    trx,
    `WITH earlier AS (SELECT details FROM events WHERE resource_id = :resourceId AND type = :type)
     UPDATE ${table} SET sequence = sequence + 1
     WHERE id = :resourceId AND (SELECT count(*) FROM earlier) < ${REFUSED_MAX}
       AND NOT EXISTS (SELECT FROM earlier WHERE details @> :details::jsonb)
     RETURNING sequence, business_now(${owner}) AS at`,
    { resourceId, type, details: jsonOf(details) },
  );
  if (refused) await recordEvents(trx, [{ resourceId, ...refused, type, cause: 'bank', details }]);
}
