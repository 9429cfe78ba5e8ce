import type { Resolution } from '../../domain/books/reconciliation-exception';
import { lockCharges } from '../agreement/agreement';
import type { Executor } from '../pool/connection';
import { freeLines } from '../ledger/end-expected-booking';
import { raw, sql } from '../pool/statement';
import { endWithoutMoney } from '../reconciliation-exception/end-exceptions';
import { openExceptions, type NewException } from '../reconciliation-exception/open-exceptions';
import { takeBackWriteOff } from '../reversal/write-off-charge';
import { isUnsettled } from './place-lines';
import { placeUnknown, unknownLines, type Placed } from './place-unknown-lines';

/**
 * Judges what banks have booked of a charge and its refunds beside their expected bookings, from
 * the rows alone. So the end is the same in whatever order file, counterpart, answer and word come.
 *
 * An extra booking stands until its counterpart takes it back: one line of the whole amount on the
 * other side. While it stands the charge, or the refund, has an unresolved exception.
 */

/** Facts that only the end of a bank's file knows. */
interface FileEnd {
  /** Until when an extra booking is late, by currency; `*` is for all. */
  dueBy: ReadonlyMap<string, string>;
  /** Exceptions that may still be opened. */
  room: number;
  workflowId: string;
}

/**
 * Locks the charges, and judges them with their refunds.
 *
 * @returns how many exceptions it opened
 */
export async function judgeBookings(
  trx: Executor,
  billingRequestIds: string[],
  file?: FileEnd,
): Promise<number> {
  if (billingRequestIds.length === 0) return 0;
  await lockCharges(trx, billingRequestIds);
  const adopted = await adoptLines(trx, billingRequestIds);
  await moveDates(trx, billingRequestIds);
  await freeAnswered(trx, billingRequestIds);
  await bookOwnLines(trx, billingRequestIds);
  await takeBackWriteOffs(trx, billingRequestIds);
  await standBeside(trx, billingRequestIds);
  while (await pairNext(trx, billingRequestIds));
  const told = await tellUnpaired(trx, billingRequestIds, file);
  await endPlaced(trx, adopted);
  await endTakenBack(trx, billingRequestIds);
  return told + (await openStanding(trx, billingRequestIds, file && { ...file, room: file.room - told }));
}

/**
 * An answer, or an extra booking, explains lines of its bank that were unknown until now.
 */
async function adoptLines(trx: Executor, billingRequestIds: string[]): Promise<Placed[]> {
  const adopted: Placed[] = [];
  const named = await trx.rows<{ bankId: string; ids: string[]; references: string[] }>`
    WITH charge AS (SELECT * FROM billing_requests WHERE id = ANY(${billingRequestIds})),
    exception AS (SELECT x.* FROM reconciliation_exceptions x JOIN charge b ON b.id = x.billing_request_id),
    named AS (
      SELECT bank_id, bank_transaction_id AS id, NULL::text AS reference FROM charge
      UNION ALL SELECT r.bank_id, r.bank_transaction_id, NULL FROM refunds r JOIN charge b ON b.id = r.billing_request_id
      UNION ALL SELECT x.bank_id, a.bank_transaction_id, NULL FROM exception x JOIN exception_answers a ON a.exception_id = x.id
      UNION ALL SELECT bank_id, reversal_bank_transaction_id, NULL FROM exception
      UNION ALL SELECT e.bank_id, e.bank_transaction_id, e.reference FROM extra_bookings e
        JOIN charge b ON b.id = e.billing_request_id)
    SELECT bank_id, array_agg(DISTINCT id) AS ids,
      coalesce(array_agg(DISTINCT reference) FILTER (WHERE reference IS NOT NULL), '{}') AS references
    FROM named WHERE id IS NOT NULL GROUP BY bank_id`;
  for (const { bankId, ids, references } of named) {
    const which = sql`(x.bank_transaction_id = ANY(${ids}) OR x.reference = ANY(${references}))`;
    adopted.push(...(await placeUnknown(trx, bankId, unknownLines(bankId, which))));
  }
  return adopted;
}

