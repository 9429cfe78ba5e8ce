import type { Decision } from '../../domain/lifecycle';
import type { Executor } from '../pool/connection';
import { recountSpending } from '../agreement/agreement';
import { makePaymentId } from '../agreement/payment-id';
import { syncSchedulesWithAgreement } from '../schedule/align-schedules';
import type { Row } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';

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

/** Applies the answer to an intent, by whose end the merchant is told. */
export function applyDecision(trx: Executor, agreementId: string, decided: NewDecision): Promise<void> {
  return decide(trx, agreementId, decided, { unasked: false });
}

/** Applies a decision that no intent asked for, and tells the merchant. */
export function applyUnasked(trx: Executor, agreementId: string, decided: NewDecision): Promise<void> {
  return decide(trx, agreementId, decided, { unasked: true });
}

interface Decided extends Row {
  before: string;
  day: string | null;
  month: string | null;
  merchantId: string;
  customerId: string;
  lookupId: string;
  currency: string;
  paymentIdKey: string;
  announced: number;
}

/**
 * Writes the customer's decision on a locked agreement, and updates its schedules. A change of
 * currency counts the spending again, for the sums were in the old currency.
 */
async function decide(
  trx: Executor,
  agreementId: string,
  decided: NewDecision,
  { unasked }: { unasked: boolean },
): Promise<void> {
  const replace = decided.terms !== undefined;
  const withCharge = decided.withCharge === true;
  const currency = decided.terms?.currency ?? null;
  const dailyLimit = decided.terms?.dailyLimit?.toString() ?? null;
  const monthlyLimit = decided.terms?.monthlyLimit?.toString() ?? null;
  const changed = await trx.oneRow<Decided>`
    UPDATE agreements a SET
      decision = ${decided.decision}, approved = approved
        OR starts_with(${decided.decision}, 'approve'), blocked = ${decided.blocked}, sequence = sequence + 1,
      announced = announced + ${unasked ? 1 : 0}, updated_at = at,
      spent_day_total = CASE WHEN currency = coalesce(${currency}, currency) THEN spent_day_total ELSE 0 END,
      spent_month_total = CASE WHEN currency = coalesce(${currency}, currency) THEN spent_month_total
        ELSE 0 END,
      daily_limit = CASE WHEN ${replace} THEN ${dailyLimit}::bigint
        ELSE daily_limit END,
      monthly_limit = CASE WHEN ${replace} THEN ${monthlyLimit}::bigint
        ELSE monthly_limit END,
      granted_at = CASE WHEN ${withCharge} THEN at END,
      currency_before = CASE WHEN ${withCharge} AND ${replace} THEN currency END,
      daily_limit_before = CASE WHEN ${withCharge} AND ${replace} THEN daily_limit END,
      monthly_limit_before = CASE WHEN ${withCharge} AND ${replace} THEN monthly_limit END,
      currency = coalesce(${currency}, currency)
    FROM (SELECT business_now(merchant_id) AS at, currency AS before, spent_day AS day, spent_month AS month
          FROM agreements WHERE id = ${agreementId}) AS moment
    WHERE a.id = ${agreementId}
    RETURNING a.id, a.sequence, moment.at, moment.before, moment.day::text, moment.month::text, a.merchant_id,
      a.customer_id, (SELECT lookup_id FROM customers WHERE id = a.customer_id) AS lookup_id, a.currency,
      a.payment_id_key, a.announced`;
  // Only for a new currency, which is rare: the statements read all open charges of the merchant.
  if (decided.terms && decided.terms.currency !== changed.before) {
    // The open charges counted in the old currency, and no sum has them now. A later decline must
    // not be subtracted from the new currency's spending. `books verify` must not expect the
    // settled charges in it. A bank file locks charges in the same order.
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
  const { id, sequence, at } = changed;
  await writeTransitions(trx, {
    event: 'agreement.decided',
    cause: 'bank',
    row: { id, sequence, at },
    details: { ...decided },
    announces: { 'decision.updated': unasked ? toMerchant(trx, decided, changed) : undefined },
  });
  await syncSchedulesWithAgreement(trx, agreementId, 'bank');
}

function toMerchant(trx: Executor, { decision }: NewDecision, changed: Decided) {
  const { id, merchantId, customerId, lookupId, paymentIdKey, currency, announced } = changed;
  return {
    entityId: merchantId,
    item: {
      id,
      sequence: announced,
      customerId,
      lookupID: lookupId,
      paymentID: makePaymentId(trx.keyring, paymentIdKey, id, merchantId),
      customerDecision: decision,
      currency,
    },
  };
}
