import { Failure, invalidRequest, type Problem } from '../../domain/failures';
import type { Decision, IntentStatus } from '../../domain/lifecycle';
import { parseAmount } from '../../domain/money';
import { lockAgreementsWhere, type Agreement } from '../agreement/agreement';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { windowPassed } from '../clock/window-passed';
import { applyDecision, applyUnasked } from '../decision/apply-decision';
import { closeExpiredIntent } from './close-expired-intent';
import { endIntents, ENDED_COLUMNS, type CustomerDecision, type EndedIntent } from './end-intents';

/** The customer's answer, as the bank relays it. Limits are in major units. */
interface IntentAnswer {
  customerId: string;
  merchantId: string;
  lookupId: string;
  customerDecision: CustomerDecision;
  spendingLimits: SpendingLimits | undefined;
  blockMerchant: boolean;
}

interface IntentAnswerResult {
  intentId: string;
  status: 'approved' | 'declined' | 'superseded';
  customerDecision: CustomerDecision | null;
  /** False if another answer, or the window, came first. */
  agreed: boolean;
}

/**
 * Takes the answer to the open intent of a merchant and a customer.
 *
 * @throws Failure not_found (the two never had an intent); merchant_not_trusted (for
 *   `approve_recurring`: the intent stays open); invalid_request (limits that are not amounts)
 */
export async function answerIntent(
  trx: Executor,
  bankId: string,
  given: IntentAnswer,
): Promise<IntentAnswerResult> {
  // Blocking a merchant refuses, in spite of the rest of the answer.
  const answer = given.blockMerchant ? { ...given, customerDecision: 'deny' as const } : given;
  const { customerId, merchantId, lookupId } = answer;
  const [agreement] = await lockAgreementsWhere(
    trx,
    sql`a.merchant_id = ${merchantId} AND a.customer_id = ${customerId} AND a.bank_id = ${bankId}
      AND c.lookup_id = ${lookupId}`,
  );
  const intent = agreement && (await latestIntent(trx, agreement.id));
  if (!agreement || !intent) {
    throw new Failure('not_found', 'There is no billing intent of this merchant for this customer.');
  }
  const limits = limitsOf(answer.spendingLimits, intent.currency);
  const open = intent.status === 'pending' && intent.inTime;
  if (open && answer.customerDecision === 'approve_recurring' && !agreement.trusted) {
    throw new Failure(
      'merchant_not_trusted',
      'This merchant is not trusted, so it cannot have a standing approval. Ask the customer for approve_once.',
      { data: { intentId: intent.id, status: intent.status } },
    );
  }
  const ended = open ? await closeByAnswer(trx, intent.id, answer, limits) : undefined;
  if (!ended) {
    // A clock that steps back between two statements leaves the intent open: it is judged anew.
    if (intent.status === 'pending' && !(await closeExpiredIntent(trx, intent.id)))
      return answerIntent(trx, bankId, given);
    return standing(intent, answer, limits);
  }
  await applyAnswer(trx, agreement, intent, { ...answer, ...limits });
  await endIntents(trx, [ended], { cause: 'bank', signal: 'bankAnswered' });
  return {
    intentId: ended.id,
    status: isApproval(answer) ? 'approved' : 'declined',
    customerDecision: answer.customerDecision,
    agreed: true,
  };
}

const isApproval = ({ customerDecision }: Pick<IntentAnswer, 'customerDecision'>) =>
  customerDecision === 'approve_once' || customerDecision === 'approve_recurring';

/**
 * How the intent ended before this answer: by its window, if it was pending. Each end locks the
 * agreement first, so the row is as it was read.
 */
function standing(intent: Asked, answer: IntentAnswer, limits: Limits): IntentAnswerResult {
  const { id: intentId, status, customerDecision } = intent;
  const repeats =
    customerDecision === answer.customerDecision &&
    intent.blockMerchant === answer.blockMerchant &&
    intent.dailyLimit === limits.daily &&
    intent.monthlyLimit === limits.monthly;
  return { intentId, status: status === 'pending' ? 'declined' : status, customerDecision, agreed: repeats };
}

/** In major units; a limit that is left out or null does not exist. */
export interface SpendingLimits {
  daily?: number | null | undefined;
  monthly?: number | null | undefined;
}

