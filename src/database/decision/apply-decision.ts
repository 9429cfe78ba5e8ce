import type { AgreementState, Decision } from '../../domain/lifecycle';
import type { Executor } from '../pool/connection';
import { shownLimits, type SpendingLimits } from '../../domain/spending-limit';
import type { Cause } from '../../domain/words/timeline';
import { raw } from '../pool/statement';
import {
  limitsFrom,
  recountSpending,
  STATE,
  storedLimits,
  type StoredLimits,
} from '../agreement/spending-limit';
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
  return decide(trx, agreementId, decided, { cause: 'bank', unasked: false });
}

/** Applies a decision that no intent asked for. A bank that has not said it is told, too. */
export function applyUnasked(
  trx: Executor,
  agreementId: string,
  decided: NewDecision,
  cause: Cause,
): Promise<void> {
  return decide(trx, agreementId, decided, { cause, unasked: true });
}

/**
 * Writes the customer's decision on a locked agreement, and updates its schedules. A change of
 * currency counts the spending again, for the sums were in the old currency.
 */
async function decide(
  trx: Executor,
  agreementId: string,
  decided: NewDecision,
  { cause, unasked }: { cause: Cause; unasked: boolean },
): Promise<void> {
  const { terms, decision, blocked } = decided;
  const replace = terms !== undefined;
  const renews = decided.renews === true;
  const withCharge = decided.withCharge === true;
  const { at, before, currency } = await trx.oneRow<{ at: Date; before: string; currency: string }>`
    UPDATE agreements a SET
      decision = ${decision}, approved = approved OR starts_with(${decision}, 'approve'), blocked = ${blocked},
      sequence = sequence + 1, updated_at = at,
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
    RETURNING moment.at, moment.before, a.currency`;
  if (currency !== before) await recountSpending(trx, agreementId);
  if (terms) await holdByTerms(trx, { id: agreementId, at }, terms.limits);
  const tells = { merchant: unasked, bank: unasked && cause !== 'bank' };
  await recordChange(
    trx,
    { id: agreementId, at },
    { event: 'agreement.decided', cause, tells, details: { ...decided } },
  );
  await syncSchedulesWithAgreement(trx, agreementId, cause);
}

interface Changed extends Row {
  decision: Decision;
  blocked: boolean;
  state: AgreementState;
  currency: string;
  limits: StoredLimits | null;
  merchantId: string;
  customerId: string;
  bankId: string;
  lookupId: string;
  paymentIdKey: string;
  announced: number;
  announcedToBank: number;
}

/** Records a change that the caller has made and counted in `sequence`, and tells of it. */
async function recordChange(
  trx: Executor,
  { id, at }: { id: string; at: Date },
  change: {
    event: 'agreement.decided';
    cause: Cause;
    tells: { merchant: boolean; bank: boolean };
    details: Record<string, unknown>;
  },
): Promise<void> {
  const { tells, details, ...recorded } = change;
  const changed = await trx.oneRow<Changed>`
    UPDATE agreements a SET announced = announced + ${tells.merchant ? 1 : 0},
      announced_to_bank = announced_to_bank + ${tells.bank ? 1 : 0}
    FROM (SELECT ${at}::timestamptz AS at) AS period
    WHERE a.id = ${id}
    RETURNING a.id, a.sequence, period.at, a.decision, a.blocked, ${raw(STATE)} AS state, a.currency,
      jsonb_strip_nulls(to_jsonb(a.limits)) AS limits, a.merchant_id, a.customer_id, a.bank_id,
      (SELECT lookup_id FROM customers WHERE id = a.customer_id) AS lookup_id, a.payment_id_key,
      a.announced, a.announced_to_bank`;
  const { merchantId, bankId, sequence, decision, blocked, state, currency, limits } = changed;
  const { announced, announcedToBank } = changed;
  const item = itemOf(trx, changed);
  const told = [
    ...(tells.merchant ? [{ entityId: merchantId, item: { ...item, sequence: announced } }] : []),
    ...(tells.bank ? [{ entityId: bankId, item: { ...item, sequence: announcedToBank } }] : []),
  ];
  await writeTransitions(trx, {
    ...recorded,
    row: { id, sequence, at },
    details: { ...details, decision, blocked, state, terms: { currency, limits } },
    announces: { 'decision.updated': told },
  });
}

function itemOf(trx: Executor, changed: Changed) {
  const { id, merchantId, customerId, lookupId, paymentIdKey, decision, state, currency, limits } = changed;
  return {
    id,
    customerId,
    lookupID: lookupId,
    paymentID: makePaymentId(trx.keyring, paymentIdKey, id, merchantId),
    customerDecision: decision,
    state,
    currency,
    spendingLimits: shownLimits(limitsFrom(limits), currency),
  };
}
