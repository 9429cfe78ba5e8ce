import { Failure } from '../../domain/failures';
import type { Decision } from '../../domain/lifecycle';
import { row, rows, type Executor } from '../connection';
import { recordEvents } from '../event';
import type { Keyring } from '../keys/keyring';
import { recountSpending } from './agreement';
import { makePaymentId } from './payment-id';
import { syncSchedulesWithAgreement } from '../recurring/schedule';
import { announce } from '../webhook/webhook';

/** The customer's decision on an agreement, and all that follows from it. */

interface Terms {
  currency: string;
  dailyLimit: bigint | null;
  monthlyLimit: bigint | null;
}

export interface NewDecision {
  decision: Decision;
  blocked: boolean;
  /** What replaces the terms that stand, if anything does; limits that are null are none. */
  terms?: Terms;
  /**
   * It came with the answer to a charge, and was no answer to what the merchant asks for: a later
   * denial may bring back the terms that it replaces.
   */
  withCharge?: true;
}

/**
 * Writes the customer's decision on a locked agreement, and lets its schedules follow. A change of
 * currency counts what is spent anew, for the sums were of the other one.
 */
export async function applyDecision(
  trx: Executor,
  keyring: Keyring,
  agreementId: string,
  decided: NewDecision,
  cause: 'bank' | 'operator',
): Promise<void> {
  const changed = await row<{
    sequence: number;
    at: Date;
    before: string;
    day: string | null;
    month: string | null;
    customerId: string;
  }>(
    trx,
    `UPDATE agreements a SET
       decision = :decision, approved = approved OR starts_with(:decision, 'approve'), blocked = :blocked, sequence = sequence + 1, updated_at = at,
       spent_day_total = CASE WHEN currency = coalesce(:currency, currency) THEN spent_day_total ELSE 0 END,
       spent_month_total = CASE WHEN currency = coalesce(:currency, currency) THEN spent_month_total ELSE 0 END,
       daily_limit = CASE WHEN :replace THEN :dailyLimit::bigint ELSE daily_limit END,
       monthly_limit = CASE WHEN :replace THEN :monthlyLimit::bigint ELSE monthly_limit END,
       granted_at = CASE WHEN :withCharge THEN at END,
       currency_before = CASE WHEN :withCharge AND :replace THEN currency END,
       daily_limit_before = CASE WHEN :withCharge AND :replace THEN daily_limit END,
       monthly_limit_before = CASE WHEN :withCharge AND :replace THEN monthly_limit END,
       currency = coalesce(:currency, currency)
     FROM (SELECT business_now(merchant_id) AS at, currency AS before, spent_day AS day, spent_month AS month
           FROM agreements WHERE id = :agreementId) AS moment
     WHERE a.id = :agreementId
     RETURNING a.sequence, moment.at, moment.before, moment.day::text, moment.month::text,
       a.customer_id`,
    {
      agreementId,
      decision: decided.decision,
      blocked: decided.blocked,
      replace: decided.terms !== undefined,
      withCharge: decided.withCharge === true,
      currency: decided.terms?.currency ?? null,
      dailyLimit: decided.terms?.dailyLimit?.toString() ?? null,
      monthlyLimit: decided.terms?.monthlyLimit?.toString() ?? null,
    },
  );
  if (!changed) throw new Failure('not_found', 'There is no such agreement.');
  // A standing agreement hardly ever changes its currency, and these read all that the merchant has
  // open.
  if (decided.terms && decided.terms.currency !== changed.before) {
    // These charges were counted in the spending of the old currency, and no sum has them now. So
    // they count in no day or month any more: a decline that comes later must not be subtracted
    // from the spending in the new one, and `books verify` must not expect the settled ones in it.
    await rows(
      trx,
      // Taken in the order in which a bank's statement takes them, too.
      `WITH locked AS MATERIALIZED (
         SELECT id FROM billing_requests
         WHERE customer_id = :customerId AND agreement_id = :agreementId AND currency <> :currency
           AND (status = 'pending' OR counted_day = :day::date OR counted_month = :month::date)
         ORDER BY id FOR NO KEY UPDATE)
       UPDATE billing_requests b SET counted_day = NULL, counted_month = NULL FROM locked WHERE b.id = locked.id`,
      {
        agreementId,
        currency: decided.terms.currency,
        day: changed.day,
        month: changed.month,
        customerId: changed.customerId,
      },
    );
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
  await syncSchedulesWithAgreement(trx, keyring, agreementId, cause);
}

/** Tells the merchant of a decision that no intent of its own asked for. */
export async function announceDecision(trx: Executor, keyring: Keyring, agreementId: string): Promise<void> {
  const agreement = await row<{
    merchantId: string;
    customerId: string;
    lookupId: string;
    decision: Decision;
    currency: string;
    paymentIdKey: string;
    told: number;
  }>(
    trx,
    `UPDATE agreements a SET told = a.told + 1 FROM customers c
     WHERE a.id = :agreementId AND c.id = a.customer_id
     RETURNING a.merchant_id, a.customer_id, c.lookup_id, a.decision,
       a.currency, a.payment_id_key, a.told`,
    { agreementId },
  );
  if (!agreement) throw new Failure('not_found', 'There is no such agreement.');
  await announce(trx, keyring, [
    {
      entityId: agreement.merchantId,
      webhookType: 'decision.updated',
      items: [
        {
          id: agreementId,
          sequence: agreement.told,
          customerId: agreement.customerId,
          lookupID: agreement.lookupId,
          paymentID: makePaymentId(keyring, agreement.paymentIdKey, agreementId, agreement.merchantId),
          customerDecision: agreement.decision,
          currency: agreement.currency,
        },
      ],
    },
  ]);
}
