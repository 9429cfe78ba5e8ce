import { isMalformed, type ReadLine } from '../../domain/books/bank-statement';
import { Failure } from '../../domain/failures';
import { oneRow, row, rows, type Executor, type Transaction } from '../connection';
import { dayBegin } from '../day-begin';
import { SWEEP, sweep } from '../sweep';

/**
 * Files of banks, as they arrive. The lines wait in pages, with no more than what is compared.
 */

/** Lines that one transaction matches: some tens of milliseconds. */
export const PAGE_LINES = 1_000;

export type StatementStatus = 'processing' | 'completed' | 'failed';

export interface Statement {
  statementId: string;
  status: StatementStatus;
  summary: {
    lines: number;
    matched: number;
    duplicates: number;
    unknownHere: number;
    missingAtBank: number;
    amountDiffers: number;
    malformed: number;
  };
  createdAt: Date;
  endedAt: Date | null;
}

const STATEMENT_COLUMNS = `id AS "statementId", status,
  jsonb_build_object('lines', lines, 'matched', matched, 'duplicates', duplicates, 'unknownHere', unknown_here,
    'missingAtBank', missing_at_bank, 'amountDiffers', amount_differs, 'malformed', malformed) AS summary,
  recorded_at AS "createdAt", ended_at AS "endedAt"`;

/** What is known of a file once it has arrived. */
export interface ArrivedStatement {
  statementId: string;
  sha256: Buffer;
  lines: number;
  /** The earliest day that a line is of, as `2026-11-21`; null where no line has any. */
  firstDay: string | null;
  /** The last day that it is of, by its currencies. */
  reaches: Record<string, string>;
  covered: CoveredDays;
}

/** Days that the bank says its file covers, as `2026-11-21`; what it does not say is null. */
export interface CoveredDays {
  from: string | null;
  through: string | null;
  /** The day that it is for the bank: no file reaches further. */
  today: string;
}

/** As short as it can be: a million of them wait. */
const waiting = (one: ReadLine) =>
  isMalformed(one)
    ? [one.line, null, null, null, null, null, null, one.problem]
    : [
        one.line,
        one.bookingDate,
        one.amount.toString(),
        one.currency,
        one.direction,
        one.bankTransactionId,
        one.reference,
      ];

/** Keeps a page of a statement that still arrives, until it is accepted or discarded. */
export async function stagePage(
  db: Executor,
  statementId: string,
  position: number,
  lines: readonly ReadLine[],
): Promise<void> {
  await rows(
    db,
    `INSERT INTO bank_statement_pages (statement_id, position, lines) VALUES (:statementId, :position, :lines)`,
    { statementId, position, lines: JSON.stringify(lines.map(waiting)) },
  );
}

/** Limit on the lines of each bank. */
export interface LinesLimit {
  linesPerDay: number;
  /** The network's: it says when a day begins. */
  timeZone: string;
}

/**
 * Takes the pages over as a statement; of a file that there is already, with the same days covered,
 * nothing is new.
 *
 * @returns the statement, and whether it is new; the pages of one that is not are the caller's to
 *   discard
 * @throws Failure rate_limited where the bank has sent enough lines today
 * @throws Error where not all pages are there: the file took so long that they were swept away
 */
export async function acceptStatement(
  trx: Transaction,
  bankId: string,
  { statementId, sha256, lines, firstDay, reaches, covered: { from, through, today } }: ArrivedStatement,
  limit: LinesLimit,
): Promise<Statement & { isNew: boolean }> {
  const made = await row<Statement>(
    trx,
    `INSERT INTO bank_statements (id, bank_id, sha256, lines, begins, reaches, covered_from, covered_through)
     VALUES (:statementId, :bankId, :sha256, :lines, least(coalesce(:from::date, :firstDay::date), :today::date), :reaches, :from, :through)
     ON CONFLICT (bank_id, sha256, covered_from, covered_through) DO NOTHING RETURNING ${STATEMENT_COLUMNS}`,
    {
      statementId,
      bankId,
      sha256,
      lines,
      firstDay,
      from,
      through,
      today,
      reaches: JSON.stringify({ ...reaches, ...(through !== null && { '*': through }) }),
    },
  );
  if (!made) {
    // A statement of its own: it sees the one that the first may have waited for.
    const known = await row<Statement>(
      trx,
      `SELECT ${STATEMENT_COLUMNS} FROM bank_statements WHERE bank_id = :bankId AND sha256 = :sha256
         AND (covered_from, covered_through) IS NOT DISTINCT FROM (:from::date, :through::date)`,
      { bankId, sha256, from, through },
    );
    return { ...found(known), isNew: false };
  }
  await countLines(trx, bankId, lines, limit);
  const taken = await row<{ lines: number }>(
    trx,
    `WITH taken AS (
       UPDATE bank_statement_pages SET accepted = true WHERE statement_id = :statementId
       RETURNING jsonb_array_length(lines) AS lines)
     SELECT coalesce(sum(lines), 0)::int AS lines FROM taken`,
    { statementId },
  );
  if (taken?.lines !== lines) throw new Error(`${statementId} lacks staged pages`);
  return { ...made, isNew: true };
}

