import { endMatchedException, IS_ALL_SAID } from '../reconciliation-exception/end-exceptions';
import type { Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { LACKED } from '../ledger/end-expected-booking';
import { dueDays } from './find-missing';
import { endPlaced, IS_ITS_BOOKING, judgeBookings } from './judge-bookings';
import { placeUnknown, unknownLines } from './place-unknown-lines';
import type { Matching } from './match-lines';
import { roomFor } from './open-differences';
import { workOnFile, type BankFile } from './receive-bank-file';

/**
 * The end of a file's matching: lines that were unknown are placed once more, exceptions that they
 * explain end, and the charges of extra bookings are judged.
 */

/** Charges of one transaction: each costs a lock and some probes. */
const CHARGES = 100;

type Step = (
  trx: Transaction,
  file: BankFile,
  after: string,
  matching: Matching,
) => Promise<string | undefined>;

export async function judgeFile(matching: Matching, statementId: string): Promise<void> {
  const { db, heartbeat } = matching;
  await inPages(matching, statementId, placeOfBank);
  const missing = await workOnFile(db, statementId, (trx, { bankId }) => foundMissing(trx, bankId));
  for (const one of missing || []) {
    heartbeat();
    await db.transaction((trx) => endMatchedException(trx, one));
  }
  await inPages(matching, statementId, placeOfFile);
  await inPages(matching, statementId, judgeNext);
}

/** @param step gets the place that it has returned before; it ends with `undefined` */
async function inPages(matching: Matching, statementId: string, step: Step): Promise<void> {
  for (let last: string | undefined = ''; last !== undefined; matching.heartbeat()) {
    const after: string = last;
    last =
      (await workOnFile(matching.db, statementId, (trx, file) => step(trx, file, after, matching))) ||
      undefined;
  }
}

/** Places lines that earlier files had. Their exceptions end. */
const placeOfBank: Step = async (trx, file, after, matching) => {
  const lines = await placeUnknown(trx, file.bankId, unknownLines(file.bankId, sql`x.id > ${after}`));
  const charges = lines.flatMap((one) => (one.isPlaced && one.billingRequestId) || []);
  await judge(trx, matching, file, [...new Set(charges)]);
  await endPlaced(trx, lines);
  return lines.at(-1)?.exceptionId ?? undefined;
};

/** Missing bookings that a file has by now. */
const foundMissing = (trx: Transaction, bankId: string) =>
  trx.rows<{ id: string; billingRequestId: string }>`
    SELECT x.id, x.billing_request_id FROM reconciliation_exceptions x JOIN expected_bookings e ON e.bank_id = ${bankId}
      AND ${raw(LACKED)} AND e.matched_by IS NOT NULL
    WHERE ${bankId} IN (x.bank_id, x.payee_bank_id) AND x.kind = 'missing_at_bank' AND ${raw(IS_ALL_SAID)}`;

/** Places lines of the file itself again: a counterpart may come pages before its booking. */
const placeOfFile: Step = async (trx, { statementId, bankId }, after) => {
  const page = await trx.row<{ position: number }>`
    SELECT position FROM bank_file_differences d
    WHERE statement_id = ${statementId} AND position > ${after === '' ? -1 : Number(after)}
      AND EXISTS (SELECT FROM extra_bookings WHERE matched_by = ${statementId})
    ORDER BY position LIMIT 1`;
  if (!page) return undefined;
  const lines = sql`
    SELECT row_number() OVER ()::int AS position, NULL::int AS line, (one->>'bookingDate')::date AS day,
      (one->>'amount')::bigint AS amount, one->>'currency' AS currency, one->>'direction' AS direction,
      one->>'bankTransactionId' AS id, one->>'reference' AS reference, NULL::text AS problem,
      coalesce((one->>'isReversal')::boolean, false) AS is_reversal, NULL::text AS exception_id,
      ${statementId} AS first_reported_in, ${statementId} AS reported_in
    FROM bank_file_differences d, jsonb_array_elements(d.differences) AS one
    WHERE d.statement_id = ${statementId} AND d.position = ${page.position} AND one->>'difference' = 'unknown_here'
      AND one->>'billingRequestId' IS NULL`;
  await placeUnknown(trx, bankId, lines);
  return String(page.position);
};

/** Judges charges of the file's lines, and those whose extra bookings stand without a judgement. */
const judgeNext: Step = async (trx, file, after, matching) => {
  const ids = await chargesAfter(trx, file, after);
  await judge(trx, matching, file, ids);
  return ids.at(-1);
};

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
    (SELECT DISTINCT x.billing_request_id FROM extra_bookings x JOIN expected_bookings e ON ${raw(IS_ITS_BOOKING)}
     WHERE x.bank_id = ${bankId} AND x.differs AND e.matched_by IS NOT NULL AND x.billing_request_id > ${after}
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
  if (billingRequestIds.length === 0) return;
  const dueBy = await dueDays(trx, bankId, statementId, bookingDays);
  const room = await roomFor(trx, bankId, exceptions);
  const opened = await judgeBookings(trx, billingRequestIds, { dueBy, room, workflowId });
  if (opened === 0) return;
  await trx.rows`UPDATE bank_files SET exceptions = exceptions + ${opened} WHERE id = ${statementId}`;
}
