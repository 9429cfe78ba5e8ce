import type { BillingRules } from '../../domain/billing-rules';
import { recordsOf } from '../pool/json';
import { Failure } from '../../domain/failures';
import { groupBy } from '../../domain/group';
import type { Metadata } from '../../domain/metadata';
import {
  membersSet,
  NO_LIMITS,
  readLimits,
  requireSpan,
  shownLimits,
  tightest,
  withoutAmounts,
  type GivenLimits,
  type ShownLimits,
  type SpendingLimits,
} from '../../domain/spending-limit';
import { termsInWords } from '../../domain/words/terms-in-words';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import { openAgreements, type Agreement } from '../agreement/agreement';
import { limitsFrom, storedLimits, type StoredLimits } from '../agreement/spending-limit';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { windowPassed } from '../clock/window-passed';
import { blocked, payerOrRefusal, payersAsked, payersToAsk } from '../customer/limit-prompts';
import { newId, newReference } from '../identifier/new-id';
import { enqueueStarts } from '../outbox';
import { endIntents, ENDED_COLUMNS, type EndedIntent } from './end-intents';
import { merchantProfile, type MerchantProfile, type Payer } from '../entity/read-parties';
import { makePaymentId } from '../agreement/payment-id';
import type { TransitionOf } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';

/** Creates billing intents: a merchant asks customers for permission to bill. */

interface IntentRequest {
  /** As the merchant sent it, and in its normal form. */
  lookupIds: { phrase: string; lookupId: string }[];
  currency: string;
  description: string;
  metadata?: Metadata | undefined;
  dueDate?: Date | undefined;
  spendingLimits?: GivenLimits | undefined;
}

type IntentItem = { phrase: string } & (
  { accepted: { intentId: string; reference: string } } | { refused: Failure }
);

interface NewIntent {
  id: string;
  reference: string;
  phrase: string;
  payer: Payer;
  agreement: Agreement;
}

/**
 * Accepts or refuses each customer by itself, and starts the workflow of each intent. An open
 * intent of the two parties is superseded; the customer's earlier approval holds until the new
 * intent is approved.
 */
export async function createIntents(
  trx: Executor,
  rules: BillingRules,
  merchantId: string,
  request: IntentRequest,
): Promise<IntentItem[]> {
  const lookupIds = request.lookupIds.map((one) => one.lookupId);
  // Prompts are taken before agreements are opened, or a customer who was not asked would have one.
  const payers = await payersToAsk(trx, rules, 'intent', lookupIds, merchantId);
  const agreements = await openAgreements(trx, merchantId, payersAsked(payers), request.currency);
  const agreementOf = new Map(agreements.map((agreement) => [agreement.customerId, agreement]));
  // Read under the agreements' locks, so that the intents of a pair have rising times.
  const merchant = await merchantProfile(trx, merchantId);
  const asked = { ...NO_LIMITS, ...readLimits(request.spendingLimits, request.currency, ASKED_AT) };
  requireSpan(asked, merchant.now, ASKED_AT);

  const items = request.lookupIds.map(
    ({ phrase, lookupId }): NewIntent | { phrase: string; refused: Failure } => {
      const payer = payerOrRefusal(payers, lookupId);
      if (payer instanceof Failure) return { phrase, refused: payer };
      const agreement = agreementOf.get(payer.customerId);
      if (!agreement) throw new Error(`${payer.customerId} has no agreement with ${merchantId}`);
      if (agreement.blocked) return { phrase, refused: blocked() };
      return { id: newId('intent'), reference: newReference(), phrase, payer, agreement };
    },
  );
  const intents = items.filter((item): item is NewIntent => !('refused' in item));
  const superseded = await supersede(trx, intents);
  const chained = intents.map((one) => ({
    ...one,
    askedBefore: before(superseded.get(one.agreement.id), request.currency),
  }));
  await insertIntents(trx, merchant, { ...request, ...rules, asked }, chained);
  await enqueueStarts(
    trx,
    intents.map(({ id, reference, payer: { bankId } }) => ({
      workflowId: workflowIds.intent(id),
      attributes: { status: 'pending', merchantId, bankId },
      summary: workflowSummary.intent({ reference, merchantId }),
    })),
  );
  return items.map((item) =>
    'refused' in item
      ? item
      : { phrase: item.phrase, accepted: { intentId: item.id, reference: item.reference } },
  );
}

/** The place of the limits in the body. */
const ASKED_AT = 'intentSettings.spendingLimits';

type Superseded = EndedIntent & { asked: StoredLimits | null; askedBefore: StoredLimits | null };

/**
 * Ends the open intents of the agreements. An intent whose window has passed is declined.
 *
 * @returns those that were superseded, by their agreement
 */
