import type { FailureCode } from '../../domain/failures';
import type { Executor, Transaction } from '../pool/connection';
import { raw } from '../pool/statement';
import { IS_OPEN } from './read-acts';

/**
 * Decides an act that is open. Of two deciders at once the second changes nothing.
 *
 * @returns whether it was open
 */
export async function decideAct(
  trx: Transaction,
  actId: string,
  { state, personId }: { state: 'approved' | 'refused'; personId: string },
): Promise<boolean> {
  const decided = await trx.row`
    UPDATE person_acts a SET state = ${state}, decided_by = ${personId}, decided_at = clock_timestamp()
    WHERE a.id = ${actId} AND ${raw(IS_OPEN)} RETURNING true`;
  return decided !== undefined;
}

/**
 * Ends an approved act that was refused as it was done.
 *
 * @param was `waiting` where the refusal has undone the approval
 */
export async function endRefused(
  db: Executor,
  actId: string,
  { was, personId, refusal }: { was: 'waiting' | 'approved'; personId: string; refusal: FailureCode },
): Promise<void> {
  await db.rows`
    UPDATE person_acts SET state = 'refused', refusal = ${refusal}, decided_by = ${personId},
      decided_at = clock_timestamp()
    WHERE id = ${actId} AND state = ${was}`;
}
