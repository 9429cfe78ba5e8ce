import { Failure } from '../../domain/failures';
import type { CustomerDecision, Decision, IntentStatus } from '../../domain/lifecycle';
import {
  isSame,
  NO_LIMITS,
  readLimits,
  requireSpan,
  tightest,
  type GivenLimits,
  type SpendingLimits,
} from '../../domain/spending-limit';
import { lockAgreementsWhere, type Agreement } from '../agreement/agreement';
import { limitsFrom, storedLimits, type StoredLimits } from '../agreement/spending-limit';
import { stopCharges, type PendingCharge } from '../billing-request/stop-charges';
import type { Executor } from '../pool/connection';
import { raw, sql, type Fragment } from '../pool/statement';
import { windowPassed } from '../clock/window-passed';
import { applyDecision } from '../decision/apply-decision';
import { closeExpiredIntent, endIntents, ENDED_COLUMNS, type EndedIntent } from './end-intents';

/** The customer's answer, as the bank relays it. */
interface IntentAnswer {
  /** Left out, the open intent is meant, with what its predecessors asked. */
  intentId?: string | undefined;
  customerId: string;
  merchantId: string;
  lookupId: string;
  customerDecision: CustomerDecision;
  spendingLimits?: GivenLimits | undefined;
  blockMerchant: boolean;
}

interface IntentAnswerResult {
  intentId: string;
  status: 'approved' | 'declined' | 'superseded';
  customerDecision: CustomerDecision | null;
  currency: string;
  limits: SpendingLimits;
  /** False if another answer, or the window, came first. */
  agreed: boolean;
}

/** With the charges that a denial of the agreement leaves open. */
type IntentAnswered = IntentAnswerResult & { pending: PendingCharge[] };

/**
 * Takes the answer to the open intent of a merchant and a customer.
 *
 * @throws Failure not_found (the two never had an intent); merchant_not_trusted (for
 *   `approve_recurring`: the intent stays open); invalid_request (limits that cannot be)
 */
export async function answerIntent(
  trx: Executor,
  bankId: string,
  given: IntentAnswer,
): Promise<IntentAnswered> {
  // Blocking a merchant refuses, in spite of the rest of the answer.
  const answer = given.blockMerchant ? { ...given, customerDecision: 'deny' as const } : given;
  const { customerId, merchantId, lookupId } = answer;
  const [agreement] = await lockAgreementsWhere(
    trx,
    sql`a.merchant_id = ${merchantId} AND a.customer_id = ${customerId} AND a.bank_id = ${bankId}
      AND c.lookup_id = ${lookupId}`,
  );
  const intent = agreement && (await findIntent(trx, agreement.id, answer.intentId));
  if (!agreement || !intent) {
    throw new Failure('not_found', 'There is no billing intent of this merchant for this customer.');
  }
  const limits = limitsOfAnswer(answer, intent);
  const open = intent.status === 'pending' && intent.inTime;
  if (open && answer.customerDecision === 'approve_recurring' && !agreement.trusted) {
    throw new Failure(
      'merchant_not_trusted',
      'This merchant is not trusted, so it cannot have a standing approval. Ask the customer for approve_once.',
      { data: { intentId: intent.id, status: intent.status } },
    );
  }
  if (open && isApproval(answer)) requireSpan(limits, intent.now, 'spendingLimits');
  const stopDenied = async () =>
    answer.customerDecision === 'deny' ? stopCharges(trx, agreement.id, 'bank') : [];
  const ended = open ? await closeByDecision(trx, sql`i.id = ${intent.id}`, answer, limits) : undefined;
  if (!ended) {
    // A clock that steps back between two statements leaves the intent open: it is judged anew.
    if (intent.status === 'pending' && !(await closeExpiredIntent(trx, intent.id)))
      return answerIntent(trx, bankId, given);
    return { ...standing(intent, answer, limits), pending: await stopDenied() };
  }
  await applyAnswer(trx, agreement, intent, { ...answer, limits });
  await endIntents(trx, [ended], { cause: 'bank', signal: 'bankAnswered' });
  return {
    intentId: ended.id,
    status: isApproval(answer) ? 'approved' : 'declined',
    customerDecision: answer.customerDecision,
    currency: intent.currency,
    limits,
    agreed: true,
    pending: await stopDenied(),
  };
}

/** The tighter of asked and answered, member by member; a member left out was not tightened. */
function limitsOfAnswer({ intentId, spendingLimits }: IntentAnswer, intent: Asked): SpendingLimits {
  const asked = limitsFrom(intent.asked);
  const given = readLimits(spendingLimits, intent.currency, 'spendingLimits');
  return tightest(intentId === undefined ? tightest(asked, limitsFrom(intent.askedBefore)) : asked, {
    ...NO_LIMITS,
    ...given,
  });
}

export const isApproval = ({ customerDecision }: Pick<IntentAnswer, 'customerDecision'>) =>
  customerDecision === 'approve_once' || customerDecision === 'approve_recurring';

