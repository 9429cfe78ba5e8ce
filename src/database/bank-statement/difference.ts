import type { Difference, Direction, Known, StatementLine } from '../../domain/books/bank-statement';
import { rows, type Executor, type Transaction } from '../connection';
import { jsonOf } from '../json';
import { sweep } from '../sweep';
import { PAGE_LINES, type Statement } from './statement';

/** What is different between a statement and the network, line by line. */

/** What is not said of it is left out. */
export interface NewDifference {
  position: number;
  difference: Difference;
  line?: number;
  bankTransactionId?: string | null;
  bookingDate?: string;
  direction?: Direction;
  amount?: bigint;
  currency?: string;
  reference?: string | undefined;
  networkReference?: string | undefined;
  networkAmount?: bigint;
  networkCurrency?: string;
  exceptionId?: string | undefined;
  problem?: string;
}

/** What a line says. */
export const stated = ({ reference, ...line }: StatementLine) => ({
  ...line,
  reference: reference ?? undefined,
});

/** What the network has of it. */
export const networks = ({ amount, currency, reference, settled }: Known) => ({
  networkReference: reference ?? undefined,
  ...(settled && amount > 0n && { networkAmount: amount, networkCurrency: currency }),
});

/** Files that are linked to one exception: a week of wrong ones does not hide the right one. */
const LINKED_FILES = 7;

/** The type of each field, in the database. */
const FIELDS = `position int, difference text, line int, "bankTransactionId" text, "bookingDate" date, direction text,
  amount bigint, currency text, reference text, "networkReference" text, "networkAmount" bigint, "networkCurrency" text,
  "exceptionId" text, problem text`;

/**
 * Keeps the differences of a page. Each that opens an exception is a row, and links its file to it;
 * so does each of a few later files. The rest stands together, and goes some weeks later.
 *
 * @param position where the page begins
 */
export async function keepDifferences(
  trx: Transaction,
  statementId: string,
  position: number,
  differences: NewDifference[],
): Promise<void> {
  const named = differences.flatMap(({ difference, exceptionId }) =>
    exceptionId === undefined || difference === 'duplicate' ? [] : [exceptionId],
  );
  const full = new Set(named.length === 0 ? [] : await oftenLinked(trx, named));
  const isLink = ({ difference, exceptionId }: NewDifference) =>
    exceptionId !== undefined && difference !== 'duplicate' && !full.has(exceptionId);
  await writeDifferences(trx, statementId, differences.filter(isLink));
  const counted = differences.filter((one) => !isLink(one));
  if (counted.length === 0) return;
  const unread = counted.flatMap(({ difference, bankTransactionId }) =>
    difference === 'malformed' ? (bankTransactionId ?? []) : [],
  );
  await rows(
    trx,
    `INSERT INTO bank_statement_counted (statement_id, position, differences, unread)
     VALUES (:statementId, :position, :counted, :unread)`,
    { statementId, position, counted: jsonOf(counted), unread: unread.length > 0 ? unread : null },
  );
}

async function oftenLinked(trx: Transaction, exceptionIds: string[]): Promise<string[]> {
  const linked = await rows<{ id: string }>(
    trx,
    `SELECT exception_id AS id FROM bank_statement_differences WHERE exception_id = ANY(:exceptionIds)
     GROUP BY 1 HAVING count(*) >= ${LINKED_FILES}`,
    { exceptionIds },
  );
  return linked.map(({ id }) => id);
}

/** Writes rows; the same again is there already. */
export async function writeDifferences(
  trx: Transaction,
  statementId: string,
  differences: NewDifference[],
): Promise<void> {
  if (differences.length === 0) return;
  await rows(
    trx,
    `INSERT INTO bank_statement_differences (statement_id, position, difference, line, bank_transaction_id, booking_date,
       direction, amount, currency, reference, network_reference, network_amount, network_currency, exception_id, problem)
     SELECT :statementId, d.position, d.difference, d.line, d."bankTransactionId", d."bookingDate", d.direction, d.amount,
       d.currency, d.reference, d."networkReference", d."networkAmount", d."networkCurrency", d."exceptionId", d.problem
     FROM jsonb_to_recordset(:differences::jsonb) AS d (${FIELDS})
     ON CONFLICT DO NOTHING`,
    {
      statementId,
      differences: jsonOf(differences),
    },
  );
}

/** A bank that books by the month has looked at them by then. */
const COUNTED_KEPT_DAYS = 35;

/** Deletes what was counted long ago, and is no exception. @returns whether there may be more */
export function deleteCounted(db: Executor): Promise<boolean> {
  return sweep(
    db,
    'bank_statement_counted',
    'statement_id, position',
    `counted_at < (SELECT clock_timestamp()) - interval '${COUNTED_KEPT_DAYS} days' ORDER BY counted_at`,
  );
}

/** One difference, as the file of them has it. */
export interface DifferenceRecord {
  position: number;
  line: number | null;
  difference: Difference;
  bankTransactionId: string | null;
  bookingDate: string | null;
  direction: Direction | null;
  amount: bigint | null;
  currency: string | null;
  reference: string | null;
  networkReference: string | null;
  networkAmount: bigint | null;
  networkCurrency: string | null;
  exceptionId: string | null;
  problem: string | null;
}

/** Positions of the file that are read at once: most have no difference. */
const EXPORT_PAGE = 5_000;

/** The differences found so far, in the order of the file; what is missing comes last. */
export async function* readDifferences(
  db: Executor,
  { statementId, summary: { lines, missingAtBank } }: Pick<Statement, 'statementId' | 'summary'>,
): AsyncGenerator<DifferenceRecord[], void, void> {
  for (let from = 0; from < lines + missingAtBank; from += EXPORT_PAGE) {
    yield await rows<DifferenceRecord>(
      db,
      `SELECT position, line, difference, bank_transaction_id AS "bankTransactionId",
         booking_date::text AS "bookingDate", direction, amount::bigint, currency, reference,
         network_reference AS "networkReference", network_amount::bigint AS "networkAmount",
         network_currency AS "networkCurrency", exception_id AS "exceptionId", problem
       FROM bank_statement_differences WHERE statement_id = :statementId AND position >= :from AND position < :to
       UNION ALL
       SELECT d.position, d.line, d.difference, d."bankTransactionId", d."bookingDate"::text, d.direction, d.amount, d.currency,
         d.reference, d."networkReference", d."networkAmount", d."networkCurrency", d."exceptionId", d.problem
       FROM bank_statement_counted c, jsonb_to_recordset(c.differences) AS d (${FIELDS})
       WHERE c.statement_id = :statementId AND c.position > :from - ${PAGE_LINES} AND c.position < :to
         AND d.position >= :from AND d.position < :to
       ORDER BY position`,
      { statementId, from, to: from + EXPORT_PAGE },
    );
  }
}
