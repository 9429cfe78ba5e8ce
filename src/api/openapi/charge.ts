import { z } from 'zod';
import type { Operation } from './operation';
import {
  currencyCode,
  decidedItem,
  declineReason,
  lookupID,
  moment,
  money,
  paymentID,
  reference,
  refusedItem,
  shownId,
  words,
} from './parts';

const status = z
  .enum(['pending', 'successful', 'declined'])
  .meta({ description: 'Of the charge', example: 'successful' });

const biller = z.union([shownId('merchant'), shownId('bank')]);

const echoed = {
  phrase: words('The identifier as you sent it', 'amber-river-stone-lamp-42'),
  entityId: biller.meta({ description: 'You' }),
};
const refusedItems = z.array(refusedItem(echoed));

const billingRequest = z
  .strictObject({
    billingRequestId: shownId('billingRequest'),
    batchId: shownId('batch', 'The request that it came in'),
    transactionId: shownId('transaction'),
    reference,
    status,
    declineReason,
    amount: money('What is charged'),
    currency: currencyCode,
    description: words('As the merchant wrote it', 'Shoes'),
    approvalRequired: z
      .boolean()
      .meta({ description: 'Whether the customer must approve this very charge', example: true }),
    customerId: shownId('customer'),
    entityId: biller.meta({ description: 'Who charges: the merchant, or the payee’s bank' }),
    bankId: shownId('bank'),
    payee: z
      .strictObject({ bankId: shownId('bank'), lookupID })
      .optional()
      .meta({ description: 'Who is paid, of a payment between customers' }),
    paymentID: paymentID.optional(),
    lookupID: lookupID.optional(),
    scheduleId: shownId('schedule')
      .nullable()
      .meta({ description: 'The schedule that made it', example: null }),
    bankTransactionId: z.string().nullable().optional().meta({
      description: 'The bank’s own id of the debit; shown to the bank alone',
      example: 'FT26081XK2',
    }),
    expiresAt: moment('When silence becomes a refusal'),
    createdAt: moment('When it was made'),
    closedAt: moment('When it was answered or ended').nullable(),
  })
  .meta({ id: 'BillingRequest' });

const outcome = z.strictObject({
  billingRequestId: shownId('billingRequest'),
  status: z.enum(['successful', 'declined']).meta({ description: 'How the charge has ended' }),
});

export const CHARGES = {
  'POST /v1/customer/bill': {
    id: 'billCustomers',
    tag: 'Charges',
    summary: 'Bill customers',
    description:
      'Charges the same amount to each customer: by `paymentIDs` under an agreement, or by `lookupIDs` once, which each customer approves. Answers per item: look at each, not only at the status. How a charge ends comes by the webhook `billing.response`. **Send an `Idempotency-Key`**, or a repeat charges again.\n\nA bank bills for a customer of its own, the `payee`: the other form of the body. It hears of money to be credited by `billing.credit`, and of a refusal by `billing.response`.',
    answers: {
      201: {
        description: 'At least one was accepted',
        items: decidedItem(
          201,
          { billingRequestId: shownId('billingRequest'), reference, status: z.literal('pending') },
          echoed,
        ),
      },
    },
    refusals: {
      400: {
        description: 'None was accepted: the agreement bills in another currency, or payer and payee are one',
        data: refusedItems,
      },
      403: {
        description: 'None was accepted: not approved, blocked, or a spending limit is reached',
        data: refusedItems,
      },
      404: {
        description:
          'None was accepted: nobody has such an identifier; or the `payee` is no customer of yours',
        data: refusedItems,
      },
    },
  },
  'POST /v1/billing/bank-response': {
    id: 'answerBillingRequest',
    tag: 'Charges',
    summary: 'Say what became of a charge',
    description:
      'The bank’s answer to `billing.request`, in one of two forms: with `action`; or without, where `bankTransactionId` says that the customer was debited and `declineReason` that not. The same answer again is a 200 that changes nothing. **If you debited the customer and get a 409, reverse the debit.**',
    answers: { 200: { description: 'The charge is successful', data: outcome } },
    refusals: {
      404: 'You were asked for no such charge',
      409: {
        description:
          'The charge has ended otherwise (`data.status`), or the `bankTransactionId` is that of another transaction',
        data: outcome,
      },
    },
  },
  'GET /v1/billing/requests/:billingRequestId': {
    id: 'getBillingRequest',
    tag: 'Charges',
    summary: 'Look at a charge',
    description:
      'For who made it and the bank that was asked. A charge under an agreement has its `paymentID`, another one the `lookupID`.',
    answers: { 200: { description: 'The charge is successful', data: billingRequest } },
  },
} satisfies Record<string, Operation>;
