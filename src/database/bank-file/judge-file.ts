import { endMatchedException, IS_ALL_SAID } from '../reconciliation-exception/end-exceptions';
import type { Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { dueDays } from './find-missing';
import { judgeBookings, placeUnknown, unknownLines } from './judge-bookings';
import type { Matching } from './match-lines';
import { roomFor } from './open-differences';
import { workOnFile, type BankFile } from './receive-bank-file';

/**
 * The end of a file's matching: lines that were unknown are placed once more, exceptions that they
 * explain end, and the charges of extra bookings are judged.
 */

/** Charges of one transaction: each costs a lock and some probes. */
const CHARGES = 100;

export async function judgeFile(matching: Matching, statementId: string): Promise<void> {
  const { db, heartbeat } = matching;
  const inTurn = <T>(work: (trx: Transaction, file: BankFile) => Promise<T>) =>
    workOnFile(db, statementId, work);
  const placed = await inTurn((trx, { bankId }) => placeUnknown(trx, bankId, unknownLines(bankId)));
  const charges = [...new Set((placed || []).flatMap(({ billingRequestId }) => billingRequestId ?? []))];
  for (let at = 0; at < charges.length; at += CHARGES) {
    await inTurn((trx, file) => judge(trx, matching, file, charges.slice(at, at + CHARGES)));
    heartbeat();
  }
  const missing = await inTurn((trx, { bankId }) => foundMissing(trx, bankId));
  for (const { exceptionId } of [...(placed || []), ...(missing || [])]) {
    heartbeat();
    if (exceptionId !== null) await db.transaction((trx) => endMatchedException(trx, exceptionId));
  }
  for (let page: number | false = -1; page !== false; heartbeat())
    page = await inTurn((trx, file) => placeNext(trx, file, Number(page)));
  for (let last: string | false = ''; last !== false; heartbeat()) {
    const after = last;
    last = await inTurn(async (trx, file) => {
      const ids = await chargesAfter(trx, file, after);
      await judge(trx, matching, file, ids);
      return ids.at(-1) ?? false;
    });
  }
}

/** Missing bookings that a file has by now. */
const foundMissing = (trx: Transaction, bankId: string) =>
  trx.rows<{ exceptionId: string }>`
    SELECT x.id AS exception_id FROM reconciliation_exceptions x JOIN expected_bookings e ON e.bank_id = ${bankId}
      AND e.identified_by = CASE WHEN x.bank_transaction_id IS NULL THEN 'reference' ELSE 'bankTransactionId' END
      AND e.identifier = coalesce(x.bank_transaction_id, x.reference) AND e.direction = x.direction
      AND e.matched_by IS NOT NULL
    WHERE ${bankId} IN (x.bank_id, x.payee_bank_id) AND x.kind = 'missing_at_bank' AND ${raw(IS_ALL_SAID)}`;

/**
 * Places unknown lines of the file itself again: a counterpart may come pages before its booking.
 *
 * @returns the page; false if there was none
 */
async function placeNext(
  trx: Transaction,
  { statementId, bankId }: BankFile,
  after: number,
): Promise<number | false> {
  const page = await trx.row<{ position: number }>`
    SELECT position FROM bank_statement_differences d WHERE statement_id = ${statementId} AND position > ${after}
      AND EXISTS (SELECT FROM extra_bookings WHERE matched_by = ${statementId})
    ORDER BY position LIMIT 1`;
  if (!page) return false;
  await placeUnknown(
    trx,
    bankId,
    sql`
    SELECT row_number() OVER ()::int AS position, NULL::int AS line, (one->>'bookingDate')::date AS day,
      (one->>'amount')::bigint AS amount, one->>'currency' AS currency, one->>'direction' AS direction,
      one->>'bankTransactionId' AS id, one->>'reference' AS reference, NULL::text AS problem, false AS is_reversal,
      NULL::text AS exception_id, ${statementId} AS first_reported_in, ${statementId} AS reported_in
    FROM bank_statement_differences d, jsonb_array_elements(d.differences) AS one
    WHERE d.statement_id = ${statementId} AND d.position = ${page.position} AND one->>'difference' = 'unknown_here'
      AND one->>'billingRequestId' IS NULL`,
  );
  return page.position;
}

/** The next charges with lines of the file, or with extra bookings that stand and are not judged yet. */
async function chargesAfter(
  trx: Transaction,
  { statementId, bankId }: BankFile,
  after: string,
): Promise<string[]> {
  const next = await trx.rows<{ id: string }>`
    (SELECT DISTINCT billing_request_id AS id FROM extra_bookings
     WHERE matched_by = ${statementId} AND billing_request_id > ${after} ORDER BY 1 LIMIT ${raw(CHARGES)})
    UNION
    (SELECT DISTINCT e.billing_request_id FROM extra_bookings e
     WHERE e.bank_id = ${bankId} AND e.stands AND e.billing_request_id > ${after} AND (NOT EXISTS (
         SELECT FROM reconciliation_exceptions x WHERE x.billing_request_id = e.billing_request_id
           AND x.refund_id IS NOT DISTINCT FROM e.refund_id AND x.state <> 'resolved')
       OR EXISTS (SELECT FROM extra_bookings t WHERE t.billing_request_id = e.billing_request_id AND NOT t.is_extra
         AND t.counterpart_id IS NULL))
     ORDER BY 1 LIMIT ${raw(CHARGES)})
    UNION
    (SELECT DISTINCT billing_request_id FROM expected_bookings
     WHERE bank_id = ${bankId} AND written_off_at IS NOT NULL AND matched_by IS NOT NULL AND billing_request_id > ${after}
     ORDER BY 1 LIMIT ${raw(CHARGES)})
    ORDER BY 1 LIMIT ${raw(CHARGES)}`;
  return next.map(({ id }) => id);
}

async function judge(
  trx: Transaction,
  { bookingDays, workflowId }: Matching,
  { statementId, bankId, exceptions }: BankFile,
  billingRequestIds: string[],
): Promise<void> {
  const dueBy = await dueDays(trx, bankId, statementId, bookingDays);
  const room = await roomFor(trx, bankId, exceptions);
  const opened = await judgeBookings(trx, billingRequestIds, { dueBy, room, workflowId });
  if (opened === 0) return;
  await trx.rows`UPDATE bank_statements SET exceptions = exceptions + ${opened} WHERE id = ${statementId}`;
}
