import { Failure, FAILURES } from '../../domain/failures';
import { row, type Transaction } from '../connection';
import { recordEvents } from '../event';
import type { Keyring } from '../keys/keyring';
import { resolveException, type Finding, type ResolvedException } from './resolve';

/**
 * What the bank answers, and on record where that is not taken: whoever looks into it later sees
 * what the bank has said, when, and why it did not count.
 */

/**
 * Refused answers of one exception that are on record, the first of each kind: a program may go on
 * sending its own for days.
 */
const REFUSED_MAX = 20;

/**
 * @returns the failure where it is not taken, for the caller to throw once this is committed
 * @throws Failure not_found, also of another bank's
 */
export async function takeBanksAnswer(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  by: { bankId: string; note: string | null },
  exceptionId: string,
  finding: Finding,
): Promise<ResolvedException | Failure> {
  try {
    return await resolveException(trx, keyring, timeZone, { cause: 'bank', ...by }, exceptionId, finding);
  } catch (failure) {
    if (!(failure instanceof Failure) || FAILURES[failure.code].status !== 409) throw failure;
    await recordRefused(trx, exceptionId, finding, failure.message);
    return failure;
  }
}

/** The exception is locked by then, by whoever refused the answer. */
async function recordRefused(
  trx: Transaction,
  exceptionId: string,
  { resolution: answer, bankTransactionId }: Finding,
  why: string,
): Promise<void> {
  const refused = await row<{ sequence: number; at: Date }>(
    trx,
    `WITH earlier AS (
       SELECT details FROM events WHERE resource_id = :exceptionId AND type = 'exception.answer_refused')
     UPDATE reconciliation_exceptions x SET sequence = x.sequence + 1
     WHERE x.id = :exceptionId AND (SELECT count(*) FROM earlier) < ${REFUSED_MAX} AND NOT EXISTS (
       SELECT FROM earlier WHERE details @>
         jsonb_build_object('answer', :answer::text, 'bankTransactionId', :bankTransactionId::text, 'why', :why::text))
     RETURNING x.sequence, business_now(coalesce(x.merchant_id, x.payee_bank_id, x.bank_id)) AS at`,
    { exceptionId, answer, bankTransactionId, why },
  );
  if (!refused) return;
  await recordEvents(trx, [
    {
      resourceId: exceptionId,
      ...refused,
      type: 'exception.answer_refused',
      cause: 'bank',
      details: { answer, bankTransactionId, why },
    },
  ]);
}