/**
 * Ends exceptions of lines that have kept their place. A line whose pair breaks later is told anew.
 */
export async function endPlaced(trx: Executor, lines: Placed[]): Promise<void> {
  const exceptionIds = lines.flatMap((one) => (one.isPlaced && one.exceptionId) || []);
  if (exceptionIds.length === 0) return;
  const placed = await trx.rows<{ id: string }>`
    UPDATE reconciliation_exceptions x SET withdrawn = true
    WHERE id = ANY(${exceptionIds}) AND state <> 'resolved' AND (EXISTS (
        SELECT FROM extra_bookings e WHERE e.bank_id = x.bank_id AND (e.bank_transaction_id, e.direction, e.booked_on,
          e.amount, e.currency) = (x.bank_transaction_id, x.direction, x.booked_on, x.booked_amount, x.booked_currency))
      OR EXISTS (SELECT FROM (${BOOKED_AS_LINE}) AS e WHERE e.direction = x.direction AND e.matched_by IS NOT NULL))
    RETURNING id`;
  await endWithoutMoney(trx, 'network', placed, 'no_difference');
}

/** SQL: whether one of some files, and none of others, covers a day in a currency. */
const covers = (files: string, others: string, day: string, currency: string) => `EXISTS (
  SELECT FROM bank_files s WHERE s.id IN (${files}) AND s.id NOT IN (${others}) AND s.status <> 'withdrawn'
    AND ${day} BETWEEN s.begins AND greatest(s.reaches->>${currency}, s.reaches->>'*')::date)`;

const FILES_OF = (row: string) => `${row}.first_matched_by, ${row}.matched_by`;

/** SQL: the bookings whose lines have the id of a line `x`. */
const BOOKED_AS_LINE = raw(`
  SELECT * FROM expected_bookings o WHERE o.bank_id = x.bank_id AND o.booked_id = x.bank_transaction_id
  UNION ALL
  SELECT * FROM expected_bookings o WHERE o.bank_id = x.bank_id AND o.identified_by = 'bankTransactionId'
    AND o.identifier = x.bank_transaction_id AND o.booked_id IS NULL`);

/**
 * A line that two files have on different days is one line, on the day of the file that covers
 * both. Of two files at once, one may have kept as extra what the other has booked.
 */
async function moveDates(trx: Executor, billingRequestIds: string[]): Promise<void> {
  await trx.rows`
    WITH twice AS (
      SELECT DISTINCT ON (e.bank_id, e.identified_by, e.identifier, e.direction) e.bank_id, e.identified_by, e.identifier,
        e.direction, x.bank_transaction_id, x.booked_on, x.amount, x.currency, x.first_matched_by, x.matched_by, moves
      FROM extra_bookings x, LATERAL (${BOOKED_AS_LINE}) AS e,
        LATERAL (SELECT e.booked_on <> x.booked_on
          AND ${raw(covers(FILES_OF('x'), FILES_OF('e'), 'e.booked_on', 'e.currency'))} AS moves) AS m
      WHERE x.billing_request_id = ANY(${billingRequestIds}) AND x.counterpart_id IS NULL AND ${raw(ofSame('e', 'x'))}
        AND e.direction = x.direction AND (e.amount, e.currency) = (x.amount, x.currency) AND e.ended_at IS NULL
        AND (moves OR e.booked_on = x.booked_on OR ${raw(covers(FILES_OF('e'), FILES_OF('x'), 'x.booked_on', 'x.currency'))})),
    moved AS (
      UPDATE expected_bookings e SET booked_on = t.booked_on, first_matched_by = t.first_matched_by, matched_by = t.matched_by
      FROM twice t WHERE t.moves AND e.bank_id = t.bank_id AND e.identified_by = t.identified_by
        AND e.identifier = t.identifier AND e.direction = t.direction)
    DELETE FROM extra_bookings x USING twice t
    WHERE ${raw(isRow('x', 't'))}`;
}

/** SQL: whether an answer that did not settle the charge or refund of a line `x` named an id. */
const isAnswered = (id: string) => `EXISTS (
  SELECT FROM bank_transactions t WHERE t.bank_id = x.bank_id AND t.bank_transaction_id = ${id}
    AND t.resource_id = coalesce(x.refund_id, x.billing_request_id))`;

