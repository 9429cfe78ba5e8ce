import type { AgreementState } from '../../domain/lifecycle';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import { lockAgreements } from '../agreement/agreement';
import { STATE } from '../agreement/spending-limit';
import { enqueueStarts } from '../outbox';
import type { Executor, Transaction } from '../pool/connection';
import { raw } from '../pool/statement';
import { syncSchedulesWithAgreement } from '../schedule/align-schedules';
import { recordChange } from './record-change';

/**
 * Moments at which an agreement changes by itself: its pause ends, its span begins or ends, or that
 * end comes near. The clock judges charges; the workflow tells the parties, and the schedules.
 */

const IS_APPROVED = `a.decision IN ('approve_once', 'approve_recurring')`;
/** The end of a span is told this long before. */
const NEAR_END = `(a.limits)."validUntil" - interval '14 days'`;

/** SQL: the first of these moments that is still to be acted on; null where there is none. */
const NEXT = `least(
  CASE WHEN period.at < a.paused_until THEN nullif(a.paused_until, 'infinity') END,
  CASE WHEN ${IS_APPROVED} AND period.at < (a.limits)."validFrom" THEN (a.limits)."validFrom" END,
  CASE WHEN ${IS_APPROVED} AND period.at < (a.limits)."validUntil" THEN
    CASE WHEN a.expiring_told = (a.limits)."validUntil" THEN (a.limits)."validUntil" ELSE ${NEAR_END} END END)`;

/** The workflow of a changed agreement starts, or looks again, where there is such a moment. */
export async function wakeConsent(trx: Executor, { id, at }: { id: string; at: Date }): Promise<void> {
  const woken = await trx.row<{ status: AgreementState; merchantId: string; bankId: string }>`
    UPDATE agreements a SET acts_at = least(a.acts_at, period.at) FROM (SELECT ${at}::timestamptz AS at) AS period
    WHERE a.id = ${id} AND (a.acts_at IS NOT NULL OR ${raw(NEXT)} IS NOT NULL)
    RETURNING ${raw(STATE)} AS status, a.merchant_id, a.bank_id`;
  if (!woken) return;
  const summary = workflowSummary.consent(woken);
  await enqueueStarts(trx, [
    { workflowId: workflowIds.consent(id), again: 'termsChanged', attributes: woken, summary },
  ]);
}

type OwnChange = 'agreement.resumed' | 'agreement.expired' | 'agreement.expiring';

export interface Kept {
  did: OwnChange[];
  state: AgreementState;
  /** Null where the agreement waits for nothing. */
  actsAt: Date | null;
  /** Milliseconds until then. */
  inMs: number;
}

/** Acts on the moments that have come. What is acted on comes no second time: the row tells. */
export async function keepConsent(trx: Transaction, agreementId: string): Promise<Kept> {
  await lockAgreements(trx, [agreementId]);
  const { at, did } = await trx.oneRow<{ at: Date; did: OwnChange[] }>`
    SELECT period.at, array_remove(ARRAY[
      CASE WHEN ${raw(IS_APPROVED)} AND a.acts_at <= (a.limits)."validUntil" AND (a.limits)."validUntil" <= period.at
        THEN 'agreement.expired' WHEN a.paused_until <= period.at THEN 'agreement.resumed' END,
      CASE WHEN ${raw(IS_APPROVED)} AND ${raw(NEAR_END)} <= period.at AND period.at < (a.limits)."validUntil"
        AND a.expiring_told IS DISTINCT FROM (a.limits)."validUntil" THEN 'agreement.expiring' END], NULL) AS did
    FROM agreements a, LATERAL (SELECT business_now(a.merchant_id) AS at) AS period WHERE a.id = ${agreementId}`;
  for (const event of did) {
    await trx.rows`
      UPDATE agreements a SET sequence = sequence + 1,
        paused_until = CASE WHEN paused_until > ${at} THEN paused_until END,
        expiring_told = CASE ${event} WHEN 'agreement.expiring' THEN (limits)."validUntil" ELSE expiring_told END
      WHERE a.id = ${agreementId}`;
    await recordChange(trx, { id: agreementId, at }, { event, cause: 'network', details: {} });
  }
  await syncSchedulesWithAgreement(trx, agreementId, 'network');
  const kept = await trx.oneRow<Omit<Kept, 'did'>>`
    UPDATE agreements a SET acts_at = ${raw(NEXT)} FROM (SELECT ${at}::timestamptz AS at) AS period
    WHERE a.id = ${agreementId}
    RETURNING ${raw(STATE)} AS state, a.acts_at,
      greatest(ceil(extract(epoch FROM a.acts_at - business_now(a.merchant_id)) * 1000), 0)::float8 AS in_ms`;
  return { did, ...kept };
}
