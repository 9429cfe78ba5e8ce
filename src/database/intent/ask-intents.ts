import type { BillingRules } from '../../domain/billing-rules';
import { recordsOf } from '../pool/json';
import { Failure } from '../../domain/failures';
import { groupBy } from '../../domain/group';
import type { Metadata } from '../../domain/metadata';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { blockersOf, openAgreements, type Agreement } from '../agreement/agreement';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { windowPassed } from '../clock/window-passed';
import { takePrompts } from '../customer/limit-prompts';
import { newId, newReference } from '../identifier/new-id';
import { endIntents, ENDED_COLUMNS, type EndedIntent } from './end-intents';
import { merchantProfile, payersByLookupId, type MerchantProfile, type Payer } from '../entity/read-parties';
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
  dueDate: Date | undefined;
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
 * Accepts or refuses each customer by itself. An open intent of the two parties is superseded; the
 * customer's earlier approval holds until the new intent is approved.
 */
export async function createIntents(
  trx: Executor,
  rules: BillingRules,
  merchantId: string,
  request: IntentRequest,
): Promise<{ items: IntentItem[]; intents: { id: string; reference: string; bankId: string }[] }> {
  const payers = await payersByLookupId(
    trx,
    request.lookupIds.map((one) => one.lookupId),
  );
  const payerOf = new Map(payers.map((payer) => [payer.lookupId, payer]));
  // A blocked merchant reaches no customer, so it uses up no prompt. Prompts are taken before
  // agreements are opened, or a customer who was not asked would have one.
  const blockers = await blockersOf(
    trx,
    merchantId,
    payers.map((payer) => payer.customerId),
  );
  const askedEnough = await takePrompts(
    trx,
    'intent',
    rules,
    payers.map((payer) => payer.customerId).filter((id) => !blockers.has(id)),
  );
  const toAsk = payers.filter((payer) => !askedEnough.has(payer.customerId));
  const agreements = await openAgreements(
    trx,
    merchantId,
    toAsk.map((payer) => ({ id: payer.customerId, bankId: payer.bankId })),
    request.currency,
  );
  const agreementOf = new Map(agreements.map((agreement) => [agreement.customerId, agreement]));
  // Read under the agreements' locks, so that the intents of a pair have rising times.
  const merchant = await merchantProfile(trx, merchantId);

  const items = request.lookupIds.map(
    ({ phrase, lookupId }): NewIntent | { phrase: string; refused: Failure } => {
      const payer = payerOf.get(lookupId);
      const tooOften = payer && askedEnough.get(payer.customerId);
      if (tooOften) return { phrase, refused: tooOften };
      const agreement = payer && agreementOf.get(payer.customerId);
      if (!payer || !agreement) {
        const message = 'There is no customer with this lookupID. Check the spelling with the customer.';
        return { phrase, refused: new Failure('not_found', message) };
      }
      if (agreement.blocked) {
        return { phrase, refused: new Failure('not_approved', 'The customer has blocked this merchant.') };
      }
      return { id: newId('intent'), reference: newReference(), phrase, payer, agreement };
    },
  );
  const intents = items.filter((item): item is NewIntent => !('refused' in item));
  await supersede(trx, intents);
  await insertIntents(trx, merchant, { ...request, ...rules }, intents);
  return {
    items: items.map((item) =>
      'refused' in item
        ? item
        : { phrase: item.phrase, accepted: { intentId: item.id, reference: item.reference } },
    ),
    intents: intents.map(({ id, reference, payer }) => ({ id, reference, bankId: payer.bankId })),
  };
}

/** Ends the open intents of the agreements. An intent whose window has passed is declined. */
async function supersede(trx: Executor, intents: NewIntent[]): Promise<void> {
  if (intents.length === 0) return;
  const agreementIds = intents.map((intent) => intent.agreement.id);
  const merchantId = intents[0]?.agreement.merchantId;
  const ended = await trx.rows<EndedIntent>`
    UPDATE intents i SET
      status = CASE WHEN ${windowPassed(sql`now`)} THEN 'declined' ELSE 'superseded' END,
      reason = CASE WHEN ${windowPassed(sql`now`)} THEN 'expired' END,
      closed_at = now, sequence = i.sequence + 1
    FROM (SELECT business_now(${merchantId}) AS now) AS moment
    WHERE i.agreement_id = ANY(${agreementIds}) AND i.status = 'pending'
    RETURNING ${raw(ENDED_COLUMNS)}`;
  await endIntents(trx, ended, { cause: 'merchant', signal: 'intentClosed' });
}

async function insertIntents(
  trx: Executor,
  merchant: MerchantProfile,
  request: IntentRequest & Pick<BillingRules, 'intentWindowS'>,
  intents: NewIntent[],
): Promise<void> {
  if (intents.length === 0) return;
  const batchId = newId('batch');
  const at = merchant.now;
  const expiresAt = new Date(at.getTime() + request.intentWindowS * 1000);
  // A bank's intents share one webhook, which the first intent's workflow carries.
  const asked = [...groupBy(intents, ({ payer }) => payer.bankId).values()].flatMap((ofBank) => {
    const deliveryId = newId('delivery');
    const workflowId = workflowIds.intent(ofBank[0]?.id ?? '');
    return ofBank.map((intent) => ({ ...intent, webhook: { batchId, deliveryId, workflowId } }));
  });
  const inserted = recordsOf(
    asked.map(({ id, reference, payer, agreement, webhook }) => ({
      id,
      reference,
      agreementId: agreement.id,
      customerId: payer.customerId,
      bankId: payer.bankId,
      lookupId: payer.lookupId,
      workflowId: workflowIds.intent(id),
      bankDeliveryId: webhook.deliveryId,
      decidedBefore: agreement.decision,
    })),
  );
  const insertRows = () => trx.rows`
    INSERT INTO intents (id, reference, agreement_id, merchant_id, customer_id, bank_id, lookup_id, batch_id,
      currency,
      description, metadata, due_date, expires_at, workflow_id, bank_delivery_id, created_at,
      decided_before)
    SELECT i.id, i.reference, i.agreement_id, ${merchant.id}, i.customer_id, i.bank_id, i.lookup_id,
      ${batchId}, ${request.currency},
      ${request.description}, ${JSON.stringify(request.metadata ?? {})}::jsonb,
      ${request.dueDate ?? null}::timestamptz, ${expiresAt}, i.workflow_id, i.bank_delivery_id, ${at},
      i.decided_before
    FROM jsonb_to_recordset(${inserted}::jsonb) AS i (id text, reference text, agreement_id text,
      customer_id text,
      bank_id text, lookup_id text, workflow_id text, bank_delivery_id text, decided_before text)`;
  const created = asked.map(
    ({ id, reference, payer, agreement, webhook }): TransitionOf<'intent.created'> => ({
      event: 'intent.created',
      cause: 'merchant',
      row: { id, sequence: 1, at },
      details: { agreementId: agreement.id, currency: request.currency },
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
            currency: request.currency,
            merchant: merchant.shown,
            description: request.description,
            reference,
            dueDate: request.dueDate ?? expiresAt,
          },
        },
      },
    }),
  );
  await Promise.all([insertRows(), writeTransitions(trx, created)]);
}
