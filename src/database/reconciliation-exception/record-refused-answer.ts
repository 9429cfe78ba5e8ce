import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { recordEvents } from '../record/event';

/** Answers of a bank that change nothing, kept so that the operator can look them up. */

/** Refused answers kept per resource: a program may repeat its own for days. */
const REFUSED_MAX = 20;

const ABOUT = {
  billing_request: { table: 'billing_requests', owner: 'owner_id' },
  refund: { table: 'refunds', owner: 'merchant_id' },
  exception: {
    table: 'reconciliation_exceptions',
    owner: 'coalesce(merchant_id, payee_bank_id, bank_id)',
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
  const { table, owner } = ABOUT[about];
  const kept = await trx.row<{ sequence: number; at: Date }>`
    WITH kept AS (
      INSERT INTO refused_answers (resource_id, says, bank_transaction_id, why, answered_at)
      SELECT id, ${says}, ${bankTransactionId}, ${why ?? null}, business_now(${raw(owner)}) FROM ${raw(table)}
      WHERE id = ${resourceId} AND (
        SELECT count(*) FROM refused_answers WHERE resource_id = ${resourceId}) < ${raw(REFUSED_MAX)}
      ON CONFLICT DO NOTHING RETURNING resource_id, answered_at)
    UPDATE ${raw(table)} SET sequence = sequence + 1 FROM kept WHERE id = resource_id
    RETURNING sequence, answered_at AS at`;
  if (!kept) return;
  const details =
    about === 'exception' ? { answer: says, bankTransactionId, why } : { outcome: says, bankTransactionId };
  await recordEvents(trx, [{ resourceId, ...kept, type: `${about}.answer_refused`, cause: 'bank', details }]);
}
