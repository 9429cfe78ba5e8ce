import { billingRules, type Config } from '../../settings/config';
import { createIntents } from '../../database/intent/ask-intents';
import { answerIntent } from '../../database/intent/answer-intent';
import { readIntent } from '../../database/intent/read-intent';
import { makePaymentId } from '../../database/agreement/payment-id';
import { limitsFrom } from '../../database/agreement/spending-limit';
import { Failure } from '../../domain/failures';
import { normalizePhrase } from '../../domain/identifier/phrase';
import { shownLimits } from '../../domain/spending-limit';
import { ANSWER, BOTH, MERCHANT } from '../http/callers';
import { takeAnswer } from '../http/idempotency';
import { acceptedItem, refusedItem } from '../http/items';
import type { BodyCall, PathCall } from '../http/call';
import { section } from '../http/route';
import { acceptItems } from '../http/unknown-identifier';
import { decidedItem, fieldsOf, refusedItems } from '../http/response-fields';
import { z } from 'zod';
import { CUSTOMER_DECISIONS, INTENT_STATUSES } from '../../domain/lifecycle';
import {
  BATCH_MAX,
  currency,
  DESCRIPTION_MAX,
  id,
  instant,
  list,
  oneOf,
  phrase,
  textFor,
} from '../http/request-fields';
import { metadataGiven, METADATA_TOO_LONG, metadataFits } from '../http/metadata';
import { EXAMPLE_PHRASE } from '../http/example';
import * as shown from '../http/response-fields';
import { blockMerchant, pendingOf, pendingShown } from '../customer/decision';
import { limitsGiven, limitsShown } from '../customer/spending-limits';

const intentBody = (config: Config) =>
  z
    .strictObject({
      lookupIDs: list(phrase, BATCH_MAX, normalizePhrase),
      currency: currency(config),
      description: textFor('What will be billed; shown to the customer', DESCRIPTION_MAX, 'Gold plan'),
      intentSettings: z
        .strictObject({
          dueDate: instant.meta({ description: 'When you intend to bill first' }).optional(),
          spendingLimits: limitsGiven(
            'The limits that you ask for; of a member that is left out, or `null`, you ask for none. The customer may tighten them. The intent is open until `validUntil` at the latest',
          ),
        })
        .optional(),
      metadata: metadataGiven.optional(),
    })
    .refine(metadataFits, METADATA_TOO_LONG);

export const intentResponseBody = z.strictObject({
  customerId: id('customer'),
  entityId: id('merchant'),
  lookupID: phrase,
  intentId: id('intent')
    .meta({
      description:
        'The intent that is answered. Left out, the open one is, and the tightest of what it and those that it superseded asked holds',
    })
    .optional(),
  customerDecision: oneOf(CUSTOMER_DECISIONS, 'The customer’s decision', 'approve_recurring'),
  spendingLimits: limitsGiven(
    'The customer’s limits. Of each member the tighter of asked and answered holds; one that is left out, or `null`, is what was asked',
  ),
  blockMerchant,
});

const intentPath = z.strictObject({ intentId: id('intent') });

const outcomeFields = {
  intentId: shown.id('intent'),
  status: oneOf(
    INTENT_STATUSES,
    '`superseded`: replaced by a newer intent of the same merchant for the same customer',
    'approved',
  ),
  customerDecision: z
    .enum(CUSTOMER_DECISIONS)
    .nullable()
    .meta({ description: 'The customer’s decision; `null` if there is none', example: 'approve_recurring' }),
};

const intentShown = z
  .strictObject({
    ...outcomeFields,
    batchId: shown.id('batch', 'The API request that created it'),
    reference: shown.reference,
    reason: shown.wordsOrNull(
      'Why it was declined: `denied`, `suspended`, `blocked` or `expired` (no answer in time)',
    ),
    currency: shown.currency,
    description: shown.words('As the merchant wrote it', 'Gold plan'),
    customerId: shown.id('customer'),
    lookupID: shown.lookupID,
    entityId: shown.id('merchant'),
    bankId: shown.id('bank'),
    metadata: shown.metadataForMerchants,
    paymentID: shown.paymentID.optional(),
    dueDate: shown.moment('When the merchant intends to bill first', '2026-03-05T08:00:00.000Z').nullable(),
    spendingLimits: limitsShown.meta({ description: 'The limits that the merchant asked for' }),
    expiresAt: shown.moment(
      'When the intent is declined if it has not been answered',
      '2026-03-03T08:00:00.000Z',
    ),
    createdAt: shown.moment('When it was created'),
    closedAt: shown.moment('When it was answered or closed', '2026-03-02T08:05:00.000Z').nullable(),
  })
  .meta({ id: 'Intent' });

const intentOutcome = z.strictObject(outcomeFields);
const intentAnswered = intentOutcome.extend({
  spendingLimits: limitsShown.meta({ description: 'Of each member the tighter of asked and answered' }),
  pending: pendingShown,
});

/** Fields of every item, however the intent was decided. */
export const echoed = {
  lookupID: shown.words('As you sent it', EXAMPLE_PHRASE),
  entityId: shown.id('merchant', 'You'),
};

