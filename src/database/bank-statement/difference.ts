import type { Difference, Direction, Known, StatementLine } from '../../domain/books/bank-statement';
import { rows, type Executor, type Transaction } from '../connection';
import { jsonOf } from '../json';
import { pages } from '../pages';

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

/** The same again is there already. */
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
     FROM jsonb_to_recordset(:differences::jsonb) AS d (position int, difference text, line int, "bankTransactionId" text,
       "bookingDate" date, direction text, amount bigint, currency text, reference text, "networkReference" text,
       "networkAmount" bigint, "networkCurrency" text, "exceptionId" text, problem text)
     ON CONFLICT DO NOTHING`,
    {
      statementId,
      differences: jsonOf(differences),
    },
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

/** Rows in memory at once while a file is made. */
const EXPORT_PAGE = 1_000;

/** The differences found so far, in the order of the file; what is missing comes last. */
export function readDifferences(
  db: Executor,
  statementId: string,
): AsyncGenerator<DifferenceRecord[], void, void> {
  return pages(
    EXPORT_PAGE,
    -1,
    (one) => one.position,
    (after) =>
      rows<DifferenceRecord>(
        db,
        `SELECT position, line, difference, bank_transaction_id AS "bankTransactionId",
           booking_date::text AS "bookingDate", direction, amount::bigint, currency, reference,
           network_reference AS "networkReference", network_amount::bigint AS "networkAmount",
           network_currency AS "networkCurrency", exception_id AS "exceptionId", problem
         FROM bank_statement_differences WHERE statement_id = :statementId AND position > :after
         ORDER BY position LIMIT :limit`,
        { statementId, after, limit: EXPORT_PAGE },
      ),
  );
}
