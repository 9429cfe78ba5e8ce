import type { Direction, StatementLine } from '../../domain/books/bank-statement';
import type { ExceptionKind } from '../../domain/books/reconciliation-exception';
import { rows, type Transaction } from '../connection';
import { recordEvents } from '../event';
import { newId } from '../ids';
import { jsonOf } from '../json';
import type { Keyring } from '../keys/keyring';
import { announceExceptions } from './announce';
import { IS_CREDIT_MISSING } from './credit';
import { holdRefunds } from './open';

/** Exceptions that statements of banks tell of, and those that they end. */

export interface StatementException {
  kind: Extract<ExceptionKind, 'unknown_here' | 'missing_at_bank' | 'amount_differs'>;
  /** Null of what is unknown here. */
  billingRequestId: string | null;
  refundId: string | null;
  /** Null of a credit that the payee's bank lacks: it has an id of its own for it. */
  bankTransactionId: string | null;
  direction: Direction;
  /** The network's, where it has any; else the bank's. */
  amount: bigint;
  currency: string;
  /** What the bank booked; null where it is missing there. */
  bookedAmount: bigint | null;
  bookedCurrency: string | null;
  /** Of what is unknown here, where it looks like one of ours. */
  reference: string | null;
  /**
   * Of the charge, what may not be refunded until this is resolved; of a refund it follows from all
   * that its bank tells of it (`holdRefunds`).
   */
  held: bigint;
}

/** What a bank has booked. */
export type Booked = Pick<StatementLine, 'bankTransactionId' | 'direction' | 'amount' | 'currency'> & {
  /** The payment between customers that this is the payee's bank's credit of. */
  creditOf: string | null;
};

/** Items of one webhook, as everywhere. */
const ANNOUNCED_AT_ONCE = 100;

/** Open at once for a bank: more than its people ever end. */
const OPEN_OF_BANK = 10_000;

/** The key of an exception: lines with the same key share one. */
export const keyOf = (one: StatementException): string =>
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
 * @param room how many more its file may open, where a file tells of them
 * @returns in the order given: the exception, and whether it was opened now; none of what there is
 *   no room for
 */
export async function openStatementExceptions(
  trx: Transaction,
  keyring: Keyring,
  bankId: string,
  found: StatementException[],
  workflowId?: string,
  room?: number,
): Promise<{ exceptionId: string | undefined; isNew: boolean }[]> {
  if (found.length === 0) return [];
  const keys = found.map(keyOf);
  const there = await findExceptions(trx, bankId, found);
  const fresh = new Map(found.flatMap((one, n) => (there.has(n) ? [] : [[keys[n] ?? '', one]])));
  const toOpen = [...fresh.values()];
  if (room !== undefined) toOpen.length = await roomOf(trx, bankId, Math.min(room, toOpen.length));
  const opened = await open(trx, keyring, bankId, toOpen, workflowId);
  const all = opened.size === 0 ? there : await findExceptions(trx, bankId, found);
  return keys.map((_, n) => {
    const exceptionId = all.get(n);
    return { exceptionId, isNew: exceptionId !== undefined && opened.delete(exceptionId) };
  });
}