/** A line matched by its reference is extra once an answer that settled nothing names its id. */
async function freeAnswered(trx: Executor, billingRequestIds: string[]): Promise<void> {
  const which = sql`
    SELECT x.*, coalesce(r.reference, b.reference) AS reference
    FROM expected_bookings x JOIN billing_requests b ON b.id = x.billing_request_id LEFT JOIN refunds r ON r.id = x.refund_id
    WHERE x.billing_request_id = ANY(${billingRequestIds}) AND x.identified_by = 'bankTransactionId'
      AND x.booked_id IS NOT NULL AND ${raw(isAnswered('x.booked_id'))}`;
  await freeLines(trx, which, 'freed');
}

/**
 * A line that came before its charge or refund ended is its booking now: by its id, else by its
 * reference, unless its counterpart has taken it back.
 */
async function bookOwnLines(trx: Executor, billingRequestIds: string[]): Promise<void> {
  await trx.rows`
    WITH its AS (
      SELECT DISTINCT ON (e.bank_id, e.identified_by, e.identifier, e.direction) e.identified_by, e.identifier, x.*
      FROM extra_bookings x JOIN billing_requests b ON b.id = x.billing_request_id LEFT JOIN refunds r ON r.id = x.refund_id
        CROSS JOIN LATERAL (VALUES ('bankTransactionId', x.bank_transaction_id, true),
          ('bankTransactionId', CASE WHEN r.id IS NULL THEN b.bank_transaction_id ELSE r.bank_transaction_id END, false),
          ('reference', x.reference, false)) AS i (identified_by, identifier, is_by_id)
        JOIN expected_bookings e ON e.bank_id = x.bank_id AND e.identified_by = i.identified_by
          AND e.identifier = i.identifier AND (e.direction, e.amount, e.currency) = (x.direction, x.amount, x.currency)
          AND e.billing_request_id = x.billing_request_id AND e.matched_by IS NULL AND e.ended_at IS NULL
      WHERE x.billing_request_id = ANY(${billingRequestIds})
        AND (is_by_id OR (x.stands AND x.reference IS NOT NULL
          AND CASE i.identified_by WHEN 'reference' THEN NOT x.is_reversal
            ELSE NOT ${raw(isAnswered('x.bank_transaction_id'))} END))
      ORDER BY e.bank_id, e.identified_by, e.identifier, e.direction, is_by_id DESC, x.booked_on, x.bank_transaction_id),
    booked AS (
      UPDATE expected_bookings e SET first_matched_by = i.first_matched_by, matched_by = i.matched_by,
        booked_on = i.booked_on, booked_id = nullif(i.bank_transaction_id, e.identifier)
      FROM its i WHERE e.bank_id = i.bank_id AND e.identified_by = i.identified_by AND e.identifier = i.identifier
        AND e.direction = i.direction),
    alone AS (
      UPDATE extra_bookings x SET counterpart_id = NULL, counterpart_booked_on = NULL FROM its i
      WHERE ${raw(isCounterpart('x', 'i'))})
    DELETE FROM extra_bookings x USING its i WHERE ${raw(isRow('x', 'i'))}`;
}

/** A line of another amount settles nothing beside its booking's own line, or an earlier one. */
async function standBeside(trx: Executor, billingRequestIds: string[]): Promise<void> {
  await trx.rows`
    UPDATE extra_bookings x SET differs = false
    WHERE x.billing_request_id = ANY(${billingRequestIds}) AND x.differs AND (EXISTS (
        SELECT FROM expected_bookings e
        WHERE ${raw(IS_ITS_BOOKING)} AND (e.matched_by IS NOT NULL OR e.ended_at IS NOT NULL))
      OR EXISTS (
        SELECT FROM extra_bookings o WHERE (o.bank_id, o.bank_transaction_id, o.direction, o.billing_request_id)
          = (x.bank_id, x.bank_transaction_id, x.direction, x.billing_request_id) AND o.differs
          AND (o.booked_on, o.amount, o.currency) < (x.booked_on, x.amount, x.currency)))`;
}

