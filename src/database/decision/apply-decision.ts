import type { Decision } from '../../domain/lifecycle';
import type { SpendingLimits } from '../../domain/spending-limit';
import type { Cause } from '../../domain/words/timeline';
import type { Executor } from '../pool/connection';
import { recountSpending, storedLimits } from '../agreement/spending-limit';
import { syncSchedulesWithAgreement } from '../schedule/align-schedules';
import { holdByPause, holdByTerms } from '../schedule/hold-schedules';
import { wakeConsent } from './keep-consent';
import { recordChange } from './record-change';

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

/**
 * Writes the customer's decision on a locked agreement, and updates its schedules. A change of
 * currency counts the spending again, for the sums were in the old currency.
 *
 * @param unasked the party that decides where no intent asked, and a bank that has not said it is
 *   told. Left out, a bank answers an intent, by whose end the merchant is told
 */
export async function applyDecision(
  trx: Executor,
  agreementId: string,
  decided: NewDecision,
  unasked?: Cause,
): Promise<void> {
  const cause = unasked ?? 'bank';
  const { terms, decision, blocked } = decided;
  const replace = terms !== undefined;
  const renews = decided.renews === true;
  const withCharge = decided.withCharge === true;
  // A merchant that gives the agreement up must not end the customer's pause.
  const endsPause = decision === 'deny' && cause === 'bank';
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
      paused_until = CASE WHEN NOT ${endsPause} THEN paused_until END,
      currency_before = CASE WHEN ${withCharge} AND ${replace} THEN currency END,
      limits_before = CASE WHEN ${withCharge} AND ${replace} THEN limits END,
      currency = coalesce(${terms?.currency ?? null}, currency)
    FROM (SELECT business_now(merchant_id) AS at, currency AS before FROM agreements
          WHERE id = ${agreementId}) AS moment
    WHERE a.id = ${agreementId}
    RETURNING moment.at, moment.before, a.currency`;
  if (currency !== before) await recountSpending(trx, agreementId);
  if (terms) await holdByTerms(trx, { id: agreementId, at }, terms.limits);
  if (endsPause) await holdByPause(trx, { id: agreementId, at }, at);
  await recordChange(
    trx,
    { id: agreementId, at },
    { event: 'agreement.decided', cause, byIntent: unasked === undefined, details: { ...decided } },
  );
  await wakeConsent(trx, { id: agreementId, at });
  await syncSchedulesWithAgreement(trx, agreementId, cause);
}
