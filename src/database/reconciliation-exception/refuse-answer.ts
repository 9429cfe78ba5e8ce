import { claimBankTransaction } from '../ledger/claim-bank-transaction';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { writeTransitions } from '../transition/write-transition';
import { endDuplicates } from './end-exceptions';
import { takeAnswerInDoubt, type AnswerInDoubt } from './open-exceptions';

/** Answers that settle nothing: agreed to as repeats, noted, or added to an exception. */

/**
 * A bank's answer to a charge or a refund that did not take it; `kind` is the doubt that it raises.
 */
interface NotTaken extends AnswerInDoubt {
  bankId: string;
  /** Pending if the answer names another resource's transaction. */
  status: string;
  /** The same answer came before, and was taken. */
  repeats: boolean;
  /** No money can have moved by it. */
  movesNothing: boolean;
}

/**
 * Refuses an answer. A repeated answer is agreed to, and an answer without money is noted. Any
 * other opens an exception, or adds to it. The caller holds the charge locked.
 *
 * @returns whether the bank is agreed with, and whether its transaction belongs to something else
 */
export async function refuseAnswer(
  trx: Executor,
  answer: NotTaken,
): Promise<{ agreed: boolean; duplicate: boolean }> {
  const { bankId, status, billingRequestId, refundId, says, bankTransactionId, reason, repeats } = answer;
  const resourceId = refundId ?? billingRequestId;
  const duplicate =
    bankTransactionId !== null &&
    !(await claimBankTransaction(trx, { bankId, bankTransactionId, resourceId }));
  if (status === 'pending' && !duplicate) throw new Error(`${resourceId} is neither open nor closed`);
  if (answer.movesNothing) {
    const about = refundId === null ? 'billing_request' : 'refund';
    await noteRefusedAnswer(trx, about, resourceId, { says, bankTransactionId });
  } else if (!repeats) {
    const kind = duplicate ? 'duplicate_transaction_id' : answer.kind;
    await takeAnswerInDoubt(trx, {
      kind,
      billingRequestId,
      refundId,
      says,
      bankTransactionId,
      reason,
    });
  } else if (says === 'approved' || says === 'completed') {
    await endDuplicates(trx, { billingRequestId, refundId });
  }
  return { agreed: repeats, duplicate };
}

/** Refused answers kept per resource: a program may repeat its own for days. */
const REFUSED_MAX = 20;

const ABOUT = {
  billing_request: { table: 'billing_requests', biller: 'biller_id' },
  refund: { table: 'refunds', biller: 'merchant_id' },
  exception: {
    table: 'reconciliation_exceptions',
    biller: 'coalesce(merchant_id, payee_bank_id, bank_id)',
  },
} as const;

/** A refused answer; an answer to an exception also has the reason of its refusal. */
interface Refused {
  says: string;
  bankTransactionId: string | null;
  why?: string;
}

/** Keeps a refused answer once, however often it comes. The caller holds its resource locked. */
export async function noteRefusedAnswer(
  trx: Executor,
  about: keyof typeof ABOUT,
  resourceId: string,
  { says, bankTransactionId, why }: Refused,
): Promise<void> {
  const { table, biller } = ABOUT[about];
  const kept = await trx.row<{ sequence: number; at: Date }>`
    WITH kept AS (
      INSERT INTO refused_answers (resource_id, says, bank_transaction_id, why, answered_at)
      SELECT id, ${says}, ${bankTransactionId}, ${why ?? null}, business_now(${raw(biller)}) FROM ${raw(table)}
      WHERE id = ${resourceId} AND (
        SELECT count(*) FROM refused_answers WHERE resource_id = ${resourceId}) < ${raw(REFUSED_MAX)}
      ON CONFLICT DO NOTHING RETURNING resource_id, answered_at)
    UPDATE ${raw(table)} SET sequence = sequence + 1 FROM kept WHERE id = resource_id
    RETURNING sequence, answered_at AS at`;
  if (!kept) return;
  const details =
    about === 'exception' ? { answer: says, bankTransactionId, why } : { outcome: says, bankTransactionId };
  const row = { id: resourceId, ...kept };
  await writeTransitions(trx, { event: `${about}.answer_refused`, cause: 'bank', row, details });
}