/** A booking that was written off, and that a file has after all, takes the write-off back. */
async function takeBackWriteOffs(trx: Executor, billingRequestIds: string[]): Promise<void> {
  const booked = await trx.rows<{ billingRequestId: string; isDebit: boolean }>`
    UPDATE expected_bookings e SET written_off_at = NULL
    WHERE e.billing_request_id = ANY(${billingRequestIds}) AND e.written_off_at IS NOT NULL AND e.matched_by IS NOT NULL
    RETURNING e.billing_request_id, e.direction = 'debit' AS is_debit`;
  // The network bears debits alone.
  for (const { billingRequestId, isDebit } of booked)
    if (isDebit) await takeBackWriteOff(trx, billingRequestId);
}

/** SQL: the booking `e` that has the id of a line `x`. */
export const IS_ITS_BOOKING = `(e.bank_id, e.identified_by, e.identifier, e.direction, e.billing_request_id)
  = (x.bank_id, 'bankTransactionId', x.bank_transaction_id, x.direction, x.billing_request_id)`;

/** SQL */
function isRow(row: string, other: string): string {
  const key = ['bank_id', 'bank_transaction_id', 'direction', 'booked_on', 'amount', 'currency'];
  return key.map((column) => `${row}.${column} = ${other}.${column}`).join(' AND ');
}

/** SQL: rows of a pair. */
export const isCounterpart = (row: string, other: string) => `
  ${row}.bank_id = ${other}.bank_id AND (${row}.bank_transaction_id, ${row}.booked_on)
    = (${other}.counterpart_id, ${other}.counterpart_booked_on)
  AND ${row}.direction <> ${other}.direction AND (${row}.amount, ${row}.currency) = (${other}.amount, ${other}.currency)`;

/** SQL: the same charge, or the same refund. */
const ofSame = (row: string, other: string) => `${row}.billing_request_id = ${other}.billing_request_id
  AND ${row}.refund_id IS NOT DISTINCT FROM ${other}.refund_id`;

/** SQL: whether an exception of its charge or refund has ended by the id of a line. */
const isNamed = (row: string, more = '') => `EXISTS (
  SELECT FROM reconciliation_exceptions n WHERE ${ofSame('n', row)}
    AND n.reversal_bank_transaction_id = ${row}.bank_transaction_id ${more})`;

/**
 * Pairs each extra booking with one line that takes it back. @returns whether there may be more
 */
async function pairNext(trx: Executor, billingRequestIds: string[]): Promise<boolean> {
  const paired = await trx.rows`
    WITH candidate AS (
      SELECT x.*, t.bank_transaction_id AS t_id, t.booked_on AS t_on,
        CASE WHEN t.bank_transaction_id = x.bank_transaction_id THEN 1 WHEN named THEN 2 ELSE 3 END AS rank
      FROM extra_bookings x JOIN extra_bookings t ON ${raw(ofSame('t', 'x'))} AND t.bank_id = x.bank_id
          AND t.direction <> x.direction AND (t.amount, t.currency) = (x.amount, x.currency)
          AND NOT t.is_extra AND t.counterpart_id IS NULL,
        LATERAL (SELECT ${raw(isNamed('t', 'AND NOT n.undoes'))} AS named) AS n
      WHERE x.billing_request_id = ANY(${billingRequestIds}) AND (x.stands OR (x.differs AND x.counterpart_id IS NULL))
        AND (t.bank_transaction_id = x.bank_transaction_id OR t.reference = x.reference OR named)
        AND NOT ${raw(isNamed('t', 'AND n.undoes'))}),
    -- Lines that could all take back each other pair in their order, all at once.
    placed AS (
      SELECT *, dense_rank() OVER (alike ORDER BY booked_on, bank_transaction_id)
        <> dense_rank() OVER (alike ORDER BY t_on, t_id) AS is_aside
      FROM candidate WINDOW alike AS (PARTITION BY bank_id, billing_request_id, refund_id, direction, amount, currency, rank,
        CASE rank WHEN 1 THEN t_id END)),
    first AS (
      SELECT DISTINCT ON (bank_id, bank_transaction_id, direction, booked_on, amount, currency) * FROM placed
      ORDER BY bank_id, bank_transaction_id, direction, booked_on, amount, currency, rank, is_aside, t_on, t_id),
    pair AS (
      SELECT DISTINCT ON (bank_id, t_id, direction, t_on, amount, currency) * FROM first
      ORDER BY bank_id, t_id, direction, t_on, amount, currency, rank, booked_on, bank_transaction_id)
    UPDATE extra_bookings y SET counterpart_id = p.other_id, counterpart_booked_on = p.other_on
    FROM (
      SELECT bank_id, bank_transaction_id, direction, booked_on, amount, currency, t_id AS other_id, t_on AS other_on FROM pair
      UNION ALL
      SELECT bank_id, t_id, CASE direction WHEN 'debit' THEN 'credit' ELSE 'debit' END, t_on, amount, currency,
        bank_transaction_id, booked_on FROM pair) AS p
    WHERE ${raw(isRow('y', 'p'))} RETURNING true`;
  return paired.length > 0;
}

