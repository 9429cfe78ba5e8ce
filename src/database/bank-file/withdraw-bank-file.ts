import { act, type Actor } from '../record/audit-event';
import { withdrawExpectations } from './begin-expectations';
import type { Database, Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { sweep } from '../query/sweep';
import { endWithoutMoney, IS_ALL_SAID } from '../reconciliation-exception/end-exceptions';
import { isCounterpart, judgeBookings } from './judge-bookings';
import { lockCharges } from '../agreement/agreement';
import { readBankFile, takeTurn, type BankFile } from './receive-bank-file';

/**
 * Withdraws a bank's wrong file. The file counts no more from the first step on. Later, bounded
 * steps undo what only the file had: one transaction for a million bookings would make answers
 * wait. Each step may run twice: the command goes on after a death.
 */

/** Bookings that one step looks at: some tenths of a second. */
const BOOKINGS = 10_000;
/** Charges whose exceptions one step ends. */
const CHARGES = 100;
/** Files of some months. */
const FORGOTTEN_SHOWN = 100;

/**
 * The work on a file that has not ended, because it cannot, ends too.
 *
 * @throws Failure not_found
 */
export async function withdrawBankFile(db: Database, by: Actor, statementId: string): Promise<void> {
  const withdrawn = await db.transaction(async (trx) => {
    await takeTurn(trx, statementId);
    const file = await readBankFile(trx, statementId);
    if (file.status !== 'withdrawn') {
      const change = trx.oneRow<{ lines: number }>`
        UPDATE bank_files SET status = 'withdrawn', withdrawn_at = clock_timestamp(),
          ended_at = coalesce(ended_at, clock_timestamp())
        WHERE id = ${statementId} RETURNING lines`;
      await act(trx, by, change, ({ lines }) => ({
        action: 'statement.withdrawn',
        entityId: file.bankId,
        after: { statementId, lines },
      }));
      await withdrawExpectations(trx, file.bankId, statementId);
    }
    return file;
  });
  // No step of its workflow takes a page any more.
  while (await sweep(db, 'bank_file_pages', sql`statement_id = ${statementId}`));
  for (const step of [withdrawBookings, withdrawExtra, withdrawExceptions]) {
    for (let last: string[] | undefined = []; last;) {
      const after: string[] = last;
      last = await db.transaction(async (trx) => {
        await takeTurn(trx, statementId);
        return step(trx, withdrawn, after);
      });
    }
  }
}

/** SQL: what is left of a row's first and latest file. */
const filesLeft = (row: string, latest: string, statementId: string) => sql`
  first_${raw(latest)} = coalesce(nullif(${raw(`${row}.first_${latest}`)}, ${statementId}), nullif(${raw(`${row}.${latest}`)}, ${statementId})),
  ${raw(latest)} = coalesce(nullif(${raw(`${row}.${latest}`)}, ${statementId}), nullif(${raw(`${row}.first_${latest}`)}, ${statementId}))`;

/** Bookings that only the file had are in no file again. @returns the last that it looked at */
async function withdrawBookings(
  trx: Executor,
  { bankId, statementId }: BankFile,
  [by = '', identifier = '', direction = '']: string[],
): Promise<string[] | undefined> {
  const looked = await trx.rows<{ last: string[] }>`
    WITH looked AS MATERIALIZED (
      SELECT * FROM expected_bookings
      WHERE bank_id = ${bankId} AND (identified_by, identifier, direction) > (${by}, ${identifier}, ${direction})
      ORDER BY identified_by, identifier, direction LIMIT ${raw(BOOKINGS)}),
    had AS (
      SELECT *, first_matched_by = ${statementId} AND matched_by = ${statementId} AS is_alone FROM looked
      WHERE ${statementId} IN (first_matched_by, matched_by, reported_in)),
    freed AS (
      UPDATE expected_bookings e SET ${filesLeft('e', 'matched_by', statementId)},
        booked_on = CASE WHEN is_alone THEN NULL ELSE e.booked_on END,
        booked_id = CASE WHEN is_alone THEN NULL ELSE e.booked_id END,
        reported_in = CASE WHEN is_alone THEN NULL ELSE nullif(e.reported_in, ${statementId}) END
      FROM had h WHERE e.bank_id = h.bank_id AND e.identified_by = h.identified_by AND e.identifier = h.identifier
        AND e.direction = h.direction),
    -- A booking whose exception the file has ended may be missing again.
    again AS (
      UPDATE reconciliation_exceptions x SET withdrawn = true FROM had h
      WHERE h.is_alone AND x.billing_request_id = h.billing_request_id AND x.kind = 'missing_at_bank'
        AND x.direction = h.direction AND x.state = 'resolved')
    SELECT ARRAY[identified_by, identifier, direction] AS last FROM looked
    ORDER BY identified_by DESC, identifier DESC, direction DESC LIMIT 1`;
  return looked[0]?.last;
}

/** Extra bookings that only the file had go, and their charges are judged without them. */
async function withdrawExtra(
  trx: Executor,
  { bankId, statementId }: BankFile,
  [after = '']: string[],
): Promise<string[] | undefined> {
  const found = await trx.rows<{ id: string }>`
    (SELECT DISTINCT billing_request_id AS id FROM extra_bookings
     WHERE bank_id = ${bankId} AND ${statementId} IN (first_matched_by, matched_by) AND billing_request_id > ${after}
     ORDER BY 1 LIMIT ${raw(CHARGES)})
    UNION
    -- Another file may have the line of a booking that is in no file by now.
    (SELECT DISTINCT x.billing_request_id FROM extra_bookings x JOIN expected_bookings e USING (billing_request_id)
     WHERE x.bank_id = ${bankId} AND x.stands AND x.billing_request_id > ${after}
       AND e.bank_id = x.bank_id AND e.matched_by IS NULL AND e.ended_at IS NULL
     ORDER BY 1 LIMIT ${raw(CHARGES)})
    ORDER BY 1 LIMIT ${raw(CHARGES)}`;
  const ids = found.map(({ id }) => id);
  await lockCharges(trx, ids);
  await trx.rows`
    WITH gone AS (
      DELETE FROM extra_bookings WHERE billing_request_id = ANY(${ids}) AND bank_id = ${bankId}
        AND first_matched_by = ${statementId} AND matched_by = ${statementId} RETURNING *)
    UPDATE extra_bookings x SET counterpart_id = NULL, counterpart_booked_on = NULL FROM gone g
    WHERE ${raw(isCounterpart('x', 'g'))}
      AND (x.first_matched_by <> ${statementId} OR x.matched_by <> ${statementId})`;
  await trx.rows`
    UPDATE extra_bookings x SET ${filesLeft('x', 'matched_by', statementId)}
    WHERE billing_request_id = ANY(${ids}) AND bank_id = ${bankId} AND ${statementId} IN (first_matched_by, matched_by)`;
  await judgeBookings(trx, ids);
  const last = ids.at(-1);
  return last === undefined ? undefined : [last];
}

/** Ends what nothing but the file reports. A later file may report it anew. */
async function withdrawExceptions(
  trx: Executor,
  { bankId, statementId }: BankFile,
  [after = '']: string[],
): Promise<string[] | undefined> {
  const found = await trx.rows<{ id: string; billingRequestId: string | null }>`
    SELECT id, billing_request_id FROM reconciliation_exceptions
    WHERE ${bankId} IN (bank_id, payee_bank_id) AND ${statementId} IN (first_reported_in, reported_in) AND id > ${after}
    ORDER BY id LIMIT ${raw(CHARGES)}`;
  const charges = found.map(({ billingRequestId }) => billingRequestId);
  await lockCharges(trx, charges);
  const ids = found.map(({ id }) => id);
  const alone = await trx.rows<{ id: string; ends: boolean }>`
    UPDATE reconciliation_exceptions x SET ${filesLeft('x', 'reported_in', statementId)},
      withdrawn = withdrawn OR (first_reported_in = ${statementId} AND reported_in = ${statementId})
    WHERE id = ANY(${ids})
    RETURNING id, withdrawn AND (kind IN ('missing_at_bank', 'amount_differs') OR billing_request_id IS NULL)
      AND ${raw(IS_ALL_SAID)} AS ends`;
  const ended = alone.filter(({ ends }) => ends);
  await endWithoutMoney(trx, 'network', ended, 'no_difference');
  const last = ids.at(-1);
  return last === undefined ? undefined : [last];
}

/**
 * Files that may have lines which only they have by now. A row has its first and its latest file
 * alone, so that between two withdrawn files of the same days a third is forgotten.
 */
export async function forgottenFiles(db: Executor, statementId: string): Promise<string[]> {
  const found = await db.rows<{ id: string }>`
    WITH file AS (
      SELECT s.*, (SELECT max(value)::date FROM jsonb_each_text(s.reaches)) AS through FROM bank_files s
      WHERE bank_id = (SELECT bank_id FROM bank_files WHERE id = ${statementId}))
    SELECT DISTINCT m.id, m.recorded_at FROM file w JOIN file o ON o.status = 'withdrawn' AND o.id <> w.id
      JOIN file m ON m.status <> 'withdrawn' AND m.recorded_at
        BETWEEN SYMMETRIC w.recorded_at AND o.recorded_at
    WHERE w.id = ${statementId}
      AND greatest(w.begins, o.begins, m.begins) <= least(w.through, o.through, m.through)
    ORDER BY m.recorded_at, m.id LIMIT ${raw(FORGOTTEN_SHOWN)}`;
  return found.map(({ id }) => id);
}
