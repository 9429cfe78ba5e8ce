import type { Executor } from '../pool/connection';

/**
 * Begins an attempt at a billing (`attemptNow` of the domain). The key of its row refuses a
 * second first attempt; a later attempt finds the billing waiting for it.
 *
 * @throws Error if the attempt has begun before, or is not the next
 */
export async function beginAttempt(
  trx: Executor,
  schedule: { id: string; now: Date },
  { n, attempt, dueAt }: { n: number; attempt: number; dueAt: Date | null },
): Promise<void> {
  const begun = await (attempt === 1
    ? trx.row`
        INSERT INTO billings (schedule_id, n, due_at, status, attempts, first_attempt_at)
        VALUES (${schedule.id}, ${n}, ${dueAt}, 'pending', 1, ${schedule.now}) RETURNING n`
    : trx.row`
        UPDATE billings SET status = 'pending', attempts = attempts + 1, retry_at = NULL, reason = NULL
        WHERE schedule_id = ${schedule.id} AND n = ${n} AND attempts = ${attempt} - 1
          AND retry_at <= ${schedule.now} RETURNING n`);
  if (!begun) throw new Error(`attempt ${attempt} at billing ${n + 1} of ${schedule.id} cannot begin now`);
}
