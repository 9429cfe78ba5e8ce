import { z } from 'zod';
import { billingRules, type Config } from '../../config';
import { createIntents } from '../../database/intent/intent';
import { answerIntent } from '../../database/intent/outcome';
import { readIntent } from '../../database/intent/read';
import { enqueueStarts } from '../../database/outbox';
import { makePaymentId } from '../../database/agreement/payment-id';
import { formatInstant } from '../../domain/calendar';
import { Failure } from '../../domain/failures';
import { CUSTOMER_DECISIONS } from '../../domain/lifecycle';
import { normalizePhrase } from '../../domain/identifier/phrase';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import { blockMerchant, spendingLimits } from '../customer/decision';
import { BATCH_MAX, currency, DESCRIPTION_MAX, id, instant, list, phrase, textFor } from '../http/fields';
import { metadata, METADATA_TOO_LONG, metadataFits } from '../http/metadata';
import { takeAnswer } from '../http/idempotency';
import { acceptedItem, refusedItem } from '../http/items';
import type { Call, PathCall } from '../http/route';
import { acceptItems } from '../http/unknown-identifier';

/**
 * Billing intents: a merchant asks for permission to bill, and the bank relays what the customer
 * says.
 */

export const intentBody = (config: Config) =>
  z
    .strictObject({
      lookupIDs: list(phrase, BATCH_MAX, normalizePhrase),
      currency: currency(config),
      description: textFor('What will be billed; shown to the customer', DESCRIPTION_MAX, 'Gold plan'),
      intentSettings: z
        .strictObject({
          dueDate: instant.meta({ description: 'When you intend to bill first' }).optional(),
        })
        .optional(),
      metadata: metadata.optional(),
    })
    .refine(metadataFits, METADATA_TOO_LONG);

type IntentBody = z.output<ReturnType<typeof intentBody>>;

export async function sendIntents(call: Call<IntentBody>) {
  const { body, caller, deps } = call;
  return acceptItems(call, 'lookup_id', async (trx) => {
    const { items, intents } = await createIntents(
      trx,
      deps.ring,
      billingRules(deps.config),
      caller.entityId,
      {
        lookupIds: body.lookupIDs.map((lookupID) => ({
          phrase: lookupID,
          lookupId: normalizePhrase(lookupID),
        })),
        currency: body.currency,
        description: body.description,
        metadata: body.metadata,
        dueDate: body.intentSettings?.dueDate,
      },
      workflowIds.intent,
    );
    await enqueueStarts(
      trx,
      intents.map(({ id: intentId, reference, bankId }) => ({
        workflowId: workflowIds.intent(intentId),
        attributes: { status: 'pending', merchantId: caller.entityId, bankId },
        summary: workflowSummary.intent({ reference, merchantId: caller.entityId }),
      })),
    );
    return {
      items: items.map((item) =>
        'refused' in item
          ? refusedItem(item.refused, { lookupID: item.phrase, entityId: caller.entityId })
          : acceptedItem(200, 'Accepted. The bank asks the customer, and the decision comes by webhook', {
              lookupID: item.phrase,
              entityId: caller.entityId,
              ...item.accepted,
            }),
      ),
      refusals: items.flatMap((item) => ('refused' in item ? [item.refused] : [])),
    };
  });
}

export const intentResponseBody = z.strictObject({
  customerId: id('customer'),
  entityId: id('merchant'),
  lookupID: phrase,
  customerDecision: z
    .enum(CUSTOMER_DECISIONS)
    .meta({ description: 'The customer’s decision', example: 'approve_recurring' }),
  spendingLimits,
  blockMerchant,
});

export async function respondToIntent({ body, caller, deps }: Call<z.output<typeof intentResponseBody>>) {
  const { agreed, ...data } = await takeAnswer(deps, (trx) =>
    answerIntent(trx, deps.ring, caller.entityId, {
      customerId: body.customerId,
      merchantId: body.entityId,
      lookupId: normalizePhrase(body.lookupID),
      customerDecision: body.customerDecision,
      spendingLimits: body.spendingLimits,
      blockMerchant: body.blockMerchant ?? false,
    }),
  );
  // Thrown after the commit: an expired intent that this answer came upon stays closed.
  if (!agreed) {
    throw new Failure(
      data.customerDecision === null ? 'late_answer' : 'already_answered',
      `The intent is ${data.status} already; this answer changes nothing`,
      { data },
    );
  }
  return { message: `The intent is ${data.status}`, data };
}

export const intentPath = z.strictObject({ intentId: id('intent') });

export async function showIntent({ caller, params, deps }: PathCall<typeof intentPath>) {
  const intent = await readIntent(deps.db, caller.entityId, params.intentId);
  const paymentID =
    intent.status === 'approved'
      ? makePaymentId(deps.ring, intent.paymentIdKey, intent.agreementId, intent.merchantId)
      : undefined;
  return {
    message: `The intent is ${intent.status}`,
    data: {
      intentId: intent.intentId,
      batchId: intent.batchId,
      reference: intent.reference,
      status: intent.status,
      reason: intent.reason,
      customerDecision: intent.customerDecision,
      currency: intent.currency,
      description: intent.description,
      customerId: intent.customerId,
      lookupID: intent.lookupId,
      entityId: intent.merchantId,
      bankId: intent.bankId,
      ...(caller.role === 'merchant' && { metadata: intent.metadata }),
      ...(paymentID !== undefined && { paymentID }),
      dueDate: intent.dueDate && formatInstant(intent.dueDate),
      expiresAt: formatInstant(intent.expiresAt),
      createdAt: formatInstant(intent.createdAt),
      closedAt: intent.closedAt && formatInstant(intent.closedAt),
    },
  };
}