const LINE = `e.bank_id, e.bank_transaction_id, e.direction, e.amount::bigint AS booked_amount,
  e.currency::text AS booked_currency, e.reference, e.booked_on::text, e.is_reversal, e.matched_by AS reported_in`;

/**
 * A line that takes nothing back is told, as long as there is room: of the booking that has its id,
 * or else of nothing that the network knows.
 *
 * @returns how many exceptions it opened
 */
async function tellUnpaired(trx: Executor, billingRequestIds: string[], file?: FileEnd): Promise<number> {
  const told = await trx.rows<NewException>`
    WITH unpaired AS MATERIALIZED (
      SELECT x.*, EXISTS (
        SELECT FROM (${BOOKED_AS_LINE}) AS e
        WHERE e.direction <> x.direction AND e.ended_at IS NULL AND e.billing_request_id = x.billing_request_id)
        AS is_of_booking
      FROM extra_bookings x
      WHERE x.billing_request_id = ANY(${billingRequestIds}) AND NOT x.is_extra AND x.counterpart_id IS NULL
        AND NOT ${raw(isNamed('x'))}
      ORDER BY x.billing_request_id, x.booked_on, x.bank_transaction_id LIMIT ${file?.room ?? null}),
    gone AS (DELETE FROM extra_bookings x USING unpaired u WHERE NOT u.is_of_booking AND ${raw(isRow('x', 'u'))})
    SELECT CASE WHEN is_of_booking THEN 'amount_differs' ELSE 'unknown_here' END AS kind,
      CASE WHEN is_of_booking THEN billing_request_id END AS billing_request_id,
      CASE WHEN is_of_booking THEN refund_id END AS refund_id, ${raw(LINE)}
    FROM unpaired e`;
  return (await openExceptions(trx, 'bank', told, file?.workflowId)).size;
}

/** Ends the exceptions that were about nothing but lines that are taken back by now. */
async function endTakenBack(trx: Executor, billingRequestIds: string[]): Promise<void> {
  const explained = await trx.rows<{ id: string; resolution: Resolution; counterpart: string | null }>`
    SELECT x.id, CASE WHEN x.kind = 'amount_differs' OR t.id IS NULL THEN 'no_difference' ELSE 'reversed' END AS resolution,
      CASE WHEN x.kind <> 'amount_differs' THEN t.id END AS counterpart
    FROM reconciliation_exceptions x LEFT JOIN LATERAL (
      SELECT t.bank_transaction_id AS id FROM extra_bookings t
      WHERE ${raw(ofSame('t', 'x'))} AND NOT t.is_extra AND t.counterpart_id IS NOT NULL
      ORDER BY (x.kind = 'amount_differs' AND t.bank_transaction_id = x.bank_transaction_id) DESC, t.recorded_at DESC, 1 LIMIT 1
    ) AS t ON true
    WHERE x.billing_request_id = ANY(${billingRequestIds}) AND x.state <> 'resolved'
      -- Only its end answers an open refund.
      AND NOT EXISTS (SELECT FROM refunds r WHERE r.id = x.refund_id AND r.status = 'pending' AND x.kind = 'unanswered')
      AND CASE x.kind WHEN 'unknown_here' THEN true WHEN 'amount_differs' THEN t.id = x.bank_transaction_id
        WHEN 'missing_at_bank' THEN false WHEN 'credit_undelivered' THEN false ELSE t.id IS NOT NULL END
      AND NOT EXISTS (SELECT FROM extra_bookings e WHERE ${raw(ofSame('e', 'x'))} AND e.stands)
      AND NOT EXISTS (
        SELECT FROM exception_answers a WHERE a.exception_id = x.id AND NOT EXISTS (
          SELECT FROM extra_bookings e WHERE ${raw(ofSame('e', 'x'))} AND e.is_extra AND e.counterpart_id IS NOT NULL
            AND e.bank_transaction_id = a.bank_transaction_id))`;
  for (const one of explained) await endWithoutMoney(trx, 'network', [one], one.resolution, one.counterpart);
}

