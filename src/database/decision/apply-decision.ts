import type { Decision } from '../../domain/lifecycle';
import type { Executor } from '../pool/connection';
import { membersSet, type SpendingLimits } from '../../domain/spending-limit';
import { recountSpending, storedLimits } from '../agreement/spending-limit';
import { makePaymentId } from '../agreement/payment-id';
import { syncSchedulesWithAgreement } from '../schedule/align-schedules';
import { holdByTerms } from '../schedule/hold-schedules';
import type { Row } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';

interface Terms {
  currency: string;
  limits: SpendingLimits;
}

export interface NewDecision {
  decision: Decision;
  blocked: boolean;
  /** The new terms; without them the old terms stay. */
  terms?: Terms;
  /** They are those of an approved intent: their total begins now. */
  renews?: true;
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
  const { terms, decision, blocked } = decided;
  const replace = terms !== undefined;
  const renews = decided.renews === true;
  const withCharge = decided.withCharge === true;
  const changed = await trx.oneRow<Decided>`
    UPDATE agreements a SET
      decision = ${decision}, approved = approved OR starts_with(${decision}, 'approve'), blocked = ${blocked},
      sequence = sequence + 1, announced = announced + ${unasked ? 1 : 0}, updated_at = at,
      limits = CASE WHEN ${replace} THEN ${storedLimits(terms?.limits)} ELSE limits END,
      terms = CASE WHEN ${renews} THEN terms + 1 ELSE terms END,
      terms_since = CASE WHEN ${renews} THEN at ELSE terms_since END,
      spent_total = CASE WHEN ${renews} THEN 0 ELSE spent_total END,
      charges_total = CASE WHEN ${renews} THEN 0 ELSE charges_total END,
      granted_at = CASE WHEN ${withCharge} THEN at END,
      currency_before = CASE WHEN ${withCharge} AND ${replace} THEN currency END,
      limits_before = CASE WHEN ${withCharge} AND ${replace} THEN limits END,
      currency = coalesce(${terms?.currency ?? null}, currency)
    FROM (SELECT business_now(merchant_id) AS at, currency AS before FROM agreements
          WHERE id = ${agreementId}) AS moment
    WHERE a.id = ${agreementId}
    RETURNING a.id, a.sequence, moment.at, moment.before, a.merchant_id, a.customer_id,
      (SELECT lookup_id FROM customers WHERE id = a.customer_id) AS lookup_id, a.currency, a.payment_id_key,
      a.announced`;
  if (changed.currency !== changed.before) await recountSpending(trx, agreementId);
  const { id, sequence, at } = changed;
  if (terms) await holdByTerms(trx, { id, at }, terms.limits);
  await writeTransitions(trx, {
    event: 'agreement.decided',
    cause: 'bank',
    row: { id, sequence, at },
    details: {
      ...decided,
      ...(terms && { terms: { currency: terms.currency, limits: membersSet(terms.limits) } }),
    },
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
