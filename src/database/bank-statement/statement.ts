import { isMalformed, type Direction, type ReadLine } from '../../domain/books/bank-statement';
import { Failure } from '../../domain/failures';
import { oneRow, row, rows, type Executor, type Transaction } from '../connection';
import { dayBegin } from '../day-begin';
import { SWEEP, sweep } from '../sweep';

/**
 * Statements of banks, as they arrive and as they are read.
 *
 * The lines wait in pages. What a page has is no more than what is compared; it is deleted by the
 * transaction that judges it, and so is judged once, however often that is tried.
 */

/** Lines that one transaction judges: some tens of milliseconds. */
export const PAGE_LINES = 1_000;

/**
 * Differences of a file that become exceptions: more than anybody looks into. Each costs some
 * kilobytes and two webhooks; a file of another account has a difference for each of its lines.
 */
export const EXCEPTIONS_OF_FILE = 1_000;

/** Adds to those that a file has opened. */
export async function countExceptions(trx: Transaction, statementId: string, more: number): Promise<void> {
  if (more === 0) return;
  await rows(trx, `UPDATE bank_statements SET exceptions = exceptions + :more WHERE id = :statementId`, {
    statementId,
    more,
  });
}

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
  covered: CoveredDays;
}

/** Days that the bank says its file covers, as `2026-11-21`; what it does not say is null. */
export interface CoveredDays {
  from: string | null;
  through: string | null;
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
  { statementId, sha256, lines, firstDay, lastDay, currencies, covered }: ArrivedStatement,
  limit: LinesLimit,
): Promise<Statement & { isNew: boolean }> {
  const made = await row<Statement>(
    trx,
    `INSERT INTO bank_statements (id, bank_id, sha256, lines, first_day, last_day, currencies, covered_from, covered_through)
     VALUES (:statementId, :bankId, :sha256, :lines, :firstDay, :lastDay, :currencies, :from, :through)
     ON CONFLICT (bank_id, sha256, covered_from, covered_through) DO NOTHING RETURNING ${STATEMENT_COLUMNS}`,
    { statementId, bankId, sha256, lines, firstDay, lastDay, currencies, ...covered },
  );
  if (!made) {
    // A statement of its own: it sees the one that the first may have waited for.
    const known = await row<Statement>(
      trx,
      `SELECT ${STATEMENT_COLUMNS} FROM bank_statements WHERE bank_id = :bankId AND sha256 = :sha256
         AND (covered_from, covered_through) IS NOT DISTINCT FROM (:from::date, :through::date)`,
      { bankId, sha256, ...covered },
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