export const acceptedIntent = { intentId: shown.id('intent'), reference: shown.reference };

/**
 * Billing intents: a merchant asks for permission to bill, and the bank relays what the customer
 * says.
 */

async function sendIntents(call: BodyCall<ReturnType<typeof intentBody>>) {
  const { body, caller, deps } = call;
  return acceptItems(call, 'lookup_id', async (trx) => {
    const items = await createIntents(trx, billingRules(deps.config), caller.entityId, {
      ...body,
      ...body.intentSettings,
      lookupIds: body.lookupIDs.map((lookupID) => ({
        phrase: lookupID,
        lookupId: normalizePhrase(lookupID),
      })),
    });
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

async function respondToIntent({ body, caller, deps }: BodyCall<typeof intentResponseBody>) {
  const {
    agreed,
    limits,
    currency: of,
    pending,
    ...data
  } = await takeAnswer(deps, (trx) =>
    answerIntent(trx, caller.entityId, {
      ...body,
      merchantId: body.entityId,
      lookupId: normalizePhrase(body.lookupID),
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
  const spendingLimits = shownLimits(limits, of);
  return {
    message: `The intent is ${data.status}`,
    data: { ...data, spendingLimits, ...pendingOf(data.customerDecision, pending) },
  };
}

async function showIntent({ caller, params, deps }: PathCall<typeof intentPath>) {
  const intent = await readIntent(deps.db, caller.entityId, params.intentId);
  const { metadata, ...fields } = fieldsOf(intentShown, intent);
  return {
    message: `The intent is ${intent.status}`,
    data: {
      ...fields,
      lookupID: intent.lookupId,
      entityId: intent.merchantId,
      spendingLimits: shownLimits(limitsFrom(intent.asked), intent.currency),
      ...(caller.role === 'merchant' && { metadata }),
      ...(intent.status === 'approved' && {
        paymentID: makePaymentId(deps.db.keyring, intent.paymentIdKey, intent.agreementId, intent.merchantId),
      }),
    },
  };
}

const route = section('Billing intents');

export const intentRoutes = (config: Config) => [
  route('post', '/v1/billing/intent', {
    id: 'sendIntents',
    summary: 'Send billing intents',
    description:
      'Asks customers, through their banks, for permission to bill them in future. The answer has one item per `lookupID`: check the `statusCode` of each, not only the HTTP status. Each customer’s decision arrives by the webhook `billing.intent.response`, with a `paymentID` when it is an approval. A customer is asked at most 20 times a day (by default), by all merchants together; beyond that the item is a 429. An intent that is not answered within the response window (24 hours by default) is declined. A new intent for the same customer replaces one that is still open; to change the terms of an agreement, send a new intent. Identifiers are counted beside calls (`items`): a call that names more than are left is a 429 whole.',
    takes: { ...MERCHANT, scope: 'bill', namesIdentifiers: true, body: intentBody(config), idempotent: true },
    answers: {
      200: {
        description: 'At least one intent was accepted',
        items: decidedItem(200, acceptedIntent, echoed),
      },
    },
    refusals: {
      not_approved: 'No intent was accepted: the customers have blocked you',
      not_found: 'No intent was accepted: there is no customer with such a `lookupID`',
      asked_too_often: 'No intent was accepted: the customers have been asked often enough for today',
    },
    refusedWith: refusedItems(echoed, 403, 404, 429),
    handle: sendIntents,
  }),
  route('post', '/v1/billing/intent-response', {
    id: 'answerIntent',
    summary: 'Answer a billing intent',
    description:
      'The bank’s answer to the webhook `billing.intent`, with the customer’s decision. The customer may tighten what the merchant asked for, and `data.spendingLimits` shows the limits that hold. `blockMerchant` `true` means `deny`, and refuses every later intent and charge of this merchant. Sending the same answer again changes nothing and is a 200.',
    takes: { ...ANSWER, scope: 'manage', body: intentResponseBody },
    answers: { 200: { description: 'The intent is approved', data: intentAnswered } },
    refusals: {
      merchant_not_trusted: 'The merchant is not trusted, so it cannot have a standing approval',
      not_found: 'The merchant has never sent an intent for this customer, or you have no such customer',
      late_answer:
        'The intent was closed without your answer: its window has passed, or a newer one superseded it',
      already_answered: 'You have answered otherwise before (`data.customerDecision`)',
    },
    refusedWith: {
      403: { data: intentOutcome.omit({ customerDecision: true }), example: { status: 'pending' } },
      409: { data: intentOutcome, example: { status: 'declined', customerDecision: null } },
    },
    handle: respondToIntent,
  }),
  route('get', '/v1/billing/intents/:intentId', {
    id: 'getIntent',
    summary: 'Retrieve a billing intent',
    description: 'For the merchant that sent it and for the customer’s bank.',
    takes: { ...BOTH, params: intentPath },
    answers: { 200: { description: 'The intent is approved', data: intentShown } },
    handle: showIntent,
  }),
];
