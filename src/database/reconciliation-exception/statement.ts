import type { Direction } from '../../domain/books/bank-statement';
import type { ExceptionKind } from '../../domain/books/reconciliation-exception';
import { isReference } from '../../domain/identifier/reference';
import { rows, type Transaction } from '../connection';
import { recordEvents } from '../event';
import { newId } from '../ids';
import { jsonOf } from '../json';
import type { Keyring } from '../keys/keyring';
import { announceExceptions } from './announce';
import { holdRefunds } from './open';

/** Exceptions that the files of banks tell of. */

export interface StatementException {
  kind: Extract<ExceptionKind, 'unknown_here' | 'missing_at_bank' | 'amount_differs'>;
  /** Null of what is unknown here. */
  billingRequestId: string | null;
  refundId: string | null;
  /** Null of a credit that the payee's bank lacks: it has an id of its own for it. */
  bankTransactionId: string | null;
  direction: Direction;
  /** What was to be booked; null for the amount of the charge, or of the refund. */
  amount: bigint | null;
  currency: string | null;
  /** What the bank booked; null where it is missing there. */
  bookedAmount: bigint | null;
  bookedCurrency: string | null;
  /** Of what is unknown here, where it looks like one of ours. */
  reference: string | null;
}

/**
 * Differences of a file that become exceptions: more than anybody looks into. Each costs some
 * kilobytes and two webhooks; a file of another account has a difference for each of its lines.
 */
const OF_FILE = 1_000;
/** Open at once for a bank: more than its people ever end. */
const OF_BANK = 10_000;
/**
 * The part of both that what is unknown here may take. The rest is for what is missing or differs,
 * which holds money of merchants.
 */
const UNKNOWN_PART = 0.5;

/** Items of one webhook, as everywhere. */
const ANNOUNCED_AT_ONCE = 100;

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

/** Those that hold money come first. */
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
  const roomFor = (part: number, taken: number) =>
    Math.max(0, Math.min(part * OF_FILE - ofFile, part * OF_BANK - unresolved.length) - taken);
  const isUnknown = ({ kind }: StatementException) => kind === 'unknown_here';
  const known = wanted.filter((one) => !isUnknown(one)).slice(0, roomFor(1, 0));
  return [...known, ...wanted.filter(isUnknown).slice(0, roomFor(UNKNOWN_PART, known.length))];
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
       AND x.billing_request_id IS NOT DISTINCT FROM g."billingRequestId" AND x.refund_id IS NOT DISTINCT FROM g."refundId"`,
    { bankId, given: jsonOf(found.map((one, n) => ({ ...one, n }))) },
  );
  return new Map(all.map(({ n, id }) => [n, id]));
}

/** What the bank has not booked of a charge cannot be refunded meanwhile. */
const HELD = `CASE WHEN b.id IS NULL OR r.id IS NOT NULL OR b.status <> 'successful' THEN 0
  ELSE least(b.amount - b.reversed_amount, CASE
    WHEN g.kind = 'missing_at_bank' THEN CASE g.direction WHEN 'debit' THEN b.amount ELSE 0 END
    WHEN (g."bookedCurrency", g.direction) = (b.currency, 'debit') THEN greatest(0, b.amount - g."bookedAmount")
    ELSE b.amount END) END`;

async function open(
  trx: Transaction,
  keyring: Keyring,
  bankId: string,
  found: StatementException[],
  workflowId?: string,
): Promise<Set<string>> {
  if (found.length === 0) return new Set();
  const given = jsonOf(
    found.map(({ reference, ...one }, n) => ({
      ...one,
      reference: reference !== null && isReference(reference) ? reference : null,
      n,
      id: newId('exception'),
    })),
  );
  const opened = await rows<{ id: string; refundId: string | null; held: bigint; at: Date }>(
    trx,
    `WITH opened AS (
       INSERT INTO reconciliation_exceptions AS x (id, kind, billing_request_id, refund_id, bank_id, reference, amount, currency,
         bank_transaction_id, direction, booked_amount, booked_currency, held, opened_at)
       SELECT g.id, g.kind, b.id, r.id, :bankId, g.reference, coalesce(g.amount, r.amount, b.amount),
         coalesce(g.currency, b.currency), g."bankTransactionId", g.direction, g."bookedAmount", g."bookedCurrency", ${HELD},
         settling_now(coalesce(b.owner_id, :bankId))
       FROM ${GIVEN} LEFT JOIN billing_requests b ON b.id = g."billingRequestId" LEFT JOIN refunds r ON r.id = g."refundId"
       ORDER BY g.n ON CONFLICT DO NOTHING
       RETURNING x.id, x.kind, x.billing_request_id AS "billingRequestId", x.refund_id AS "refundId",
         x.bank_transaction_id AS "bankTransactionId", x.amount::bigint, x.currency, x.booked_amount::bigint AS "bookedAmount",
         x.booked_currency AS "bookedCurrency", x.direction, x.held, x.bank_id AS "bankId", x.opened_at AS at),
     held AS (
       UPDATE billing_requests b SET held_amount = b.held_amount + o.held
       FROM (SELECT "billingRequestId", sum(held) AS held FROM opened WHERE held > 0 GROUP BY 1) AS o
       WHERE b.id = o."billingRequestId")
     SELECT * FROM opened`,
    { bankId, given },
  );
  const refundIds = opened.flatMap(({ refundId }) => refundId ?? []);
  const heldOf = new Map((await holdRefunds(trx, refundIds)).map(({ id, held }) => [id, held]));
  await recordEvents(
    trx,
    opened.map(({ id, at, ...details }) => ({
      resourceId: id,
      sequence: 1,
      type: 'exception.opened',
      cause: 'bank',
      details: { ...details, held: heldOf.get(id) ?? details.held },
      at,
    })),
  );
  const ids = opened.map(({ id }) => id);
  for (let from = 0; from < ids.length; from += ANNOUNCED_AT_ONCE) {
    const some = ids.slice(from, from + ANNOUNCED_AT_ONCE);
    await announceExceptions(trx, keyring, 'exception.opened', some, workflowId);
  }
  return new Set(ids);
}

const GIVEN = `jsonb_to_recordset(:given::jsonb) AS g (n int, id text, kind text, "billingRequestId" text, "refundId" text,
  "bankTransactionId" text, direction text, amount bigint, currency text, "bookedAmount" bigint, "bookedCurrency" text,
  reference text)`;

/** Several charges are locked by ascending id, as everywhere. */
export async function lockCharges(trx: Transaction, ids: string[]): Promise<void> {
  await rows(trx, `SELECT FROM billing_requests WHERE id = ANY(:ids) ORDER BY id FOR UPDATE`, { ids });
}
