import type { Difference, Direction } from '../../domain/books/bank-statement';
import { row, rows, type Executor, type Transaction } from '../connection';
import { jsonOf } from '../json';
import {
  countExceptions,
  lockCharges,
  openStatementExceptions,
  type StatementException,
} from '../reconciliation-exception/statement';
import { SWEEP } from '../sweep';
import { lockStatement, type Matching } from './match';

/** What is different between a file and the network, line by line; what is missing comes last. */

/** A difference, as the file of them has it; what is not said of it is left out. */
export interface DifferenceRecord {
  difference: Difference;
  line?: number;
  bankTransactionId?: string;
  bookingDate?: string;
  direction?: Direction;
  /** Minor units, as text: exact in JSON. */
  amount?: string;
  currency?: string;
  reference?: string;
  networkReference?: string;
  networkAmount?: string;
  networkCurrency?: string;
  /** The charge and the refund that it is about. */
  billingRequestId?: string;
  refundId?: string;
  exceptionId?: string;
  problem?: string;
}

/**
 * Opens the exceptions of the next page that has some to open.
 *
 * @returns whether there was such a page
 */
export async function openNextExceptions(
  { db, keyring, workflowId }: Matching,
  statementId: string,
): Promise<boolean> {
  return db.transaction(async (trx) => {
    const { bankId, exceptions } = await lockStatement(trx, statementId);
    const page = await row<{ position: number; differences: DifferenceRecord[] }>(
      trx,
      `SELECT position, differences FROM bank_statement_differences
       WHERE statement_id = :statementId AND NOT opened ORDER BY position LIMIT 1`,
      { statementId },
    );
    if (!page) return false;
    const { position, differences } = page;
    const toOpen = differences.flatMap((one) => {
      const exception = exceptionOf(one);
      return exception ? [{ one, exception }] : [];
    });
    await lockCharges(
      trx,
      toOpen.flatMap(({ exception }) => exception.billingRequestId ?? []),
    );
    const opened = await openStatementExceptions(
      trx,
      keyring,
      bankId,
      toOpen.map(({ exception }) => exception),
      workflowId,
      exceptions,
    );
    const named = new Map(toOpen.map(({ one }, n) => [one, opened[n]?.exceptionId]));
    await rows(
      trx,
      `UPDATE bank_statement_differences SET differences = :differences, opened = true
       WHERE statement_id = :statementId AND position = :position`,
      {
        statementId,
        position,
        differences: jsonOf(differences.map((one) => ({ ...one, exceptionId: named.get(one) }))),
      },
    );
    await countExceptions(trx, statementId, opened);
    return true;
  });
}

function exceptionOf(one: DifferenceRecord): StatementException | undefined {
  const { difference: kind, bankTransactionId, direction, amount, currency } = one;
  if (kind !== 'unknown_here' && kind !== 'amount_differs') return undefined;
  if (!bankTransactionId || !direction || !amount || !currency) return undefined;
  const isUnknown = kind === 'unknown_here';
  return {
    kind,
    bankTransactionId,
    direction,
    // What is unknown here belongs to its bank, and to no charge, whatever it looks like.
    billingRequestId: isUnknown ? null : (one.billingRequestId ?? null),
    refundId: isUnknown ? null : (one.refundId ?? null),
    reference: isUnknown ? (one.reference ?? null) : null,
    amount: isUnknown ? BigInt(amount) : one.networkAmount === undefined ? null : BigInt(one.networkAmount),
    currency: isUnknown ? currency : (one.networkCurrency ?? null),
    bookedAmount: BigInt(amount),
    bookedCurrency: currency,
  };
}

/** @param position of the first one, counted as lines of the file are */
export async function keepDifferences(
  trx: Transaction,
  statementId: string,
  position: number,
  differences: DifferenceRecord[],
): Promise<void> {
  await rows(
    trx,
    `INSERT INTO bank_statement_differences (statement_id, position, differences, opened)
     VALUES (:statementId, :position, :differences, true)`,
    { statementId, position, differences: jsonOf(differences) },
  );
}

/** A bank that books by the month has looked at its differences by then. */
const KEPT_DAYS = 35;

/** Deletes what was counted long ago, and is no exception. @returns whether there may be more */
export async function deleteCounted(db: Executor): Promise<boolean> {
  const old = await rows(
    db,
    `WITH old AS (
       SELECT statement_id, position, (
         SELECT jsonb_agg(d ORDER BY n) FROM jsonb_array_elements(differences) WITH ORDINALITY AS e (d, n)
         WHERE d ? 'exceptionId') AS kept
       FROM bank_statement_differences
       WHERE counted_at < (SELECT clock_timestamp()) - interval '${KEPT_DAYS} days' AND opened
       ORDER BY counted_at LIMIT ${SWEEP} FOR UPDATE SKIP LOCKED),
     gone AS (
       DELETE FROM bank_statement_differences d USING old
       WHERE d.statement_id = old.statement_id AND d.position = old.position AND old.kept IS NULL),
     shortened AS (
       UPDATE bank_statement_differences d SET differences = old.kept, counted_at = 'infinity' FROM old
       WHERE d.statement_id = old.statement_id AND d.position = old.position AND old.kept IS NOT NULL)
     SELECT FROM old`,
  );
  return old.length === SWEEP;
}

/** The differences found so far, in the order of the file. */
export async function* readDifferences(
  db: Executor,
  statementId: string,
): AsyncGenerator<DifferenceRecord[], void, void> {
  for (let after = -1; ;) {
    const page = await row<{ position: number; differences: DifferenceRecord[] }>(
      db,
      `SELECT position, differences FROM bank_statement_differences
       WHERE statement_id = :statementId AND position > :after ORDER BY position LIMIT 1`,
      { statementId, after },
    );
    if (!page) return;
    yield page.differences;
    after = page.position;
  }
}
