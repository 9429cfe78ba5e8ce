import { Failure, FAILURES } from '../../domain/failures';
import type { Transaction } from '../connection';
import type { Keyring } from '../keys/keyring';
import { noteRefusedAnswer } from '../refused-answer';
import { resolveException, type Finding, type ResolvedException } from './resolve';

/**
 * What the bank answers, and on record where that is not taken: whoever looks into it later sees
 * what the bank has said, when, and why it did not count.
 */

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
    const { resolution: answer, bankTransactionId } = finding;
    // The exception is locked by then.
    await noteRefusedAnswer(trx, 'exception', exceptionId, {
      answer,
      bankTransactionId,
      why: failure.message,
    });
    return failure;
  }
}
