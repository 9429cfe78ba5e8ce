import type { ExceptionKind } from '../../domain/books/reconciliation-exception';
import { isReference } from '../../domain/identifier/reference';
import { rows, type Transaction } from '../connection';
import { jsonOf } from '../json';
import type { Keyring } from '../keys/keyring';
import { openCases, type CaseBooking, type NewCase } from './open-case';

/** Exceptions that the files of banks tell of. */

export interface StatementException
  extends Pick<NewCase, 'billingRequestId' | 'refundId'>, Omit<CaseBooking, 'bankId'> {
  kind: Extract<ExceptionKind, 'unknown_here' | 'missing_at_bank' | 'amount_differs'>;
}

/**
 * Differences of a file that become exceptions: more than anybody looks into. Each costs some
 * kilobytes and two webhooks; a file of another account has a difference for each of its lines.
 */
const OF_FILE = 1_000;
/** Open at once for a bank: more than its people ever end. */
const OF_BANK = 10_000;

/** The key of an exception: lines with the same key share one. */
const keyOf = (one: StatementException): string =>
  JSON.stringify([
    one.kind,
    one.billingRequestId,
    one.refundId,
    one.bankTransactionId,
    one.direction,
    one.bookedAmount?.toString(),
    one.bookedCurrency,
  ]);

/**
 * Opens those that are not there yet, as long as there is room for more, and tells both sides of
 * each. The caller holds the charges locked (`lockCharges`), and has a page at most: each owner of
 * one costs a lock of the clock.
 *
 * @param found two that say the same share one exception
 * @param workflowId of the workflow that makes the first attempts, where one does
 * @param ofFile how many their file has opened before
 * @returns in the order given: the exception, and whether it was opened now; none of what there is
 *   no room for
 */
export async function openStatementExceptions(
  trx: Transaction,
  keyring: Keyring,
  bankId: string,
  found: StatementException[],
  workflowId?: string,
  ofFile = 0,
): Promise<{ exceptionId: string | undefined; isNew: boolean }[]> {
  const there = await findExceptions(trx, bankId, found);
  const fresh = new Map(found.flatMap((one, n) => (there.has(n) ? [] : [[keyOf(one), one]])));
  const toOpen = await withinRoom(trx, bankId, [...fresh.values()], ofFile);
  const opened = await open(trx, keyring, bankId, toOpen, workflowId);
  const all = opened.size === 0 ? there : await findExceptions(trx, bankId, found);
  return found.map((_, n) => {
    const exceptionId = all.get(n);
    return { exceptionId, isNew: exceptionId !== undefined && opened.delete(exceptionId) };
  });
}

/** Those of a page that hold money come first. */
async function withinRoom(
  trx: Transaction,
  bankId: string,
  wanted: StatementException[],
  ofFile: number,
): Promise<StatementException[]> {
  if (wanted.length === 0) return [];
  const unresolved = await rows(
    trx,
    `SELECT FROM reconciliation_exceptions x
     WHERE x.state <> 'resolved' AND x.kind IN ('unknown_here', 'missing_at_bank', 'amount_differs')
       AND :bankId IN (x.bank_id, x.payee_bank_id) LIMIT ${OF_BANK}`,
    { bankId },
  );
  const room = Math.max(0, Math.min(OF_FILE - ofFile, OF_BANK - unresolved.length));
  const isUnknown = ({ kind }: StatementException) => kind === 'unknown_here';
  return [...wanted.filter((one) => !isUnknown(one)), ...wanted.filter(isUnknown)].slice(0, room);
}

/** Adds to those that a file has opened. */
export async function countExceptions(
  trx: Transaction,
  statementId: string,
  opened: { isNew: boolean }[],
): Promise<void> {
  const more = opened.filter(({ isNew }) => isNew).length;
  await rows(
    trx,
    `UPDATE bank_statements SET exceptions = exceptions + :more WHERE id = :statementId AND :more::int > 0`,
    { statementId, more },
  );
}

/** @returns by the place of each that there is */
async function findExceptions(
  trx: Transaction,
  bankId: string,
  found: StatementException[],
): Promise<Map<number, string>> {
  const all = await rows<{ n: number; id: string }>(
    trx,
    `SELECT g.n, x.id FROM ${GIVEN} JOIN reconciliation_exceptions x ON g."bankTransactionId" IS NULL
       AND x.billing_request_id = g."billingRequestId" AND x.kind = 'missing_at_bank' AND x.bank_transaction_id IS NULL
     UNION ALL
     SELECT g.n, x.id FROM ${GIVEN} JOIN reconciliation_exceptions x
       ON x.bank_id = :bankId AND x.bank_transaction_id = g."bankTransactionId" AND x.kind = g.kind
       AND x.kind IN ('unknown_here', 'missing_at_bank', 'amount_differs') AND x.direction = g.direction
       AND x.booked_amount IS NOT DISTINCT FROM g."bookedAmount" AND x.booked_currency IS NOT DISTINCT FROM g."bookedCurrency"
       AND x.billing_request_id IS NOT DISTINCT FROM g."billingRequestId" AND x.refund_id IS NOT DISTINCT FROM g."refundId"
     -- The one of the charge or the refund that is not resolved has it as well: it comes last.
     UNION ALL
     SELECT g.n, x.id FROM ${GIVEN} JOIN reconciliation_exceptions x ON x.billing_request_id = g."billingRequestId"
       AND x.refund_id IS NOT DISTINCT FROM g."refundId" AND x.state <> 'resolved'`,
    { bankId, given: jsonOf(found.map((one, n) => ({ ...one, n }))) },
  );
  return new Map(all.map(({ n, id }) => [n, id]));
}

async function open(
  trx: Transaction,
  keyring: Keyring,
  bankId: string,
  found: StatementException[],
  workflowId?: string,
): Promise<Set<string>> {
  const cases = found.map(({ kind, billingRequestId, refundId, reference, ...booking }) => ({
    kind,
    billingRequestId,
    refundId,
    booking: {
      ...booking,
      bankId,
      reference: reference !== null && isReference(reference) ? reference : null,
    },
  }));
  return new Set((await openCases(trx, keyring, 'bank', cases, workflowId)).values());
}

const GIVEN = `jsonb_to_recordset(:given::jsonb) AS g (n int, id text, kind text, "billingRequestId" text, "refundId" text,
  "bankTransactionId" text, direction text, amount bigint, currency text, "bookedAmount" bigint, "bookedCurrency" text,
  reference text)`;

/** Several charges are locked by ascending id, as everywhere. */
export async function lockCharges(trx: Transaction, ids: string[]): Promise<void> {
  await rows(trx, `SELECT FROM billing_requests WHERE id = ANY(:ids) ORDER BY id FOR UPDATE`, { ids });
}
