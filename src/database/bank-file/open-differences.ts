import type { Difference } from '../../domain/books/bank-file';
import { isReference } from '../../domain/identifier/reference';
import type { Executor, Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { recordsOf } from '../pool/json';
import {
  openExceptions,
  type BookingInDoubt,
  type NewException,
} from '../reconciliation-exception/open-exceptions';
import { SWEEP } from '../query/sweep';
import { lockCharges } from '../agreement/agreement';
import type { Matching } from './match-lines';
import { workOnFile } from './receive-bank-file';

/**
 * The differences between a bank file and the network, line by line; missing bookings come last.
 * They are stored in pages, and become exceptions once all are known.
 */

export const DIFFERENCE_COLUMNS = [
  'line',
  'difference',
  'bankTransactionId',
  'bookingDate',
  'direction',
  'amount',
  'currency',
  'reference',
  'networkReference',
  'networkAmount',
  'networkCurrency',
  'exceptionId',
  'problem',
] as const;

/**
 * A difference; fields that do not apply are left out. Amounts are minor units, as text: exact in
 * JSON.
 */
type DifferenceRecord = { line?: number } & Partial<
  Record<Exclude<(typeof DIFFERENCE_COLUMNS)[number], 'line'>, string>
>;

/**
 * Differences of a file that become exceptions: more than people look into. Each costs some
 * kilobytes and two webhooks, and a file of another account has a difference for each of its lines.
 */
const OF_FILE = 1_000;
/** Unresolved exceptions of a bank: more than its people ever end. */
const OF_BANK = 10_000;

/** The order of opening: differences that hold money of merchants come first. */
const OPENING_ORDER: readonly (readonly Difference[])[] = [
  ['amount_differs', 'missing_at_bank'],
  ['unknown_here'],
];

/** Differences of one transaction: opening an exception takes some milliseconds. */
const LOOKED_AT = 500;

/** The place of a difference: its page, and its position in the page from 1. */
interface Place {
  position: number;
  n: number;
}

type Found = Place & NewException & BookingInDoubt & { networkReference: string | null };

/**
 * Opens the exceptions of a file, as long as there is room. After a restart it goes on with the
 * differences that have none.
 */
export async function openDifferences(matching: Matching, statementId: string): Promise<void> {
  for (const kinds of OPENING_ORDER) {
    let after: Place | false = { position: -1, n: 0 };
    while (after) {
      after = await openNext(matching, statementId, kinds, after);
      matching.heartbeat();
    }
  }
}

/** @returns the last place that it looked at; false if none is left */
function openNext(
  { db, workflowId }: Matching,
  statementId: string,
  kinds: readonly Difference[],
  after: Place,
): Promise<Place | false> {
  return workOnFile(db, statementId, async (trx, { bankId, exceptions }) => {
    const found = await trx.rows<Found>`
      SELECT d.position, e.n::int, o.difference AS kind, o."billingRequestId", o."refundId", ${bankId} AS bank_id,
        o."bankTransactionId", o.direction, o."networkAmount" AS amount, o."networkCurrency" AS currency,
        o.amount AS booked_amount, o.currency AS booked_currency, o.reference, o."bookingDate" AS booked_on,
        o."isReversal", ${statementId} AS reported_in, o."networkReference"
      FROM bank_file_differences d, jsonb_array_elements(d.differences) WITH ORDINALITY AS e (one, n),
        jsonb_to_record(e.one) AS o (difference text, "billingRequestId" text, "refundId" text, "bankTransactionId" text,
          direction text, amount bigint, currency text, reference text, "bookingDate" text, "networkAmount" bigint,
          "networkCurrency" text, "networkReference" text, "isReversal" boolean, "exceptionId" text)
      WHERE d.statement_id = ${statementId} AND d.position >= ${after.position}
        AND (d.position, e.n) > (${after.position}, ${after.n})
        AND o.difference = ANY(${kinds}) AND o."exceptionId" IS NULL
      ORDER BY d.position, e.n LIMIT ${raw(LOOKED_AT)}`;
    const charges = found.map(({ billingRequestId }) => billingRequestId);
    await lockCharges(trx, charges);
    const there = await findThere(trx, bankId, found);
    const room = await roomFor(trx, bankId, exceptions);
    const fresh = found.filter((_, n) => there[n]?.isNew === true).slice(0, room);
    const named = fresh.map((one) => ({ ...one, reference: ownReference(one) }));
    const opened = await openExceptions(trx, 'bank', named, workflowId);
    const idOf = new Map(fresh.flatMap((of, n) => (opened.has(n) ? [[subjectOf(of), opened.get(n)]] : [])));
    const looked = found.map((one, at) => ({
      ...one,
      exceptionId: there[at]?.exceptionId ?? idOf.get(subjectOf(one)),
    }));
    // A booking without room is marked for the bank's next file to report again.
    await trx.rows`
  WITH looked AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(${recordsOf(looked)}::jsonb) AS d
      (position int, n int, exception_id text, kind text, bank_transaction_id text, network_reference text, direction text)),
  told AS (
    UPDATE reconciliation_exceptions x SET reported_in = ${statementId}, first_reported_in = coalesce(first_reported_in, ${statementId})
    WHERE x.id IN (SELECT exception_id FROM looked) AND x.reported_in IS DISTINCT FROM ${statementId}),
  counted AS (
    UPDATE bank_files SET exceptions = exceptions + ${opened.size} WHERE id = ${statementId}),
  unreported AS (
    UPDATE expected_bookings e SET reported_in = NULL FROM looked d
    WHERE d.exception_id IS NULL AND ${isBooking(bankId)} AND e.reported_in = ${statementId})
  UPDATE bank_file_differences d SET differences = (
    SELECT jsonb_agg(e.one || jsonb_strip_nulls(jsonb_build_object('exceptionId', l.exception_id)) ORDER BY e.n)
    FROM jsonb_array_elements(d.differences) WITH ORDINALITY AS e (one, n)
      LEFT JOIN looked l ON l.position = d.position AND l.n = e.n)
  WHERE d.statement_id = ${statementId}
    AND d.position IN (SELECT position FROM looked WHERE exception_id IS NOT NULL)`;
    // Unknown lines without room hold nothing back; a missing booking is to be reported again.
    const isFull = opened.size === room && kinds.includes('unknown_here');
    return !isFull && found.length === LOOKED_AT && (found.at(-1) ?? false);
  });
}

const ownReference = ({ reference }: Found) =>
  reference !== null && isReference(reference) ? reference : null;

/** Differences of a charge or a refund share an exception; every other line has its own. */
const subjectOf = (of: NewException): unknown =>
  of.billingRequestId === null ? of : `${of.billingRequestId} ${of.refundId ?? ''}`;

/** SQL: the booking `e` that a difference `d` is about. Its line may be on the other side. */
const isBooking = (bankId: string) => sql`
  e.bank_id = ${bankId}
  AND e.identified_by = CASE WHEN d.bank_transaction_id IS NULL THEN 'reference' ELSE 'bankTransactionId' END
  AND e.identifier = coalesce(d.bank_transaction_id, d.network_reference)
  AND (d.kind <> 'missing_at_bank' OR e.direction = d.direction)`;

/**
 * The exception that a difference has already: the unresolved one of its charge or refund, or one
 * of the same line, even if resolved. No exception is opened for a booking that another file has
 * matched meanwhile, or whose money was found not to have moved. A line of a charge or refund was
 * judged with it (`judge-bookings.ts`).
 */
function findThere(
  trx: Transaction,
  bankId: string,
  found: readonly Found[],
): Promise<{ exceptionId: string | null; isNew: boolean }[]> {
  return trx.rows`
  SELECT x.id AS exception_id, x.id IS NULL AND NOT EXISTS (
    SELECT FROM expected_bookings e WHERE d.kind <> 'unknown_here' AND ${isBooking(bankId)}
      AND (e.ended_at IS NOT NULL OR (d.kind = 'missing_at_bank' AND e.matched_by IS NOT NULL)))
    AND NOT (d.kind = 'unknown_here' AND d.billing_request_id IS NOT NULL) AND NOT EXISTS (
      SELECT FROM extra_bookings e WHERE e.bank_id = ${bankId} AND (e.bank_transaction_id, e.direction, e.amount, e.currency)
        = (d.bank_transaction_id, d.direction, d.booked_amount, d.booked_currency) AND CASE d.kind
          WHEN 'unknown_here' THEN e.booked_on = d.booked_on
          -- Its booking became an extra one, which it has taken back.
          ELSE d.kind = 'amount_differs' AND NOT e.is_extra AND e.counterpart_id IS NOT NULL END) AS is_new
  FROM jsonb_to_recordset(${recordsOf(found)}::jsonb) AS d (position int, n int, kind text, billing_request_id text, refund_id text,
      bank_transaction_id text, direction text, booked_amount bigint, booked_currency text, booked_on date, network_reference text),
    LATERAL (SELECT coalesce(
      (SELECT x.id FROM reconciliation_exceptions x WHERE x.billing_request_id = d.billing_request_id
         AND x.refund_id IS NOT DISTINCT FROM d.refund_id AND x.state <> 'resolved'),
      (SELECT x.id FROM reconciliation_exceptions x
       WHERE x.bank_id = ${bankId} AND x.bank_transaction_id = d.bank_transaction_id AND x.kind = d.kind
         AND NOT x.withdrawn AND (x.kind IN ('missing_at_bank', 'amount_differs')
           OR (x.kind = 'unknown_here' AND x.billing_request_id IS NULL)) AND x.direction = d.direction
         AND x.booked_amount IS NOT DISTINCT FROM d.booked_amount AND x.booked_currency IS NOT DISTINCT FROM d.booked_currency
         AND x.billing_request_id IS NOT DISTINCT FROM d.billing_request_id AND x.refund_id IS NOT DISTINCT FROM d.refund_id))
      AS id) AS x
  ORDER BY d.position, d.n`;
}

/** @param ofFile exceptions that the file has opened before */
export async function roomFor(trx: Transaction, bankId: string, ofFile: number): Promise<number> {
  const { unresolved } = await trx.oneRow<{ unresolved: number }>`
    SELECT count(*)::int AS unresolved FROM (
    SELECT FROM reconciliation_exceptions x
    WHERE x.state <> 'resolved' AND x.kind IN ('unknown_here', 'missing_at_bank', 'amount_differs')
      AND ${bankId} IN (x.bank_id, x.payee_bank_id)
      -- Counts for the file's bank alone: what has no id is the payee's bank's.
      AND ${bankId} = CASE WHEN x.bank_transaction_id IS NULL THEN x.payee_bank_id ELSE x.bank_id END
    LIMIT ${raw(OF_BANK)}) AS all_of_bank`;
  return Math.max(0, Math.min(OF_FILE - ofFile, OF_BANK - unresolved));
}

/**
 * Ends the work on a file. The file has failed if it has lines that no page has: a restored back-up
 * lost them.
 */
export async function completeBankFile({ db, heartbeat }: Matching, statementId: string): Promise<void> {
  while (await deleteReported(db, statementId)) heartbeat();
  await workOnFile(db, statementId, async (trx, { done, summary }) => {
    const status = done < summary.lines ? 'failed' : 'completed';
    await trx.rows`
      UPDATE bank_files SET status = ${status}, ended_at = clock_timestamp() WHERE id = ${statementId}`;
  });
}

/** Lines that one SQL statement deletes: a tenth of a second. */
const FORGOTTEN_AT_ONCE = 10_000;

/** No line is matched any more, so no line is a duplicate. @returns whether there may be more */
async function deleteReported(db: Executor, statementId: string): Promise<boolean> {
  const gone = await db.rows`
    DELETE FROM bank_file_reported WHERE (statement_id, line_hash) IN (
      SELECT statement_id, line_hash FROM bank_file_reported WHERE statement_id = ${statementId}
      LIMIT ${raw(FORGOTTEN_AT_ONCE)})
    RETURNING true`;
  return gone.length === FORGOTTEN_AT_ONCE;
}

/** Until then a customer may dispute a direct debit that it did not allow, as in SEPA's scheme. */
const KEPT_MONTHS = 13;

/**
 * Deletes differences after `KEPT_MONTHS`, unless they are exceptions.
 *
 * @returns whether there may be more
 */
export async function deleteCounted(db: Executor): Promise<boolean> {
  const old = await db.rows`
    WITH old AS (
      SELECT statement_id, position, (
        SELECT jsonb_agg(d ORDER BY n) FROM jsonb_array_elements(differences) WITH ORDINALITY AS e (d, n)
        WHERE d ? 'exceptionId') AS kept
      FROM bank_file_differences
      WHERE counted_at < (SELECT clock_timestamp()) - interval '${raw(KEPT_MONTHS)} months'
      ORDER BY counted_at LIMIT ${raw(SWEEP)} FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM bank_file_differences d USING old
      WHERE d.statement_id = old.statement_id AND d.position = old.position AND old.kept IS NULL),
    shortened AS (
      UPDATE bank_file_differences d SET differences = old.kept, counted_at = 'infinity' FROM old
      WHERE d.statement_id = old.statement_id AND d.position = old.position AND old.kept IS NOT NULL)
    SELECT FROM old`;
  return old.length === SWEEP;
}

export async function* readDifferences(
  db: Executor,
  statementId: string,
): AsyncGenerator<DifferenceRecord[], void, void> {
  for (let after = -1; ;) {
    const page = await db.row<{ position: number; differences: DifferenceRecord[] }>`
      SELECT position, differences FROM bank_file_differences
      WHERE statement_id = ${statementId} AND position > ${after} ORDER BY position LIMIT 1`;
    if (!page) return;
    yield page.differences;
    after = page.position;
  }
}
