import type { Decision } from '../../domain/lifecycle';
import type { Executor } from '../pool/connection';
import { sql, type Fragment } from '../pool/statement';
import { newId } from '../identifier/new-id';

/**
 * Agreements between a merchant and a customer. Limits and spending are in `spending-limit.ts`.
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
      a.decision, a.blocked, a.currency, a.payment_id_key, c.email_encrypted
    FROM agreements a JOIN customers c ON c.id = a.customer_id JOIN entities m ON m.id = a.merchant_id
    WHERE ${which} ORDER BY a.id FOR UPDATE OF a`;
}

export async function lockAgreements(trx: Executor, ids: string[]): Promise<Agreement[]> {
  return ids.length === 0 ? [] : lockAgreementsWhere(trx, sql`a.id = ANY(${ids})`);
}

/**
 * Locks charges that may come to count in their windows, or no longer, and before them their
 * agreements. Several of a kind are locked by ascending id, which is the order everywhere.
 *
 * @param ids null for what is about no charge
 */
export async function lockCharges(trx: Executor, ids: (string | null)[]): Promise<void> {
  await trx.rows`
    SELECT FROM agreements WHERE id IN (SELECT agreement_id FROM billing_requests WHERE id = ANY(${ids}))
    ORDER BY id FOR UPDATE`;
  await trx.rows`SELECT FROM billing_requests WHERE id = ANY(${ids}) ORDER BY id FOR UPDATE`;
}

/**
 * Creates the agreements that a merchant lacks with the given customers, and locks all.
 *
 * @param currency of the agreements created; an existing agreement keeps its own
 */
export async function openAgreements(
  trx: Executor,
  merchantId: string,
  customers: Pick<Agreement, 'customerId' | 'bankId'>[],
  currency: string,
): Promise<Agreement[]> {
  const ordered = customers.toSorted((a, b) => (a.customerId < b.customerId ? -1 : 1));
  const ids = ordered.map(() => newId('agreement'));
  const customerIds = ordered.map((customer) => customer.customerId);
  const bankIds = ordered.map((customer) => customer.bankId);
  await trx.rows`
    INSERT INTO agreements (id, merchant_id, customer_id, bank_id, currency, payment_id_key, created_at,
      updated_at)
    SELECT n.id, ${merchantId}, n.customer_id, n.bank_id, ${currency}, ${trx.keyring.current}, at, at
    FROM business_now(${merchantId}) AS at,
         unnest(${ids}::text[], ${customerIds}::text[], ${bankIds}::text[]) AS n (id, customer_id, bank_id)
    ON CONFLICT (merchant_id, customer_id) DO NOTHING`;
  return lockAgreementsOf(trx, merchantId, customerIds);
}

/** Locks the agreements that a merchant has with the given customers. */
export async function lockAgreementsOf(
  trx: Executor,
  merchantId: string,
  customerIds: string[],
): Promise<Agreement[]> {
  if (customerIds.length === 0) return [];
  return lockAgreementsWhere(trx, sql`a.merchant_id = ${merchantId} AND a.customer_id = ANY(${customerIds})`);
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