/** SQL: whether an exception `x` that has ended was about an extra booking `e`. */
const WAS_ABOUT = `${ofSame('x', 'e')} AND x.state = 'resolved' AND (x.kind = 'unknown_here'
  OR x.bank_transaction_id = e.bank_transaction_id OR x.resolved_at >= e.recorded_at OR EXISTS (
    SELECT FROM exception_answers a WHERE a.exception_id = x.id AND a.bank_transaction_id = e.bank_transaction_id))`;

/**
 * An extra booking that stands opens an exception at once. After another end than `no_money_moved`
 * it opens one when it is late; after `written_off`, never.
 */
async function openStanding(trx: Executor, billingRequestIds: string[], file?: FileEnd): Promise<number> {
  const [currencies, days] = [[...(file?.dueBy.keys() ?? [])], [...(file?.dueBy.values() ?? [])]];
  const standing = await trx.rows<NewException>`
    WITH standing AS MATERIALIZED (
      SELECT e.*, x.resolution, (x.resolved_at AT TIME ZONE ${trx.timeZone})::date AS ended_on
      FROM extra_bookings e LEFT JOIN LATERAL (
        SELECT x.resolution, x.resolved_at FROM reconciliation_exceptions x WHERE ${raw(WAS_ABOUT)}
        ORDER BY x.resolved_at DESC, x.id DESC LIMIT 1) AS x ON true
      WHERE e.billing_request_id = ANY(${billingRequestIds}) AND e.counterpart_id IS NULL AND (e.stands OR e.differs)),
    borne AS (
      UPDATE extra_bookings x SET ended_at = clock_timestamp() FROM standing e
      WHERE e.stands AND e.resolution = 'written_off' AND ${raw(isRow('x', 'e'))})
    SELECT DISTINCT ON (e.billing_request_id, e.refund_id) e.billing_request_id, e.refund_id,
      CASE WHEN e.differs THEN 'amount_differs' ELSE 'unknown_here' END AS kind, ${raw(LINE)}
    FROM standing e JOIN billing_requests b ON b.id = e.billing_request_id LEFT JOIN refunds r ON r.id = e.refund_id
    WHERE NOT ${isUnsettled(sql`e.direction`, sql`e.bank_id`)} AND e.resolution IS DISTINCT FROM 'written_off'
      AND (e.stands OR e.resolution IS NULL)
      AND (coalesce(e.resolution, 'no_money_moved') = 'no_money_moved' OR greatest(e.booked_on, e.ended_on) <= (
        SELECT max(due.day) FROM unnest(${currencies}::text[], ${days}::date[]) AS due (currency, day)
        WHERE due.currency IN (e.currency, '*')))
      AND NOT EXISTS (
        SELECT FROM reconciliation_exceptions x WHERE ${raw(ofSame('x', 'e'))} AND x.state <> 'resolved')
    ORDER BY e.billing_request_id, e.refund_id, e.booked_on, e.bank_transaction_id
    LIMIT ${file?.room ?? null}`;
  return (await openExceptions(trx, 'bank', standing, file?.workflowId)).size;
}
