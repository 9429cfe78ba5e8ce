import { z } from 'zod';
import type { Operation } from './operation';
import {
  currencyCode,
  decidedItem,
  lookupID,
  moment,
  paymentID,
  reference,
  refusedItem,
  shownId,
  words,
} from './parts';

const INTENT_STATUSES = ['pending', 'approved', 'declined', 'superseded'] as const;

const status = z.enum(INTENT_STATUSES).meta({
  description: '`superseded` by a newer intent for the same customer',
  example: 'approved',
});

const customerDecision = z
  .enum(['approve_once', 'approve_recurring', 'deny', 'suspended'])
  .nullable()
  .meta({ description: 'What the customer said; `null` where nothing', example: 'approve_recurring' });

/** What each item says of itself, however it was decided. */
const echoed = {
  lookupID: words('As you sent it', 'amber-river-stone-lamp-42'),
  entityId: shownId('merchant', 'You'),
};

const intent = z
  .strictObject({
    intentId: shownId('intent'),
    batchId: shownId('batch', 'The request that it came in'),
    reference,
    status,
    reason: z
      .string()
      .nullable()
      .meta({ description: 'Why it was declined: the decision, or `expired`', example: null }),
    customerDecision,
    currency: currencyCode,
    description: words('As the merchant wrote it', 'Gold plan'),
    customerId: shownId('customer'),
    lookupID,
    entityId: shownId('merchant'),
    bankId: shownId('bank'),
    paymentID: paymentID.optional(),
    dueDate: moment('When the merchant means to bill first').nullable(),
    expiresAt: moment('When silence becomes a refusal'),
    createdAt: moment('When it was sent'),
    closedAt: moment('When it was answered or ended').nullable(),
  })
  .meta({ id: 'Intent' });

const outcome = z.strictObject({ intentId: shownId('intent'), status, customerDecision });

export const INTENTS = {
  'POST /v1/billing/intent': {
    id: 'sendIntents',
    tag: 'Intents',
    summary: 'Ask customers for permission to bill',
    description:
      'Asks each customer, through the bank, and answers per item: look at each, not only at the status. The decision comes by the webhook `billing.intent.response`, with a `paymentID` when it is an approval. Silence counts as a refusal after a day. A new intent takes the place of an open one.',
    answers: {
      200: {
        description: 'At least one was accepted',
        items: decidedItem(200, { intentId: shownId('intent'), reference }, echoed),
      },
    },
    refusals: {
      403: {
        description: 'None was accepted: all customers have blocked you',
        data: z.array(refusedItem(echoed)),
      },
      404: {
        description: 'None was accepted: nobody has such a lookupID',
        data: z.array(refusedItem(echoed)),
      },
    },
  },
  'POST /v1/billing/intent-response': {
    id: 'answerIntent',
    tag: 'Intents',
    summary: 'Relay a customer’s decision',
    description:
      'The bank’s answer to `billing.intent`. The same answer again is a 200 that changes nothing. `spendingLimits` bound what the merchant may charge by day and month; `blockMerchant` is a denial of everything from this merchant.',
    answers: { 200: { description: 'The intent is approved', data: outcome } },
    refusals: {
      403: {
        description: 'The merchant is not trusted, so it cannot have a standing approval',
        data: outcome.omit({ customerDecision: true }),
      },
      404: 'This merchant never asked this customer',
      409: { description: 'The intent has ended otherwise; `data.status` says how', data: outcome },
    },
  },
  'GET /v1/billing/intents/:intentId': {
    id: 'getIntent',
    tag: 'Intents',
    summary: 'Look at an intent',
    description: 'For the merchant that sent it and the bank that was asked.',
    answers: { 200: { description: 'The intent is approved', data: intent } },
  },
} satisfies Record<string, Operation>;
