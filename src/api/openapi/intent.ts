import { z } from 'zod';
import { CUSTOMER_DECISIONS, INTENT_STATUSES } from '../../domain/lifecycle';
import type { Operation } from './operation';
import {
  currencyCode,
  decidedItem,
  lookupID,
  metadataForMerchants,
  moment,
  paymentID,
  reference,
  refusedItem,
  shownId,
  words,
} from './parts';

const status = z.enum(INTENT_STATUSES).meta({
  description: '`superseded`: replaced by a newer intent of the same merchant for the same customer',
  example: 'approved',
});

const customerDecision = z
  .enum(CUSTOMER_DECISIONS)
  .nullable()
  .meta({ description: 'The customer’s decision; `null` if there is none', example: 'approve_recurring' });

/** What each item says of itself, however it was decided. */
const echoed = {
  lookupID: words('As you sent it', 'amber-river-stone-lamp-42'),
  entityId: shownId('merchant', 'You'),
};

const intent = z
  .strictObject({
    intentId: shownId('intent'),
    batchId: shownId('batch', 'The API request that created it'),
    reference,
    status,
    reason: z.string().nullable().meta({
      description: 'Why it was declined: `denied`, `suspended`, `blocked` or `expired` (no answer in time)',
      example: null,
    }),
    customerDecision,
    currency: currencyCode,
    description: words('As the merchant wrote it', 'Gold plan'),
    customerId: shownId('customer'),
    lookupID,
    entityId: shownId('merchant'),
    bankId: shownId('bank'),
    metadata: metadataForMerchants,
    paymentID: paymentID.optional(),
    dueDate: moment('When the merchant intends to bill first', '2026-03-05T08:00:00.000Z').nullable(),
    expiresAt: moment('When the intent is declined if it has not been answered', '2026-03-03T08:00:00.000Z'),
    createdAt: moment('When it was created'),
    closedAt: moment('When it was answered or closed', '2026-03-02T08:05:00.000Z').nullable(),
  })
  .meta({ id: 'Intent' });

const outcome = z.strictObject({ intentId: shownId('intent'), status, customerDecision });

export const INTENTS = {
  'POST /v1/billing/intent': {
    id: 'sendIntents',
    tag: 'Billing intents',
    summary: 'Send billing intents',
    description:
      'Asks customers, through their banks, for permission to bill them in future. The answer has one item per `lookupID`: check the `statusCode` of each, not only the HTTP status. Each customer’s decision arrives by the webhook `billing.intent.response`, with a `paymentID` when it is an approval. A customer is asked at most 20 times a day (by default), by all merchants together; beyond that the item is a 429. An intent that is not answered within the response window (24 hours by default) is declined. A new intent for the same customer replaces one that is still open; to change the terms of an agreement, send a new intent. Identifiers are counted beside calls (`items`): a call that names more than are left is a 429 whole.',
    answers: {
      200: {
        description: 'At least one intent was accepted',
        items: decidedItem(200, { intentId: shownId('intent'), reference }, echoed),
      },
    },
    refusals: {
      not_approved: 'No intent was accepted: the customers have blocked you',
      not_found: 'No intent was accepted: there is no customer with such a `lookupID`',
      asked_too_often: 'No intent was accepted: the customers have been asked often enough for today',
    },
    refusedWith: {
      403: { data: z.array(refusedItem(echoed)) },
      404: { data: z.array(refusedItem(echoed)) },
      429: { data: z.array(refusedItem(echoed)) },
    },
  },
  'POST /v1/billing/intent-response': {
    id: 'answerIntent',
    tag: 'Billing intents',
    summary: 'Answer a billing intent',
    description:
      'The bank’s answer to the webhook `billing.intent`, with the customer’s decision. `spendingLimits` limits what the merchant may charge per calendar day and month; a charge counts on the day on which it was accepted, whenever the bank answers it. `blockMerchant` `true` means `deny`, and refuses every later intent and charge of this merchant. Sending the same answer again changes nothing and is a 200.',
    answers: { 200: { description: 'The intent is approved', data: outcome } },
    refusals: {
      merchant_not_trusted: 'The merchant is not trusted, so it cannot have a standing approval',
      not_found: 'The merchant has never sent an intent for this customer, or you have no such customer',
      late_answer: 'The window has passed; the intent was closed without your answer',
      already_answered: 'You have answered otherwise before (`data.customerDecision`)',
    },
    refusedWith: {
      403: { data: outcome.omit({ customerDecision: true }), example: { status: 'pending' } },
      409: { data: outcome, example: { status: 'declined', customerDecision: null } },
    },
  },
  'GET /v1/billing/intents/:intentId': {
    id: 'getIntent',
    tag: 'Billing intents',
    summary: 'Retrieve a billing intent',
    description: 'For the merchant that sent it and for the customer’s bank.',
    answers: { 200: { description: 'The intent is approved', data: intent } },
  },
} satisfies Record<string, Operation>;
