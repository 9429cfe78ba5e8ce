import { isMalformed, type Direction, type ReadLine } from '../../domain/books/bank-statement';
import { Failure } from '../../domain/failures';
import { oneRow, row, rows, type Executor, type Transaction } from '../connection';
import { SWEEP, sweep } from '../sweep';

/**
 * Statements of banks, as they arrive and as they are read.
 *
 * The lines wait in pages. What a page has is no more than what is compared; it is deleted by the
 * transaction that judges it, and so is judged once, however often that is tried.
 */

/** Lines that one transaction judges: some tens of milliseconds. */
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
  /** `2026-11-21`; null where no line has any. */
  firstDay: string | null;
  lastDay: string | null;
  currencies: string[];
}

/** As short as it can be: a million of them wait. */
type WaitingLine =
  | [line: number, problem: string]
  | [line: number, problem: string, bankTransactionId: string]
  | [
      line: number,
      bankTransactionId: string,
      bookingDate: string,
      amount: string,
      currency: string,
      direction: Direction,
      reference: string | null,
    ];

/** Days that a booking may be of, by the calendar of the network. */
export interface BookableDays {
  timeZone: string;
  first: string;
  last: string;
}

/** No bank books, or sends, what is older: a year that is written wrong is. */
const BOOKABLE_YEARS = 5;

/**
 * A booking is of no day that is yet to come, by whichever clock is furthest; a bank may be a day
 * ahead of the network by its own calendar. Days are compared as they are written, so none has a
 * year of five digits, wherever somebody's clock is.
 */
export async function bookableDays(db: Executor, timeZone: string): Promise<BookableDays> {
  const days = await oneRow<Omit<BookableDays, 'timeZone'>>(
    db,
    `SELECT to_char((now - interval '${BOOKABLE_YEARS} years') AT TIME ZONE :timeZone, 'YYYY-MM-DD') AS first,
       to_char(least((now + ahead + interval '1 day') AT TIME ZONE :timeZone, timestamp '9999-12-31'),
         'YYYY-MM-DD') AS last
     FROM (SELECT clock_timestamp() AS now,
             coalesce((SELECT max(clock_offset) FROM entities WHERE clock_offset > '0'), '0') AS ahead) AS clocks`,
    { timeZone },
  );
  return { timeZone, ...days };
}

/** Keeps a page of a statement that still arrives, until it is accepted or discarded. */
export async function stagePage(
  db: Executor,
  statementId: string,
  position: number,
  lines: readonly ReadLine[],
): Promise<void> {
  const waiting = lines.map((one): WaitingLine =>
    isMalformed(one)
      ? one.bankTransactionId === undefined
        ? [one.line, one.problem]
        : [one.line, one.problem, one.bankTransactionId]
      : [
          one.line,
          one.bankTransactionId,
          one.bookingDate,
          one.amount.toString(),
          one.currency,
          one.direction,
          one.reference,
        ],
  );
  await rows(
    db,
    `INSERT INTO bank_statement_pages (statement_id, position, lines) VALUES (:statementId, :position, :lines)`,
    { statementId, position, lines: JSON.stringify(waiting) },
  );
}

/**
 * Takes a page out. The caller holds the statement locked.
 *
 * @returns undefined where somebody else has taken it
 */
export async function takePage(
  trx: Transaction,
  statementId: string,
  position: number,
): Promise<ReadLine[] | undefined> {
  const page = await row<{ lines: WaitingLine[] }>(
    trx,
    `DELETE FROM bank_statement_pages WHERE statement_id = :statementId AND position = :position RETURNING lines`,
    { statementId, position },
  );
  return page?.lines.map(readWaiting);
}

/** The next page as it waits, to look at without taking it. */
export async function nextPage(
  db: Executor,
  statementId: string,
): Promise<{ position: number; lines: ReadLine[] } | undefined> {
  const page = await row<{ position: number; lines: WaitingLine[] }>(
    db,
    `SELECT position, lines FROM bank_statement_pages WHERE statement_id = :statementId ORDER BY position LIMIT 1`,
    { statementId },
  );
  return page && { position: page.position, lines: page.lines.map(readWaiting) };
}

function readWaiting(waiting: WaitingLine): ReadLine {
  if (waiting.length === 2) return { line: waiting[0], problem: waiting[1] };
  if (waiting.length === 3) return { line: waiting[0], problem: waiting[1], bankTransactionId: waiting[2] };
  const [line, bankTransactionId, bookingDate, amount, currency, direction, reference] = waiting;
  return { line, bankTransactionId, bookingDate, amount: BigInt(amount), currency, direction, reference };
}

/**
 * Takes the pages over as a statement; of a file that there is already, nothing is new.
 *
 * @returns the statement, and whether it is new; the pages of one that is not are the caller's to
 *   discard
 * @throws Error where not all pages are there: the file took so long that they were swept away
 */
export async function acceptStatement(
  trx: Transaction,
  bankId: string,
  { statementId, sha256, lines, firstDay, lastDay, currencies }: ArrivedStatement,
): Promise<Statement & { isNew: boolean }> {
  const made = await row<Statement>(
    trx,
    `INSERT INTO bank_statements (id, bank_id, sha256, lines, first_day, last_day, currencies)
     VALUES (:statementId, :bankId, :sha256, :lines, :firstDay, :lastDay, :currencies)
     ON CONFLICT (bank_id, sha256) DO NOTHING RETURNING ${STATEMENT_COLUMNS}`,
    { statementId, bankId, sha256, lines, firstDay, lastDay, currencies },
  );
  if (!made) {
    // A statement of its own: it sees the one that the first may have waited for.
    const known = await row<Statement>(
      trx,
      `SELECT ${STATEMENT_COLUMNS} FROM bank_statements WHERE bank_id = :bankId AND sha256 = :sha256`,
      { bankId, sha256 },
    );
    return { ...found(known), isNew: false };
  }
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