/**
 * How the intent ended before this answer: by its window, if it was pending. Each end locks the
 * agreement first, so the row is as it was read.
 */
function standing(intent: Asked, answer: IntentAnswer, limits: SpendingLimits): IntentAnswerResult {
  const { id: intentId, status, customerDecision, currency } = intent;
  const repeats =
    customerDecision === answer.customerDecision &&
    intent.blockMerchant === answer.blockMerchant &&
    (!isApproval(answer) || isSame(limitsFrom(intent.limits), limits));
  const ended = status === 'pending' ? 'declined' : status;
  return { intentId, status: ended, customerDecision, currency, limits, agreed: repeats };
}

type AnyIntent = Omit<EndedIntent, 'status' | 'closedAt'> & { status: IntentStatus; closedAt: Date | null };

type Asked = AnyIntent & {
  asked: StoredLimits | null;
  askedBefore: StoredLimits | null;
  now: Date;
  inTime: boolean;
  /** The customer's decision at the time of the intent. */
  decidedBefore: Decision;
  /** A charge's answer has brought the customer's last decision, after the intent. */
  grantedSince: boolean;
  /** The terms that this grant replaced, if it did. */
  currencyBefore: string | null;
  limitsBefore: StoredLimits | null;
};

/** The latest intent, if none is named. */
async function findIntent(trx: Executor, agreementId: string, intentId: string | undefined) {
  return trx.row<Asked>`
    SELECT ${raw(ENDED_COLUMNS)}, to_jsonb(i.asked) AS asked, to_jsonb(i.asked_before) AS asked_before,
      business_now(i.merchant_id) AS now, NOT ${windowPassed(sql`business_now(i.merchant_id)`)} AS in_time,
      i.decided_before, coalesce(a.granted_at >= i.created_at, false) AS granted_since, a.currency_before,
      to_jsonb(a.limits_before) AS limits_before
    FROM intents i JOIN agreements a ON a.id = i.agreement_id
    WHERE i.agreement_id = ${agreementId} AND i.id = coalesce(${intentId ?? null}, i.id)
    ORDER BY i.status = 'pending' DESC, i.id DESC LIMIT 1`;
}

/** Ends the open intent among those of `which` by the customer's word. */
export async function closeByDecision(
  trx: Executor,
  which: Fragment,
  answer: Pick<IntentAnswer, 'customerDecision' | 'blockMerchant'>,
  limits?: SpendingLimits,
): Promise<EndedIntent | undefined> {
  const approved = isApproval(answer);
  const status = approved ? 'approved' : 'declined';
  const refusal = answer.customerDecision === 'suspended' ? 'suspended' : 'denied';
  const reason = approved ? null : answer.blockMerchant ? 'blocked' : refusal;
  return trx.row<EndedIntent>`
    UPDATE intents i SET
      status = ${status}, reason = ${reason},
      customer_decision = ${answer.customerDecision}, block_merchant = ${answer.blockMerchant},
      limits = ${storedLimits(limits)}, closed_at = business_now(i.merchant_id), sequence = i.sequence + 1
    WHERE ${which} AND i.status = 'pending' AND NOT ${windowPassed(sql`business_now(i.merchant_id)`)}
    RETURNING ${raw(ENDED_COLUMNS)}`;
}

/**
 * Applies the answer to the agreement. A refusal of new terms leaves the old terms as they are.
 *
 * A one-time bill may have brought a first approval after the intent. The customer's last word
 * holds: a denial in the same currency ends that approval, too. An agreement that was suspended
 * before is suspended again, under its former terms. The merchant was told of the approval, and is
 * told of its end. An approval that the customer gave unasked stays.
 */
async function applyAnswer(
  trx: Executor,
  agreement: Agreement,
  asked: Asked,
  answer: IntentAnswer & { limits: SpendingLimits },
): Promise<void> {
  const { currency, decidedBefore, grantedSince } = asked;
  const decision = answer.customerDecision;
  if (answer.blockMerchant) {
    await applyDecision(trx, agreement.id, { decision: 'deny', blocked: true });
  } else if (isApproval(answer)) {
    const terms = { currency, limits: answer.limits };
    await applyDecision(trx, agreement.id, { decision, blocked: false, terms, renews: true });
  } else if (decision === 'suspended' || agreement.decision === 'pending') {
    await applyDecision(trx, agreement.id, { decision, blocked: false });
  } else if (grantedSince && !decidedBefore.startsWith('approve') && agreement.currency === currency) {
    const before = decidedBefore === 'suspended' ? decidedBefore : decision;
    const restored = { decision: before, blocked: false, ...termsBefore(asked) };
    await applyDecision(trx, agreement.id, restored, 'bank');
  }
}

const termsBefore = ({ currencyBefore: currency, limitsBefore }: Asked) =>
  currency === null ? {} : { terms: { currency, limits: limitsFrom(limitsBefore) } };