/** @returns how many of those that are wanted the bank may have open beside what it has */
async function roomOf(trx: Transaction, bankId: string, wanted: number): Promise<number> {
  if (wanted <= 0) return 0;
  const unresolved = await rows(
    trx,
    `SELECT FROM reconciliation_exceptions x
     WHERE x.state <> 'resolved' AND x.kind IN ('unknown_here', 'missing_at_bank', 'amount_differs')
       AND CASE WHEN ${IS_CREDIT_MISSING('x')} THEN x.payee_bank_id ELSE x.bank_id END = :bankId
     LIMIT ${OPEN_OF_BANK}`,
    { bankId },
  );
  return Math.min(wanted, OPEN_OF_BANK - unresolved.length);
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
       AND x.billing_request_id = g."billingRequestId" AND ${IS_CREDIT_MISSING('x')} AND x.dismissed_with IS NULL
     UNION ALL
     SELECT g.n, x.id FROM ${GIVEN} JOIN reconciliation_exceptions x
       ON x.bank_id = :bankId AND x.bank_transaction_id = g."bankTransactionId" AND x.kind = g.kind
       AND x.kind IN ('unknown_here', 'missing_at_bank', 'amount_differs') AND x.dismissed_with IS NULL AND x.direction = g.direction
       AND x.booked_amount IS NOT DISTINCT FROM g."bookedAmount" AND x.booked_currency IS NOT DISTINCT FROM g."bookedCurrency"
       AND x.billing_request_id IS NOT DISTINCT FROM g."billingRequestId" AND x.refund_id IS NOT DISTINCT FROM g."refundId"`,
    { bankId, given: jsonOf(found.map((one, n) => ({ ...one, n }))) },
  );
  return new Map(all.map(({ n, id }) => [n, id]));
}

/** @returns those that nobody else had opened meanwhile */
async function open(
  trx: Transaction,
  keyring: Keyring,
  bankId: string,
  found: StatementException[],
  workflowId?: string,
): Promise<Set<string>> {
  if (found.length === 0) return new Set();
  const given = jsonOf(found.map((one, n) => ({ ...one, n, id: newId('exception') })));
  const opened = await rows<{
    id: string;
    kind: ExceptionKind;
    billingRequestId: string | null;
    refundId: string | null;
    bankTransactionId: string | null;
    amount: bigint;
    currency: string;
    bookedAmount: bigint | null;
    bookedCurrency: string | null;
    direction: Direction;
    held: bigint;
    bankId: string;
    at: Date;
  }>(
    trx,
    `WITH opened AS (
       INSERT INTO reconciliation_exceptions AS x (id, kind, billing_request_id, refund_id, bank_id, reference, amount, currency,
         bank_transaction_id, direction, booked_amount, booked_currency, held, opened_at)
       SELECT g.id, g.kind, g."billingRequestId", g."refundId", :bankId, g.reference, g.amount, g.currency,
         g."bankTransactionId", g.direction, g."bookedAmount", g."bookedCurrency", g.held,
         settling_now(coalesce(b.owner_id, :bankId))
       FROM ${GIVEN} LEFT JOIN billing_requests b ON b.id = g."billingRequestId" ORDER BY g.n
       ON CONFLICT DO NOTHING
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
  const ofRefunds = opened.flatMap(({ kind, refundId }) =>
    refundId !== null && kind === 'amount_differs' ? [refundId] : [],
  );
  const heldOf = new Map((await holdRefunds(trx, ofRefunds)).map(({ id, held }) => [id, held]));
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
  reference text, held bigint)`;

/** Several charges are locked by ascending id, as everywhere. */
export async function lockCharges(trx: Transaction, ids: string[]): Promise<void> {
  await rows(trx, `SELECT FROM billing_requests WHERE id = ANY(:ids) ORDER BY id FOR UPDATE`, { ids });
}

/**
 * What a later file has brought: that something is at the bank after all, or that what it had
 * booked has become known here, by its amount, for a fee may bear the same id. A credit at the
 * payee's bank is known by its payment. The charges that these belong to are the caller's to lock.
 */
export async function exceptionsEndedBy(
  trx: Transaction,
  bankId: string,
  found: Booked[],
): Promise<{ exceptionId: string; billingRequestId: string | null }[]> {
  return rows(
    trx,
    `SELECT x.id AS "exceptionId", x.billing_request_id AS "billingRequestId"
     FROM unnest(:ids::text[], :directions::text[], :amounts::bigint[], :currencies::text[]) AS f (id, direction, amount, currency)
       JOIN reconciliation_exceptions x ON x.bank_id = :bankId AND x.bank_transaction_id = f.id AND x.direction = f.direction
       AND (x.kind = 'missing_at_bank'
         OR (x.kind = 'unknown_here' AND x.booked_amount = f.amount AND x.booked_currency = f.currency))
       AND x.state <> 'resolved'
     UNION
     SELECT x.id, x.billing_request_id FROM reconciliation_exceptions x
     WHERE x.billing_request_id = ANY(:credited) AND ${IS_CREDIT_MISSING('x')} AND x.state <> 'resolved'
     ORDER BY "billingRequestId", "exceptionId"`,
    {
      bankId,
      ids: found.map((one) => one.bankTransactionId),
      directions: found.map((one) => one.direction),
      amounts: found.map((one) => one.amount.toString()),
      currencies: found.map((one) => one.currency),
      credited: found.flatMap((one) => one.creditOf ?? []),
    },
  );
}
