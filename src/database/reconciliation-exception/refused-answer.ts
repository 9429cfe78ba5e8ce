import { row, type Executor } from '../connection';
import { recordEvents } from '../event';

/** Answers of a bank that change nothing: what the bank said, and when, stays to be looked up. */

/**
 * Refused answers of one thing that are kept, the first of each kind: a program may go on sending
 * its own for days.
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

/** What the bank said, and why it does not count where its answer was to an exception. */
interface Refused {
  says: string;
  bankTransactionId: string | null;
  why?: string;
}

/** The same again is not kept again. The caller holds what the answer is about locked. */
export async function noteRefusedAnswer(
  trx: Executor,
  about: keyof typeof ABOUT,
  resourceId: string,
  { says, bankTransactionId, why }: Refused,
): Promise<void> {
  const { table, owner } = ABOUT[about];
  const kept = await row<{ sequence: number; at: Date }>(
    trx,
    `WITH kept AS (
       INSERT INTO refused_answers (resource_id, says, bank_transaction_id, why, answered_at)
       SELECT id, :says, :bankTransactionId, :why, business_now(${owner}) FROM ${table}
       WHERE id = :resourceId AND (
         SELECT count(*) FROM refused_answers WHERE resource_id = :resourceId) < ${REFUSED_MAX}
       ON CONFLICT DO NOTHING RETURNING resource_id, answered_at)
     UPDATE ${table} SET sequence = sequence + 1 FROM kept WHERE id = resource_id
     RETURNING sequence, answered_at AS at`,
    { resourceId, says, bankTransactionId, why: why ?? null },
  );
  if (!kept) return;
  const details =
    about === 'exception' ? { answer: says, bankTransactionId, why } : { outcome: says, bankTransactionId };
  await recordEvents(trx, [{ resourceId, ...kept, type: `${about}.answer_refused`, cause: 'bank', details }]);
}
