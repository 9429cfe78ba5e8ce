import { formatInstant, type Frequency } from '../../domain/calendar';
import { Failure, invalidRequest, type Problem } from '../../domain/failures';
import type { Metadata } from '../../domain/metadata';
import { requireChargeable } from '../../domain/charge';
import { permitted } from '../../domain/recurring/recurring';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import { lockAgreements } from '../agreement/agreement';
import { limitsOf } from '../agreement/spending-limit';
import type { Transaction } from '../pool/connection';
import { newId } from '../identifier/new-id';
import { enqueueStarts } from '../outbox';
import { writeTransitions } from '../transition/write-transition';
import { openPaymentId } from '../agreement/payment-id';

/** Creates recurring schedules: under which agreement, and on which terms. */

export interface ScheduleTerms {
  customerId: string;
  paymentId: string;
  amount: bigint;
  currency: string;
  frequency: Frequency;
  interval: number;
  /** Now, where none is given. */
  startAt?: Date | undefined;
  endAt?: Date | undefined;
  maxBillings?: number | undefined;
  description?: string | undefined;
  metadata: Metadata;
}

/** A start this far back is one that took a while to arrive, not a wish to bill the past. */
const START_GRACE_MS = 5 * 60_000;

/**
 * Creates a schedule, and starts its workflow.
 *
 * @param caller the merchant itself, or the provider that created it
 * @returns its id
 * @throws Failure not_found (no agreement of the caller with this paymentID and customer),
 *   invalid_request (the currency, or the dates by the merchant's clock), not_approved,
 *   limit_reached, consent_expired
 */
export async function createSchedule(
  trx: Transaction,
  caller: { entityId: string; role: 'merchant' | 'provider' },
  terms: ScheduleTerms,
): Promise<string> {
  const [agreement] = await lockAgreements(trx, await findAgreement(trx, caller.entityId, terms));
  // A provider's own clock is the real one. The merchant of the paymentID, if any, decides which
  // counts.
  const merchantId = agreement?.merchantId ?? caller.entityId;
  const merchant = await trx.oneRow<{ trusted: boolean; active: boolean; bankActive: boolean; now: Date }>`
    SELECT trust_level = 'trusted' AS trusted, status = 'active' AS active, business_now(id) AS now,
      coalesce((SELECT status = 'active' FROM entities
      WHERE id = ${agreement?.bankId ?? null}), true) AS bank_active
    FROM entities WHERE id = ${merchantId}`;
  const { now } = merchant;
  const startAt = terms.startAt ?? now;
  const problems = problemsOf(terms, agreement?.currency, startAt, now);
  if (problems.length > 0) throw invalidRequest(problems);
  if (!agreement) {
    throw new Failure('not_found', 'There is no agreement with this paymentID and customerId.');
  }
  const standing = {
    ...agreement,
    merchantTrusted: merchant.trusted,
    merchantActive: merchant.active,
    bankActive: merchant.bankActive,
    // A schedule may wait for the permission to begin, or for a pause to end.
    span: null,
  };
  if (permitted(standing, terms.currency) !== 'charge') {
    throw whyNot(merchant);
  }
  const { limits } = await limitsOf(trx, agreement.id);
  requireChargeable(limits, { amount: terms.amount, startAt });
  const id = newId('schedule');
  const { id: agreementId, customerId, bankId } = agreement;
  const { amount, currency, frequency, interval, endAt = null, maxBillings = null } = terms;
  await trx.rows`
    INSERT INTO schedules (id, agreement_id, merchant_id, customer_id, bank_id, amount, currency, description,
      metadata, frequency, every, start_at, end_at, max_billings, next_due_at, acts_at, created_at,
      updated_at)
    VALUES (${id}, ${agreementId}, ${merchantId}, ${customerId}, ${bankId}, ${amount}, ${currency},
      ${terms.description ?? null},
      ${JSON.stringify(terms.metadata)}::jsonb, ${frequency}, ${interval}, ${startAt}, ${endAt},
      ${maxBillings}, ${startAt}, ${now}, ${now}, ${now})`;
  await writeTransitions(trx, {
    event: 'schedule.created',
    cause: caller.role,
    row: { id, sequence: 1, at: now },
    details: { agreementId, amount, currency, frequency, interval, startAt, endDate: endAt, maxBillings },
  });
  await enqueueStarts(trx, [
    {
      workflowId: workflowIds.recurring(id),
      attributes: { status: 'active', merchantId, bankId, nextBillingDate: formatInstant(startAt) },
      summary: workflowSummary.recurring({ ...terms, merchantId }),
    },
  ]);
  return id;
}

/**
 * The agreement that a paymentID stands for, if any. The string is bound to its merchant. A
 * provider's call tries it on each of its merchants with an agreement with this customer.
 */
async function findAgreement(
  trx: Transaction,
  callerId: string,
  { customerId, paymentId }: ScheduleTerms,
): Promise<string[]> {
  const candidates = await trx.rows<{ merchantId: string; agreementId: string }>`
    SELECT a.merchant_id, a.id AS agreement_id
    FROM agreements a JOIN entities m ON m.id = a.merchant_id
    WHERE a.customer_id = ${customerId} AND ${callerId} IN (m.id, m.provider_id)`;
  return candidates.flatMap(({ merchantId, agreementId }) =>
    openPaymentId(trx.keyring, paymentId, merchantId) === agreementId ? [agreementId] : [],
  );
}

function problemsOf(
  terms: ScheduleTerms,
  agreedCurrency: string | undefined,
  startAt: Date,
  now: Date,
): Problem[] {
  const problems: Problem[] = [];
  if (agreedCurrency !== undefined && terms.currency !== agreedCurrency) {
    problems.push({ path: 'currency', message: `must be ${agreedCurrency}, in which this agreement bills` });
  }
  if (startAt.getTime() < now.getTime() - START_GRACE_MS) {
    problems.push({ path: 'startDate', message: 'must not be more than 5 minutes in the past' });
  }
  if (terms.endAt !== undefined && terms.endAt <= startAt) {
    problems.push({ path: 'endDate', message: 'must be after the start date' });
  }
  return problems;
}

function whyNot({ trusted, active, bankActive }: Record<'trusted' | 'active' | 'bankActive', boolean>) {
  if (!active || !bankActive) return new Failure('party_disabled', 'The merchant or the bank is disabled.');
  return trusted
    ? new Failure('not_approved', 'The customer has not approved recurring billing by this merchant.')
    : new Failure('merchant_not_trusted', 'Recurring billing needs a merchant that the network trusts.');
}
