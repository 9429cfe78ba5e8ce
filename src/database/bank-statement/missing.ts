import { BOOKED_WITHIN_DAYS, type Direction } from '../../domain/books/bank-statement';
import { oneRow, row, rows, type Transaction } from '../connection';
import {
  lockCharges,
  openStatementExceptions,
  type StatementException,
} from '../reconciliation-exception/statement';
import type { Matching } from './answer';
import { keepDifferences } from './difference';
import { isLetOff, isNoted, isListedStill } from './known';
import { lockStatement } from './match';
import { countExceptions, EXCEPTIONS_OF_FILE } from './statement';

/**
 * What settled here in the days of a statement, and is in no statement of the bank so far.
 *
 * The ledger says what has settled, and on which day. Only currencies of the file are looked for,
 * for a bank may have a file for each; and only what was there before the file, for what settles
 * meanwhile is in the next.
 */

/**
 * Entries of the ledger, of all banks, that one transaction looks at: some milliseconds. Should all
 * be missing, it holds the clock of as many merchants (`settling_now`), of the 6 400 locks that
 * Postgres has room for as it comes.
 */
const PAGE_ENTRIES = 1_000;

interface Missing {
  billingRequestId: string;
  refundId: string | null;
  reference: string;
  /** Null of a credit at the payee's bank, which has an id of its own for it. */
  bankTransactionId: string | null;
  direction: Direction;
  amount: bigint;
  currency: string;
  held: bigint;
}

/**
 * Looks at the next page of the ledger. With the last one the statement is completed.
 *
 * @returns how many entries were looked at; undefined where all were
 */
export async function findMissing(
  { db, keyring, workflowId }: Matching,
  statementId: string,
): Promise<number | undefined> {
  return db.transaction(async (trx) => {
    const { bankId, status, done, lines, exceptions } = await lockStatement(trx, statementId);
    if (status !== 'processing') return undefined;
    if (done < lines) {
      // Nobody can judge what is not there any more.
      await end(trx, statementId, 'failed');
      return undefined;
    }
    const page = await oneRow<{ checked: number; day: string; entryId: bigint }>(trx, NEXT_ENTRIES, {
      statementId,
      limit: PAGE_ENTRIES,
    });
    const missing =
      page.checked === 0 ? [] : await rows<Missing>(trx, MISSING, { statementId, bankId, ...page });
    await lockCharges(
      trx,
      missing.map((one) => one.billingRequestId),
    );
    const opened = await openStatementExceptions(
      trx,
      keyring,
      bankId,
      missing.map((one): StatementException => ({
        ...one,
        kind: 'missing_at_bank',
        bookedAmount: null,
        bookedCurrency: null,
        reference: null,
      })),
      workflowId,
      EXCEPTIONS_OF_FILE - exceptions,
    );
    await countExceptions(trx, statementId, opened.filter(({ isNew }) => isNew).length);
    const before = await counted(trx, statementId, missing.length, page);
    await keepDifferences(
      trx,
      statementId,
      lines + before,
      missing.map(({ bankTransactionId, direction, amount, currency, reference }, n) => ({
        // After all lines.
        position: lines + before + n,
        difference: 'missing_at_bank',
        bankTransactionId,
        direction,
        networkReference: reference,
        networkAmount: amount,
        networkCurrency: currency,
        exceptionId: opened[n]?.exceptionId,
      })),
    );
    if (page.checked < PAGE_ENTRIES) {
      await end(trx, statementId, 'completed');
      return undefined;
    }
    return page.checked;
  });
}

/**
 * The statement `s`, and the days it is about: those of its lines, and those that the bank says it
 * covers. A line that is unknown here stands for its day only near those that are known, for its
 * year may be wrong; where none is known, there is nothing better to go by.
 */
const OF_DAYS = `(
    SELECT *, least(covered_from, known_first_day, (SELECT min(day) FROM unnest(unknown_days) AS u (day)
        WHERE known_first_day IS NULL OR day >= known_first_day - ${BOOKED_WITHIN_DAYS})) AS first,
      greatest(covered_through, known_last_day, (SELECT max(day) FROM unnest(unknown_days) AS u (day)
        WHERE known_last_day IS NULL OR day <= known_last_day + ${BOOKED_WITHIN_DAYS})) AS last
    FROM bank_statements WHERE id = :statementId) AS s`;

/** Where the next page ends. */
const NEXT_ENTRIES = `
  WITH page AS (
    SELECT e.settlement_day, e.id FROM ${OF_DAYS} JOIN ledger_entries e
      ON e.settlement_day BETWEEN s.first AND s.last
      AND (e.settlement_day, e.id) > (s.ledger_day, s.ledger_entry_id)
    ORDER BY e.settlement_day, e.id LIMIT :limit)
  SELECT count(*)::int AS checked,
    (SELECT settlement_day::text FROM page ORDER BY settlement_day DESC, id DESC LIMIT 1) AS day,
    (SELECT id FROM page ORDER BY settlement_day DESC, id DESC LIMIT 1) AS "entryId"
  FROM page`;