interface Limits {
  daily: bigint | null;
  monthly: bigint | null;
}

/** @throws Failure invalid_request with each limit that is not an amount of the currency */
export function limitsOf(spendingLimits: SpendingLimits | undefined, currency: string): Limits {
  const problems: Problem[] = [];
  const limitOf = (name: keyof Limits): bigint | null => {
    const value = spendingLimits?.[name];
    if (value === undefined || value === null) return null;
    const parsed = parseAmount(value, currency);
    if (parsed.ok) return parsed.value;
    problems.push({ path: `spendingLimits.${name}`, message: parsed.reason });
    return null;
  };
  const limits = { daily: limitOf('daily'), monthly: limitOf('monthly') };
  if (problems.length > 0) throw invalidRequest(problems);
  return limits;
}

type AnyIntent = Omit<EndedIntent, 'status' | 'closedAt'> & { status: IntentStatus; closedAt: Date | null };

type Asked = AnyIntent & {
  inTime: boolean;
  /** The customer's decision at the time of the intent. */
  decidedBefore: Decision;
  /** A charge's answer has brought the customer's last decision, after the intent. */
  grantedSince: boolean;
  /** The terms that this grant replaced, if it did. */
  currencyBefore: string | null;
  dailyLimitBefore: bigint | null;
  monthlyLimitBefore: bigint | null;
};

async function latestIntent(trx: Executor, agreementId: string) {
  return trx.row<Asked>`
    SELECT ${raw(ENDED_COLUMNS)}, NOT ${windowPassed(sql`business_now(i.merchant_id)`)} AS in_time,
      i.decided_before, coalesce(a.granted_at >= i.created_at, false) AS granted_since, a.currency_before,
      a.daily_limit_before, a.monthly_limit_before
    FROM intents i JOIN agreements a ON a.id = i.agreement_id
    WHERE i.agreement_id = ${agreementId} ORDER BY i.status = 'pending' DESC, i.id DESC LIMIT 1`;
}

async function closeByAnswer(
  trx: Executor,
  intentId: string,
  answer: IntentAnswer,
  limits: Limits,
): Promise<EndedIntent | undefined> {
  const approved = isApproval(answer);
  const status = approved ? 'approved' : 'declined';
  const refusal = answer.customerDecision === 'suspended' ? 'suspended' : 'denied';
  const reason = approved ? null : answer.blockMerchant ? 'blocked' : refusal;
  return trx.row<EndedIntent>`
    UPDATE intents i SET
      status = ${status}, reason = ${reason},
      customer_decision = ${answer.customerDecision}, block_merchant = ${answer.blockMerchant},
      daily_limit = ${limits.daily?.toString() ?? null}::bigint,
      monthly_limit = ${limits.monthly?.toString() ?? null}::bigint, closed_at = business_now(i.merchant_id),
      sequence = i.sequence + 1
    WHERE i.id = ${intentId} AND i.status = 'pending' AND NOT ${windowPassed(sql`business_now(i.merchant_id)`)}
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
  answer: IntentAnswer & Limits,
): Promise<void> {
  const { currency, decidedBefore, grantedSince } = asked;
  const decision = answer.customerDecision;
  if (answer.blockMerchant) {
    await applyDecision(trx, agreement.id, { decision: 'deny', blocked: true });
  } else if (isApproval(answer)) {
    const terms = { currency, dailyLimit: answer.daily, monthlyLimit: answer.monthly };
    await applyDecision(trx, agreement.id, { decision, blocked: false, terms });
  } else if (decision === 'suspended' || agreement.decision === 'pending') {
    await applyDecision(trx, agreement.id, { decision, blocked: false });
  } else if (grantedSince && !decidedBefore.startsWith('approve') && agreement.currency === currency) {
    const before = decidedBefore === 'suspended' ? decidedBefore : decision;
    const restored = { decision: before, blocked: false, ...termsBefore(asked) };
    await applyUnasked(trx, agreement.id, restored);
  }
}

const termsBefore = ({ currencyBefore: currency, dailyLimitBefore, monthlyLimitBefore }: Asked) =>
  currency === null
    ? {}
    : { terms: { currency, dailyLimit: dailyLimitBefore, monthlyLimit: monthlyLimitBefore } };
