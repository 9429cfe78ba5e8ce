import type { Decision } from '../../domain/lifecycle';
import type { Executor } from '../pool/connection';
import { recordEvents } from '../record/event';
import { recountSpending } from '../agreement/agreement';
import { makePaymentId } from '../agreement/payment-id';
import { syncSchedulesWithAgreement } from '../schedule/align-schedules';
import { announce } from '../webhook/announce-webhooks';

interface Terms {
  currency: string;
  dailyLimit: bigint | null;
  monthlyLimit: bigint | null;
}

export interface NewDecision {
  decision: Decision;
  blocked: boolean;
  /** The new terms; without them the old terms stay. A limit that is null does not exist. */
  terms?: Terms;
  /**
   * The decision came with the answer to a charge, not to an intent: a later denial may restore the
   * terms that it replaces.
   */
  withCharge?: true;
}

/**
 * Writes the customer's decision on a locked agreement, and updates its schedules. A change of
 * currency counts the spending again, for the sums were in the old currency.
 */
export async function applyDecision(
  trx: Executor,
  agreementId: string,
  decided: NewDecision,
  cause: 'bank' | 'operator',
): Promise<void> {
  const replace = decided.terms !== undefined;
  const withCharge = decided.withCharge === true;
  const currency = decided.terms?.currency ?? null;
  const changed = await trx.oneRow<{
    sequence: number;
    at: Date;
    before: string;
    day: string | null;
    month: string | null;
    customerId: string;
  }>`
    UPDATE agreements a SET
      decision = ${decided.decision}, approved = approved
        OR starts_with(${decided.decision}, 'approve'), blocked = ${decided.blocked}, sequence = sequence + 1,
      updated_at = at,
      spent_day_total = CASE WHEN currency = coalesce(${currency}, currency) THEN spent_day_total ELSE 0 END,
      spent_month_total = CASE WHEN currency = coalesce(${currency}, currency) THEN spent_month_total
        ELSE 0 END,
      daily_limit = CASE WHEN ${replace} THEN ${decided.terms?.dailyLimit?.toString() ?? null}::bigint
        ELSE daily_limit END,
      monthly_limit = CASE WHEN ${replace} THEN ${decided.terms?.monthlyLimit?.toString() ?? null}::bigint
        ELSE monthly_limit END,
      granted_at = CASE WHEN ${withCharge} THEN at END,
      currency_before = CASE WHEN ${withCharge} AND ${replace} THEN currency END,
      daily_limit_before = CASE WHEN ${withCharge} AND ${replace} THEN daily_limit END,
      monthly_limit_before = CASE WHEN ${withCharge} AND ${replace} THEN monthly_limit END,
      currency = coalesce(${currency}, currency)
    FROM (SELECT business_now(merchant_id) AS at, currency AS before, spent_day AS day, spent_month AS month
          FROM agreements WHERE id = ${agreementId}) AS moment
    WHERE a.id = ${agreementId}
    RETURNING a.sequence, moment.at, moment.before, moment.day::text, moment.month::text, a.customer_id`;
  // Only for a new currency, which is rare: these statements read all that the merchant has open.
  if (decided.terms && decided.terms.currency !== changed.before) {
    // These charges counted in the old currency, and no sum has them now. A later decline must not
    // be subtracted from the new currency's spending. `books verify` must not expect the settled
    // charges in it.
    // A bank file locks charges in the same order.
    await trx.rows`
      WITH locked AS MATERIALIZED (
        SELECT id FROM billing_requests
        WHERE customer_id = ${changed.customerId} AND agreement_id = ${agreementId}
          AND currency <> ${decided.terms.currency}
          AND (status = 'pending' OR counted_day = ${changed.day}::date
            OR counted_month = ${changed.month}::date)
        ORDER BY id FOR NO KEY UPDATE)
      UPDATE billing_requests b SET counted_day = NULL, counted_month = NULL FROM locked
      WHERE b.id = locked.id`;
    await recountSpending(trx, { id: agreementId, customerId: changed.customerId });
  }
  await recordEvents(trx, [
    {
      resourceId: agreementId,
      sequence: changed.sequence,
      type: 'agreement.decided',
      cause,
      details: { ...decided },
      at: changed.at,
    },
  ]);
  await syncSchedulesWithAgreement(trx, agreementId, cause);
}

/** Tells the merchant of a decision that no intent asked for. */
export async function announceDecision(trx: Executor, agreementId: string): Promise<void> {
  const agreement = await trx.oneRow<{
    merchantId: string;
    customerId: string;
    lookupId: string;
    decision: Decision;
    currency: string;
    paymentIdKey: string;
    told: number;
  }>`
    UPDATE agreements a SET told = a.told + 1 FROM customers c
    WHERE a.id = ${agreementId} AND c.id = a.customer_id
    RETURNING a.merchant_id, a.customer_id, c.lookup_id, a.decision, a.currency, a.payment_id_key, a.told`;
  const { merchantId: entityId, told: sequence, customerId, currency } = agreement;
  const paymentID = makePaymentId(trx.keyring, agreement.paymentIdKey, agreementId, entityId);
  const customer = { customerId, lookupID: agreement.lookupId, paymentID };
  const items = [{ id: agreementId, sequence, ...customer, customerDecision: agreement.decision, currency }];
  await announce(trx, [{ entityId, webhookType: 'decision.updated', items }]);
}