/**
 * Of these entries, those of the bank that it would have booked. A charge that it was let off, as
 * its money never moved or the network bears it, is nowhere; nor is a reversal of it, for which the
 * bank has no id. What a file had before the bank's answer is unknown here until \`reconcile\` has
 * seen that it is not, or differs in its amount, and is missing no more than that; by the word of
 * files that were not dismissed, be it that the difference was resolved before one was. A refund
 * that is returned is missing nowhere: its bank has said what became of it. What the
 * file has in a line of too many fields is not lacked by it, whatever that line says.
 *
 * Of a payment between customers the payee's bank has the credit, from the day that it was told of
 * the money. It is known by its reference alone. What was reversed since need not be credited.
 */
const MISSING = `
  WITH page AS MATERIALIZED (
    SELECT e.id, e.kind, e.resource_id, s.currencies FROM ${OF_DAYS} JOIN ledger_entries e
      ON e.settlement_day BETWEEN s.first AND s.last
      AND (e.settlement_day, e.id) > (s.ledger_day, s.ledger_entry_id)
      AND (e.settlement_day, e.id) <= (:day::date, :entryId)
      AND e.recorded_at <= s.recorded_at),
  ours AS (
    SELECT p.id, p.currencies, b.id AS key, b.id AS charge, NULL AS refund, b.reference, b.bank_transaction_id, 'debit' AS direction,
      b.amount::bigint AS amount, b.currency, b.amount::bigint AS held, false AS to_customer
    FROM page p JOIN billing_requests b ON b.id = p.resource_id AND b.bank_id = :bankId
    WHERE p.kind = 'charge' AND NOT ${isLetOff('b.id')}
    UNION ALL
    SELECT p.id, p.currencies, r.id, r.billing_request_id, r.id, r.reference, r.bank_transaction_id, 'credit', r.amount::bigint,
      r.currency, 0, false
    FROM page p JOIN refunds r ON r.id = p.resource_id AND r.bank_id = :bankId
    WHERE p.kind = 'refund' AND r.status = 'completed'
    UNION ALL
    SELECT p.id, p.currencies, v.exception_id, v.billing_request_id, NULL, v.reference, v.bank_transaction_id, 'credit',
      v.amount::bigint, v.currency, 0, false
    FROM page p JOIN reversals v ON v.transaction_id = p.resource_id AND v.bank_id = :bankId
    WHERE p.kind = 'reversal' AND v.refund_id IS NULL
    UNION ALL
    SELECT p.id, p.currencies, b.id || '/credit', b.id, NULL, b.reference, NULL, 'credit', b.amount::bigint, b.currency, 0, true
    FROM page p JOIN billing_requests b ON b.id = p.resource_id AND b.payee_bank_id = :bankId
    WHERE p.kind = 'credit' AND b.reversed_amount = 0)
  SELECT charge AS "billingRequestId", refund AS "refundId", reference, bank_transaction_id AS "bankTransactionId",
    direction, amount, currency, held
  FROM ours
  WHERE (bank_transaction_id IS NOT NULL OR to_customer) AND currency = ANY(currencies)
    AND NOT ${isNoted('ours.key')}
    AND (bank_transaction_id IN (
      SELECT unnest(c.unread) FROM bank_statement_counted c WHERE c.statement_id = :statementId)) IS NOT TRUE
    AND NOT EXISTS (
      SELECT FROM reconciliation_exceptions u
      WHERE u.bank_id = :bankId AND u.bank_transaction_id = ours.bank_transaction_id AND u.direction = ours.direction
        AND u.kind IN ('unknown_here', 'amount_differs') AND ${isListedStill('u.id')} AND CASE u.kind
          WHEN 'unknown_here' THEN u.booked_amount = ours.amount AND u.booked_currency = ours.currency AND u.state <> 'resolved'
          WHEN 'amount_differs' THEN u.billing_request_id = ours.charge AND u.refund_id IS NOT DISTINCT FROM ours.refund
        END)
  ORDER BY id`;

/** @returns how many were counted before */
async function counted(
  trx: Transaction,
  statementId: string,
  more: number,
  { checked, day, entryId }: { checked: number; day: string; entryId: bigint },
): Promise<number> {
  const after = await row<{ missing: number }>(
    trx,
    `UPDATE bank_statements SET missing_at_bank = missing_at_bank + :more,
       ledger_day = CASE WHEN :checked = 0 THEN ledger_day ELSE :day::date END,
       ledger_entry_id = CASE WHEN :checked = 0 THEN ledger_entry_id ELSE :entryId END
     WHERE id = :statementId RETURNING missing_at_bank AS missing`,
    { statementId, more, checked, day, entryId },
  );
  if (!after) throw new Error(`there is no ${statementId}`);
  return after.missing - more;
}

async function end(trx: Transaction, statementId: string, status: 'completed' | 'failed'): Promise<void> {
  await rows(
    trx,
    `UPDATE bank_statements SET status = :status, ended_at = clock_timestamp() WHERE id = :statementId`,
    { statementId, status },
  );
  await rows(trx, `DELETE FROM bank_statement_told WHERE statement_id = :statementId`, { statementId });
}
