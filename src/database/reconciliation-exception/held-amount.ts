import type { Executor } from '../pool/connection';

/** Amounts that exceptions hold back from refunds, and warnings of a payment made twice. */

/**
 * SQL: minor units that an exception `x` of a charge `b`, and of its refund `r`, holds back from
 * refunds. An exception of a charge holds all of it. An exception of a refund holds the refund's
 * amount, if that may have moved beside the amount that is counted.
 */
export const HELD = `(CASE
  WHEN x.state = 'resolved' THEN 0
  WHEN x.refund_id IS NULL THEN b.amount
  WHEN r.status IN ('rejected', 'returned') OR x.kind IN ('amount_differs', 'unknown_here') OR EXISTS (
    SELECT FROM exception_answers a
    WHERE a.exception_id = x.id AND a.says = 'completed' AND a.kind = 'refund_conflict') THEN r.amount
  ELSE 0 END)`;

/** SQL: the amount of a charge `b` that its exceptions hold. Lock the charge before reading it. */
export const HELD_OF_CHARGE = `coalesce((SELECT sum(${HELD})
  FROM reconciliation_exceptions x LEFT JOIN refunds r ON r.id = x.refund_id
  WHERE x.billing_request_id = b.id), 0)::bigint`;

/**
 * Customers who may have paid the same already, by an unresolved exception of the same merchant,
 * amount and currency.
 *
 * @returns the latest exception by customer
 */
export async function unresolvedOfSameAmount(
  trx: Executor,
  merchantId: string,
  billed: { agreementIds: string[]; lookupIds: string[]; amount: bigint; currency: string },
): Promise<Map<string, string>> {
  const unresolved = await trx.rows<{ customerId: string; exceptionId: string }>`
    SELECT DISTINCT ON (customer_id) customer_id, id AS exception_id
    FROM reconciliation_exceptions
    WHERE merchant_id = ${merchantId} AND amount = ${billed.amount} AND currency = ${billed.currency}
      AND state <> 'resolved'
      AND customer_id = ANY(ARRAY(
        SELECT customer_id FROM agreements WHERE id = ANY(${billed.agreementIds})
        UNION ALL SELECT id FROM customers WHERE lookup_id = ANY(${billed.lookupIds})))
    ORDER BY customer_id, opened_at DESC, id DESC`;
  return new Map(unresolved.map(({ customerId, exceptionId }) => [customerId, exceptionId]));
}
