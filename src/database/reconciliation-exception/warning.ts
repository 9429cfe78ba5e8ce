import { rows, type Executor } from '../connection';

/** What a merchant bills again while nobody knows whether the customer has paid it already. */
interface BilledAgain {
  agreementIds: string[];
  lookupIds: string[];
  amount: bigint;
  currency: string;
}

/**
 * Of the customers who are to be billed, those with an exception of the same merchant, amount and
 * currency that is not resolved: the latest of each. One read of an index that holds nothing but
 * what is not resolved.
 *
 * @returns ids of exceptions by customer
 */
export async function unresolvedOfSameAmount(
  trx: Executor,
  merchantId: string,
  { agreementIds, lookupIds, amount, currency }: BilledAgain,
): Promise<Map<string, string>> {
  const found = await rows<{ customerId: string; exceptionId: string }>(
    trx,
    `SELECT DISTINCT ON (customer_id) customer_id AS "customerId", id AS "exceptionId"
     FROM reconciliation_exceptions
     WHERE merchant_id = :merchantId AND amount = :amount AND currency = :currency AND state <> 'resolved'
       AND customer_id = ANY(ARRAY(
         SELECT customer_id FROM agreements WHERE id = ANY(:agreementIds)
         UNION ALL SELECT id FROM customers WHERE lookup_id = ANY(:lookupIds)))
     ORDER BY customer_id, opened_at DESC, id DESC`,
    { merchantId, agreementIds, lookupIds, amount, currency },
  );
  return new Map(found.map(({ customerId, exceptionId }) => [customerId, exceptionId]));
}
