import type { ReadLine } from '../../domain/books/bank-file';
import { Failure } from '../../domain/failures';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import type { Database, Executor, Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { dayBegin } from '../clock/day-begin';
import { enqueueStarts } from '../outbox';
import { beginExpectations } from './begin-expectations';
import { sweep } from '../query/sweep';

/** Arriving bank files. Their lines wait in pages, with only the fields to compare. */

/** Lines that one transaction matches: some tens of milliseconds. */
export const PAGE_LINES = 1_000;

/**
 * Files of a bank's day. A bank sends some; each stays for good, and is read to know how far the
 * bank's files reach.
 */
const FILES_PER_DAY = 1_000;

export type BankFileStatus = 'processing' | 'completed' | 'failed' | 'withdrawn';

export interface BankFile {
  statementId: string;
  bankId: string;
  status: BankFileStatus;
  summary: {
    lines: number;
    matched: number;
    duplicates: number;
    unknownHere: number;
    missingAtBank: number;
    amountDiffers: number;
    malformed: number;
    /** Lines of charges and refunds that had not ended. */
    pending: number;
    /** Differences of the lines that are counted alone. */
    notKept: number;
  };
  /** Lines compared so far. */
  done: number;
  exceptions: number;
  createdAt: Date;
  endedAt: Date | null;
  /** The first and the last day that the file has, or that the bank says it covers. */
  from: string | null;
  through: string | null;
}

export const BANK_FILE_COLUMNS = `id AS statement_id, bank_id, status,
  jsonb_build_object('lines', lines, 'matched', matched, 'duplicates', duplicates, 'unknownHere', unknown_here,
    'missingAtBank', missing_at_bank, 'amountDiffers', amount_differs, 'malformed', malformed,
    'pending', pending, 'notKept', not_kept) AS summary,
  matched + duplicates + unknown_here + amount_differs + malformed + pending AS done, exceptions,
  recorded_at AS created_at, ended_at, begins::text AS "from",
  (SELECT max(value) FROM jsonb_each_text(reaches)) AS through`;

/** A file once it has arrived. All days are as `2026-11-21`. */
export interface ArrivedBankFile {
  statementId: string;
  sha256: Buffer;
  lines: number;
  /** Whether all of its lines wait: the bank's day had room for them when it began to arrive. */
  isStaged: boolean;
  /** The file's first day; null if neither the bank nor any line says one. */
  begins: string | null;
  /** The file's last day, by currency, and under `*` for all currencies. */
  reaches: Record<string, string>;
  /** The days that the bank says its file covers; null for a day that the bank does not say. */
  from: string | null;
  through: string | null;
}

/** As short as possible: a million lines may wait. */
const waiting = (one: ReadLine) =>
  'problem' in one
    ? [one.line, null, null, null, null, null, null, one.problem]
    : [
        one.line,
        one.bookedOn,
        one.amount.toString(),
        one.currency,
        one.direction,
        one.bankTransactionId,
        one.reference,
        ...(one.isReversal ? [null, true] : []),
      ];

/** @param position number of lines before the page */
export async function stagePage(
  db: Executor,
  statementId: string,
  position: number,
  lines: readonly ReadLine[],
): Promise<void> {
  await db.rows`
    INSERT INTO bank_file_pages (statement_id, position, lines)
    VALUES (${statementId}, ${position}, ${JSON.stringify(lines.map(waiting))})`;
}

/**
 * Accepts a file, to be matched by its workflow. A file that was sent before, with the same days
 * covered, is not matched again.
 *
 * @param linesPerDay most lines that a bank may send in a day of the network's zone
 * @returns the file, and whether it is new; if it is not, the caller discards the pages
 * @throws Failure rate_limited if the bank has sent enough today
 */
export async function acceptBankFile(
  trx: Transaction,
  bankId: string,
  { statementId, sha256, lines, isStaged, begins, reaches, from, through }: ArrivedBankFile,
  linesPerDay: number,
): Promise<BankFile & { isNew: boolean }> {
  const made = await trx.row<BankFile>`
    INSERT INTO bank_files (id, bank_id, sha256, lines, begins, reaches, covered_from, covered_through)
    VALUES (${statementId}, ${bankId}, ${sha256}, ${lines}, ${begins}, ${JSON.stringify(reaches)}, ${from},
      ${through})
    ON CONFLICT (bank_id, sha256, covered_from, covered_through) WHERE status <> 'withdrawn' DO NOTHING
    RETURNING ${raw(BANK_FILE_COLUMNS)}`;
  if (!made) {
    // A second statement, so that it sees a file that the first may have waited for.
    const known = await trx.oneRow<BankFile>`
      SELECT ${raw(BANK_FILE_COLUMNS)} FROM bank_files WHERE bank_id = ${bankId} AND sha256 = ${sha256} AND status <> 'withdrawn'
      AND (covered_from, covered_through) IS NOT DISTINCT FROM (${from}::date, ${through}::date)`;
    return { ...known, isNew: false };
  }
  if (!isStaged) throw await sentEnough(trx, linesPerDay);
  await requireRoom(trx, bankId, linesPerDay);
  await beginExpectations(trx, bankId, { statementId, begins, from });
  await enqueueStarts(trx, [
    {
      workflowId: workflowIds.bankFile(statementId),
      attributes: { status: made.status, bankId },
      summary: workflowSummary.bankFile({ lines, bankId }),
    },
  ]);
  return { ...made, isNew: true };
}

/**
 * Limits what a bank sends in a day of real time; counts the file just accepted. A bank's files
 * take turns, for two at the same time would not see each other.
 *
 * @throws Failure rate_limited
 */
async function requireRoom(trx: Transaction, bankId: string, linesPerDay: number): Promise<void> {
  await trx.rows`SELECT FROM entities WHERE id = ${bankId} FOR NO KEY UPDATE`;
  const left = await leftOfDay(trx, bankId, linesPerDay);
  if (left.files < 0 || left.lines < 0) throw await sentEnough(trx, linesPerDay);
}

/** Files and lines that a bank may still send today; below zero once it has sent more. */
export function leftOfDay(
  db: Executor,
  bankId: string,
  linesPerDay: number,
): Promise<{ files: number; lines: number }> {
  const today = sql`(clock_timestamp() AT TIME ZONE ${db.timeZone})::date`;
  return db.oneRow`
    SELECT (${FILES_PER_DAY} - count(*))::int AS files, (${linesPerDay} - coalesce(sum(lines), 0))::int AS lines
    FROM bank_files WHERE bank_id = ${bankId} AND recorded_at >= ${dayBegin(today, db.timeZone)}`;
}

export async function sentEnough(db: Executor, linesPerDay: number): Promise<Failure> {
  const tomorrow = sql`(clock_timestamp() AT TIME ZONE ${db.timeZone})::date + 1`;
  const { retryAfterS } = await db.oneRow<{ retryAfterS: number }>`
    SELECT ceil(extract(epoch FROM ${dayBegin(tomorrow, db.timeZone)} - clock_timestamp()))::int AS retry_after_s`;
  return new Failure(
    'rate_limited',
    `A bank may send ${FILES_PER_DAY} files a day, with ${linesPerDay} lines in all: nothing of this file was accepted. Try again tomorrow.`,
    { retryAfterS },
  );
}

const IS_NOT_ACCEPTED = sql`NOT EXISTS (SELECT FROM bank_files s WHERE s.id = statement_id)`;

export async function discardPages(db: Executor, statementId: string): Promise<void> {
  const ofFile = sql`statement_id = ${statementId} AND ${IS_NOT_ACCEPTED}`;
  while (await sweep(db, 'bank_file_pages', ofFile));
}

/** Longer than the slowest file may take to arrive. */
const ABANDONED_AFTER = '6 hours';

/** Deletes pages that processes staged before they died. @returns whether there may be more */
export function deleteAbandonedPages(db: Executor): Promise<boolean> {
  const isOld = sql`staged_at < (SELECT clock_timestamp()) - interval '${raw(ABANDONED_AFTER)}'`;
  return sweep(db, 'bank_file_pages', sql`${isOld} AND ${IS_NOT_ACCEPTED}`);
}

/** @param bankId the bank it has to be of, if a bank asks @throws Failure not_found */
export async function readBankFile(db: Executor, statementId: string, bankId?: string): Promise<BankFile> {
  const found = await db.row<BankFile>`
    SELECT ${raw(BANK_FILE_COLUMNS)} FROM bank_files
    WHERE id = ${statementId} AND bank_id = coalesce(${bankId ?? null}, bank_id)`;
  if (!found) throw new Failure('not_found', 'You have no such statement');
  return found;
}

/** Keeps the bank's other files waiting until the end of the transaction. */
export async function takeTurn(trx: Executor, statementId: string): Promise<void> {
  await trx.rows`
    SELECT pg_advisory_xact_lock(hashtextextended('bank_files ' || bank_id, 0))
    FROM bank_files WHERE id = ${statementId}`;
}

/**
 * Does a part of the work on a file, in a transaction. A bank's files take turns: two files with
 * one line would both open its exception, and a booking that one file just matched would look
 * missing to the other. The turn comes before other locks.
 *
 * @param work gets the file as it is once its turn has come
 * @returns the result of the work; false if the file has ended
 */
export function workOnFile<T>(
  db: Pick<Database, 'transaction'>,
  statementId: string,
  work: (trx: Transaction, file: BankFile) => Promise<T>,
): Promise<T | false> {
  return db.transaction(async (trx) => {
    await takeTurn(trx, statementId);
    const file = await readBankFile(trx, statementId);
    return file.status === 'processing' && (await work(trx, file));
  });
}
