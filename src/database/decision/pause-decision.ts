import { Failure, invalidRequest } from '../../domain/failures';
import type { AgreementState } from '../../domain/lifecycle';
import { lockAgreementsWhere } from '../agreement/agreement';
import { STATE } from '../agreement/spending-limit';
import type { Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { syncSchedulesWithAgreement } from '../schedule/align-schedules';
import { holdByPause } from '../schedule/hold-schedules';
import { wakeConsent } from './keep-consent';
import { recordChange } from './record-change';

/** A customer's pause at the bank: nothing is charged, and decision and limits stay. */

/**
 * @param until left out: until the customer resumes. Of a pause it changes the end
 * @throws Failure not_found; consent_not_active; invalid_request (`until` is not to come)
 */
export async function pauseDecision(
  trx: Transaction,
  bankId: string,
  agreementId: string,
  until: Date | undefined,
): Promise<void> {
  const at = await lockActive(trx, bankId, agreementId);
  if (until !== undefined && until <= at) {
    throw invalidRequest([{ path: 'until', message: 'must be in the future' }]);
  }
  const paused = await trx.row`
    UPDATE agreements SET paused_until = ${until ?? 'infinity'}, sequence = sequence + 1, updated_at = ${at}
    WHERE id = ${agreementId} AND paused_until IS DISTINCT FROM ${until ?? 'infinity'}::timestamptz RETURNING id`;
  if (paused) await follow(trx, { id: agreementId, at }, 'agreement.paused', until ?? null);
}

/** @throws Failure not_found; consent_not_active */
export async function resumeDecision(trx: Transaction, bankId: string, agreementId: string): Promise<void> {
  const at = await lockActive(trx, bankId, agreementId);
  const resumed = await trx.row`
    UPDATE agreements SET paused_until = NULL, sequence = sequence + 1, updated_at = ${at}
    WHERE id = ${agreementId} AND paused_until > ${at} RETURNING id`;
  if (resumed) await follow(trx, { id: agreementId, at }, 'agreement.resumed', at);
}

async function lockActive(trx: Transaction, bankId: string, agreementId: string): Promise<Date> {
  const [agreement] = await lockAgreementsWhere(trx, sql`a.id = ${agreementId} AND a.bank_id = ${bankId}`);
  if (!agreement) throw new Failure('not_found', 'There is no such decision.');
  const { at, state } = await trx.oneRow<{ at: Date; state: AgreementState }>`
    SELECT period.at, ${raw(STATE)} AS state
    FROM agreements a, LATERAL (SELECT business_now(a.merchant_id) AS at) AS period WHERE a.id = ${agreementId}`;
  if (state === 'pending' || state === 'revoked' || state === 'expired') {
    throw new Failure('consent_not_active', `The permission is ${state}.`, { data: { state } });
  }
  return at;
}

async function follow(
  trx: Transaction,
  agreement: { id: string; at: Date },
  event: 'agreement.paused' | 'agreement.resumed',
  until: Date | null,
): Promise<void> {
  await holdByPause(trx, agreement, until);
  await recordChange(trx, agreement, { event, cause: 'bank', details: { until } });
  await wakeConsent(trx, agreement);
  await syncSchedulesWithAgreement(trx, agreement.id, 'bank');
}
