import { Failure } from '../../domain/failures';
import type { Decision } from '../../domain/lifecycle';
import type { Executor } from '../pool/connection';
import { sql, type Fragment } from '../pool/statement';
import { newId } from '../identifier/new-id';

/**
 * Agreements between a merchant and a customer: the decision, the limits, and the spending.
 *
 * Locks are taken in one order everywhere: agreement, schedule, intent or billing request.
 */

export interface Agreement {
  id: string;
  merchantId: string;
  /** Whether the merchant is. */
  trusted: boolean;
  customerId: string;
  bankId: string;
  lookupId: string;
  decision: Decision;
  blocked: boolean;
  currency: string;
  dailyLimit: bigint | null;
  monthlyLimit: bigint | null;
  paymentIdKey: string;
  /** The customer's address, for their own bank. */
  emailEncrypted: Buffer;
}

/**
 * Locks agreements by ascending id until the transaction ends, and reads them under the lock.
 *
 * @param which SQL over an agreement `a` and its customer `c`
 */
export async function lockAgreementsWhere(trx: Executor, which: Fragment): Promise<Agreement[]> {
  return trx.rows<Agreement>`
    SELECT a.id, a.merchant_id, m.trust_level = 'trusted' AS trusted, a.customer_id, a.bank_id, c.lookup_id,
      a.decision, a.blocked, a.currency, a.daily_limit, a.monthly_limit, a.payment_id_key, c.email_encrypted
    FROM agreements a JOIN customers c ON c.id = a.customer_id JOIN entities m ON m.id = a.merchant_id
    WHERE ${which} ORDER BY a.id FOR UPDATE OF a`;
}

export async function lockAgreements(trx: Executor, ids: string[]): Promise<Agreement[]> {
  return ids.length === 0 ? [] : lockAgreementsWhere(trx, sql`a.id = ANY(${ids})`);
}

/** @throws Failure not_found */
export async function lockAgreement(trx: Executor, id: string): Promise<Agreement> {
  const [agreement] = await lockAgreements(trx, [id]);
  if (!agreement) throw new Failure('not_found', 'There is no such agreement.');
  return agreement;
}

/**
 * Creates the agreements that a merchant lacks with the given customers, and locks all.
 *
 * @param currency of the agreements created; an existing agreement keeps its own
 */
export async function openAgreements(
  trx: Executor,
  merchantId: string,
  customers: { id: string; bankId: string }[],
  currency: string,
): Promise<Agreement[]> {
  const ordered = customers.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const ids = ordered.map(() => newId('agreement'));
  const customerIds = ordered.map((customer) => customer.id);
  const bankIds = ordered.map((customer) => customer.bankId);
  await trx.rows`
    INSERT INTO agreements (id, merchant_id, customer_id, bank_id, currency, payment_id_key, created_at,
      updated_at)
    SELECT n.id, ${merchantId}, n.customer_id, n.bank_id, ${currency}, ${trx.keyring.current}, at, at
    FROM business_now(${merchantId}) AS at,
         unnest(${ids}::text[], ${customerIds}::text[], ${bankIds}::text[]) AS n (id, customer_id, bank_id)
    ON CONFLICT (merchant_id, customer_id) DO NOTHING`;
  const pairs = sql`a.merchant_id = ${merchantId} AND a.customer_id = ANY(${customerIds})`;
  return lockAgreementsWhere(trx, pairs);
}

export async function blockersOf(
  trx: Executor,
  merchantId: string,
  customerIds: string[],
): Promise<Set<string>> {
  if (customerIds.length === 0) return new Set();
  const blocked = await trx.rows<{ customerId: string }>`
    SELECT customer_id FROM agreements
    WHERE merchant_id = ${merchantId} AND customer_id = ANY(${customerIds}) AND blocked`;
  return new Set(blocked.map((one) => one.customerId));
}

/**
 * Subtracts declined charges from the sums that counted them. A sum that has moved on to another
 * day or month no longer holds them, and is left alone.
 */
export async function releaseSpending(
  trx: Executor,
  charges: { agreementId: string; amount: bigint; day: string; month: string }[],
): Promise<void> {
  if (charges.length === 0) return;
  const agreementIds = charges.map((charge) => charge.agreementId);
  const amounts = charges.map((charge) => charge.amount.toString());
  const days = charges.map((charge) => charge.day);
  const months = charges.map((charge) => charge.month);
  await trx.rows`
    WITH released AS (
      SELECT * FROM unnest(${agreementIds}::text[], ${amounts}::bigint[], ${days}::date[], ${months}::date[])
        AS r (agreement_id, amount, day, month))
    UPDATE agreements a SET
      spent_day_total = a.spent_day_total
        - (SELECT coalesce(sum(amount), 0) FROM released WHERE agreement_id = a.id AND day = a.spent_day),
      spent_month_total = a.spent_month_total
        - (SELECT coalesce(sum(amount), 0) FROM released WHERE agreement_id = a.id AND month = a.spent_month)
    WHERE a.id = ANY(${agreementIds})`;
}

/**
 * Counts again the spending of an agreement whose currency has changed. Restored terms had charges
 * before: this month's pending and successful charges count again, on their own day and month.
 *
 * The caller holds the agreement locked, has set its sums to zero, and has taken the charges in the
 * old currency out of them. So a charge that closes meanwhile is either not counted here, or
 * released later.
 */
export async function recountSpending(
  trx: Executor,
  agreement: { id: string; customerId: string },
): Promise<void> {
  await trx.rows`
    WITH period AS (
      SELECT a.currency, d.time_zone, local::date AS today, greatest(a.spent_day, local::date) AS day,
        date_trunc('month', local) AS month_began,
        greatest(a.spent_month, date_trunc('month', local)::date) AS month
      FROM agreements a CROSS JOIN deployment d,
        LATERAL (SELECT business_now(a.merchant_id) AT TIME ZONE d.time_zone AS local) AS clock
      WHERE a.id = ${agreement.id}
    ), locked AS MATERIALIZED (
      -- A bank file locks charges in the same order.
      SELECT b.id FROM billing_requests b, period p
      WHERE b.customer_id = ${agreement.customerId} AND b.agreement_id = ${agreement.id}
        AND b.currency = p.currency
        AND b.status IN ('pending', 'successful') AND b.created_at >= p.month_began AT TIME ZONE p.time_zone
      ORDER BY b.id FOR NO KEY UPDATE OF b
    ), recounted AS (
      UPDATE billing_requests b SET
        counted_day = CASE WHEN (b.created_at AT TIME ZONE p.time_zone)::date >= p.today THEN p.day
                           ELSE (b.created_at AT TIME ZONE p.time_zone)::date END,
        counted_month = p.month
      FROM period p, locked WHERE b.id = locked.id
      RETURNING b.amount, b.counted_day
    )
    UPDATE agreements a SET spent_day = p.day, spent_month = p.month,
      spent_day_total = (SELECT coalesce(sum(amount) FILTER (WHERE counted_day = p.day), 0) FROM recounted),
      spent_month_total = (SELECT coalesce(sum(amount), 0) FROM recounted)
    FROM period p WHERE a.id = ${agreement.id}`;
}
