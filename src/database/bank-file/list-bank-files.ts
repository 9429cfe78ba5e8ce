import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { listPage, type Listed, type Page } from '../query/list-page';
import { BANK_FILE_COLUMNS, type BankFile } from './receive-bank-file';

/** A bank's files, and how far they reach. All days are as `2026-11-21`. */

export const BANK_FILE_SORTS = { createdAt: { by: 'recorded_at', indexed: true } };

export function listBankFiles(
  db: Executor,
  bankId: string,
  page: Page<keyof typeof BANK_FILE_SORTS>,
): Promise<Listed<BankFile>> {
  const from = sql`bank_files WHERE bank_id = ${bankId}`;
  return listPage(
    db,
    {
      select: () => sql`SELECT ${raw(BANK_FILE_COLUMNS)} FROM ${from}`,
      counted: (limit) => sql`${from} ORDER BY recorded_at, id ${limit}`,
      id: 'id',
      sort: BANK_FILE_SORTS[page.sortBy],
      instead: 'ask for an older statement by its statementId',
    },
    page,
  );
}

/** The last day that a bank's files reach, in each currency of its settlements or lines. */
export async function readReached(db: Executor, bankId: string): Promise<Record<string, string>> {
  const found = await db.rows<{ currency: string; day: string }>`
    WITH reached AS (
      SELECT r.key AS currency, max(r.value) AS day FROM bank_files s, jsonb_each_text(s.reaches) AS r
      WHERE s.bank_id = ${bankId} AND s.status = 'completed' GROUP BY 1)
    SELECT own.currency, max(r.day) AS day FROM (
      SELECT currency FROM reached WHERE currency <> '*'
      UNION SELECT currency::text FROM ledger_balances WHERE party_id = ${bankId}) AS own
      JOIN reached r ON r.currency IN (own.currency, '*')
    GROUP BY 1 ORDER BY 1`;
  return Object.fromEntries(found.map(({ currency, day }) => [currency, day]));
}
