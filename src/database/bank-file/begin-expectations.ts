import { act, type Actor } from '../record/audit-event';
import type { Transaction } from '../pool/connection';

/** The day from which on bookings are expected in a bank's files. */

/** A bank's first file begins them, and a later `from` that is earlier moves them back. */
export async function beginExpectations(
  trx: Transaction,
  bankId: string,
  { statementId, begins, from }: { statementId: string; begins: string | null; from: string | null },
): Promise<void> {
  if (begins === null) return;
  await trx.rows`
    INSERT INTO expectations AS e (bank_id, begins, statement_id) VALUES (${bankId}, ${begins}, ${statementId})
    ON CONFLICT (bank_id) DO UPDATE SET begins = excluded.begins, statement_id = excluded.statement_id
    WHERE ${from}::date < e.begins`;
}

/** The operator's word: it holds until a file's earlier `from`. */
export async function setExpectationsBegin(
  trx: Transaction,
  by: Actor,
  bankId: string,
  begins: string,
): Promise<void> {
  const before = await trx.row<{ begins: string }>`
    SELECT begins::text FROM expectations WHERE bank_id = ${bankId} FOR UPDATE`;
  const change = trx.oneRow<{ begins: string }>`
    INSERT INTO expectations AS e (bank_id, begins) VALUES (${bankId}, ${begins})
    ON CONFLICT (bank_id) DO UPDATE SET begins = excluded.begins, statement_id = NULL
    RETURNING begins::text`;
  await act(trx, by, change, (after) => ({
    action: 'bank_files.expected_from',
    entityId: bankId,
    before: { begins: before?.begins ?? null },
    after,
  }));
}

/** Begins them anew by the files that are left. */
export async function withdrawExpectations(
  trx: Transaction,
  bankId: string,
  statementId: string,
): Promise<void> {
  const gone = await trx.row`
    DELETE FROM expectations WHERE bank_id = ${bankId} AND statement_id = ${statementId} RETURNING true`;
  if (!gone) return;
  await trx.rows`
    INSERT INTO expectations (bank_id, begins, statement_id)
    SELECT bank_id, begins, id FROM (
      SELECT *, row_number() OVER (ORDER BY recorded_at, id) AS n FROM bank_files
      WHERE bank_id = ${bankId} AND begins IS NOT NULL AND status <> 'withdrawn') AS file
    WHERE n = 1 OR covered_from IS NOT NULL ORDER BY begins LIMIT 1`;
}