/**
 * Counts the lines that a bank sends on a day of real time. One statement decides between files at
 * the same time.
 *
 * @throws Failure rate_limited
 */
async function countLines(
  trx: Transaction,
  bankId: string,
  lines: number,
  { linesPerDay, timeZone }: LinesLimit,
): Promise<void> {
  const counted = await row(
    trx,
    `INSERT INTO bank_statement_days AS d (bank_id, day, lines)
     SELECT :bankId, (clock_timestamp() AT TIME ZONE :timeZone)::date, :lines WHERE :lines::int <= :linesPerDay::int
     ON CONFLICT (bank_id) DO UPDATE SET day = excluded.day,
       lines = CASE WHEN d.day = excluded.day THEN d.lines ELSE 0 END + excluded.lines
     WHERE d.day <> excluded.day OR d.lines + excluded.lines <= :linesPerDay
     RETURNING true`,
    { bankId, lines, linesPerDay, timeZone },
  );
  if (!counted) throw await tooManyLines(trx, { linesPerDay, timeZone });
}

/** The refusal of a file that passes the lines of a day. */
export async function tooManyLines(db: Executor, { linesPerDay, timeZone }: LinesLimit): Promise<Failure> {
  const { retryAfterS } = await oneRow<{ retryAfterS: number }>(
    db,
    `SELECT ceil(extract(epoch FROM ${dayBegin(`(clock_timestamp() AT TIME ZONE :timeZone)::date + 1`)} - clock_timestamp()))::int
       AS "retryAfterS"`,
    { timeZone },
  );
  return new Failure(
    'rate_limited',
    `A bank may send ${linesPerDay} lines a day: nothing of this file was accepted. Try again tomorrow.`,
    { retryAfterS },
  );
}

/**
 * Deletes what was staged for a statement that is not accepted; does nothing to one that is.
 */
export async function discardPages(db: Executor, statementId: string): Promise<void> {
  for (;;) {
    const deleted = await rows(
      db,
      `DELETE FROM bank_statement_pages WHERE (statement_id, position) IN (
         SELECT statement_id, position FROM bank_statement_pages
         WHERE statement_id = :statementId AND NOT accepted LIMIT ${SWEEP}) RETURNING true`,
      { statementId },
    );
    if (deleted.length < SWEEP) return;
  }
}

/** Longer than a file may take to arrive at its slowest. */
const ABANDONED_AFTER = '6 hours';

/** Deletes what processes that died had staged. @returns whether there may be more */
export function deleteAbandonedPages(db: Executor): Promise<boolean> {
  return sweep(
    db,
    'bank_statement_pages',
    'statement_id, position',
    `NOT accepted AND staged_at < (SELECT clock_timestamp()) - interval '${ABANDONED_AFTER}'`,
  );
}

/** @throws Failure not_found */
export async function readStatement(db: Executor, bankId: string, statementId: string): Promise<Statement> {
  return found(
    await row<Statement>(
      db,
      `SELECT ${STATEMENT_COLUMNS} FROM bank_statements WHERE id = :statementId AND bank_id = :bankId`,
      { statementId, bankId },
    ),
  );
}

/** How far it has come. @throws Error where there is none */
export async function statementProgress(
  db: Executor,
  statementId: string,
): Promise<Pick<Statement, 'status' | 'summary'> & { done: number }> {
  const progress = await row<Pick<Statement, 'status' | 'summary'>>(
    db,
    `SELECT ${STATEMENT_COLUMNS} FROM bank_statements WHERE id = :statementId`,
    { statementId },
  );
  if (!progress) throw new Error(`there is no ${statementId}`);
  const { matched, duplicates, unknownHere, amountDiffers, malformed } = progress.summary;
  return { ...progress, done: matched + duplicates + unknownHere + amountDiffers + malformed };
}

function found(statement: Statement | undefined): Statement {
  if (!statement) throw new Failure('not_found', 'You have no such statement');
  return statement;
}