async function supersede(trx: Executor, intents: NewIntent[]): Promise<Map<string, Superseded>> {
  if (intents.length === 0) return new Map();
  const agreementIds = intents.map((intent) => intent.agreement.id);
  const merchantId = intents[0]?.agreement.merchantId;
  const ended = await trx.rows<Superseded>`
    UPDATE intents i SET
      status = CASE WHEN ${windowPassed(sql`now`)} THEN 'declined' ELSE 'superseded' END,
      reason = CASE WHEN ${windowPassed(sql`now`)} THEN 'expired' END,
      closed_at = now, sequence = i.sequence + 1
    FROM (SELECT business_now(${merchantId}) AS now) AS moment
    WHERE i.agreement_id = ANY(${agreementIds}) AND i.status = 'pending'
    RETURNING ${raw(ENDED_COLUMNS)}, to_jsonb(i.asked) AS asked, to_jsonb(i.asked_before) AS asked_before`;
  await endIntents(trx, ended, { cause: 'merchant', signal: 'intentClosed' });
  return new Map(ended.filter(({ status }) => status === 'superseded').map((one) => [one.agreementId, one]));
}

/** Limits that a superseded intent asked, as they hold for an intent in this currency. */
function before(superseded: Superseded | undefined, currency: string): SpendingLimits {
  if (!superseded) return NO_LIMITS;
  const asked = tightest(limitsFrom(superseded.asked), limitsFrom(superseded.askedBefore));
  return superseded.currency === currency ? asked : withoutAmounts(asked);
}

async function insertIntents(
  trx: Executor,
  merchant: MerchantProfile,
  request: IntentRequest & Pick<BillingRules, 'intentWindowS'> & { asked: SpendingLimits },
  intents: (NewIntent & { askedBefore: SpendingLimits })[],
): Promise<void> {
  if (intents.length === 0) return;
  const batchId = newId('batch');
  const at = merchant.now;
  const { asked: limits, currency } = request;
  const closesAt = at.getTime() + request.intentWindowS * 1000;
  const expiresAt = new Date(Math.min(closesAt, limits.validUntil?.getTime() ?? closesAt));
  const current = await limitsThatHold(trx, intents, currency);
  // A bank's intents share one webhook, which the first intent's workflow carries.
  const asked = [...groupBy(intents, ({ payer }) => payer.bankId).values()].flatMap((ofBank) => {
    const deliveryId = newId('delivery');
    const workflowId = workflowIds.intent(ofBank[0]?.id ?? '');
    return ofBank.map((intent) => ({ ...intent, webhook: { batchId, deliveryId, workflowId } }));
  });
  const inserted = recordsOf(
    asked.map(({ id, reference, payer, agreement, askedBefore, webhook }) => ({
      id,
      reference,
      agreementId: agreement.id,
      customerId: payer.customerId,
      bankId: payer.bankId,
      lookupId: payer.lookupId,
      workflowId: workflowIds.intent(id),
      bankDeliveryId: webhook.deliveryId,
      decidedBefore: agreement.decision,
      askedBefore: membersSet(askedBefore),
    })),
  );
  const insertRows = () => trx.rows`
    INSERT INTO intents (id, reference, agreement_id, merchant_id, customer_id, bank_id, lookup_id, batch_id,
      currency, description, metadata, due_date, asked, asked_before, expires_at, workflow_id,
      bank_delivery_id, created_at, decided_before)
    SELECT i.id, i.reference, i.agreement_id, ${merchant.id}, i.customer_id, i.bank_id, i.lookup_id,
      ${batchId}, ${currency}, ${request.description}, ${JSON.stringify(request.metadata ?? {})}::jsonb,
      ${request.dueDate ?? null}::timestamptz, ${storedLimits(limits)}, i.asked_before, ${expiresAt},
      i.workflow_id, i.bank_delivery_id, ${at}, i.decided_before
    FROM jsonb_to_recordset(${inserted}::jsonb) AS i (id text, reference text, agreement_id text,
      customer_id text, bank_id text, lookup_id text, workflow_id text, bank_delivery_id text,
      decided_before text, asked_before spending_limits)`;
  const created = asked.map(
    ({ id, reference, payer, agreement, webhook }): TransitionOf<'intent.created'> => ({
      event: 'intent.created',
      cause: 'merchant',
      row: { id, sequence: 1, at },
      details: { agreementId: agreement.id, currency },
      announces: {
        'billing.intent': {
          entityId: payer.bankId,
          ...webhook,
          item: {
            intentId: id,
            sequence: 1,
            customerId: payer.customerId,
            customerEmail: payer.email,
            lookupID: payer.lookupId,
            paymentID: makePaymentId(trx.keyring, agreement.paymentIdKey, agreement.id, merchant.id),
            currency,
            merchant: merchant.shown,
            description: request.description,
            reference,
            dueDate: request.dueDate ?? expiresAt,
            spendingLimits: shownLimits(limits, currency),
            termsInWords: termsInWords(limits, currency, trx.timeZone),
            currentLimits: current.get(agreement.id),
          },
        },
      },
    }),
  );
  await Promise.all([insertRows(), writeTransitions(trx, created)]);
}

/** The limits under which the merchant bills already, where they are in this currency. */
async function limitsThatHold(
  trx: Executor,
  intents: NewIntent[],
  currency: string,
): Promise<Map<string, ShownLimits>> {
  const ids = intents.map(({ agreement }) => agreement.id);
  const held = await trx.rows<{ id: string; limits: StoredLimits | null }>`
    SELECT id, to_jsonb(limits) AS limits FROM agreements
    WHERE id = ANY(${ids}) AND decision IN ('approve_once', 'approve_recurring') AND currency = ${currency}`;
  return new Map(held.map(({ id, limits }) => [id, shownLimits(limitsFrom(limits), currency)]));
}
