import { z } from 'zod';
import { BILLING_REQUEST_STATUSES } from '../../domain/lifecycle';
import { EXAMPLE_PAYMENT_ID } from './example';
import type { Operation } from './operation';
import {
  credit,
  currencyCode,
  decidedItem,
  declineReason,
  lookupID,
  metadataForMerchants,
  moment,
  money,
  paymentID,
  reference,
  refusedItem,
  shownId,
  words,
} from './parts';

const status = z
  .enum(BILLING_REQUEST_STATUSES)
  .meta({ description: 'Status of the charge', example: 'successful' });

const biller = z.union([shownId('merchant'), shownId('bank')]);

const echoed = {
  phrase: words('The `paymentID` or `lookupID` that was billed, as you sent it', EXAMPLE_PAYMENT_ID),
  entityId: biller.meta({ description: 'You' }),
};
const refusedItems = z.array(refusedItem(echoed));

const billingRequest = z
  .strictObject({
    billingRequestId: shownId('billingRequest'),
    batchId: shownId('batch', 'The API request that created it; of its own for a scheduled charge'),
    transactionId: shownId('transaction'),
    reference,
    status,
    declineReason,
    amount: money('The amount charged'),
    currency: currencyCode,
    description: words('Text shown to the customer', 'Shoes'),
    approvalRequired: z
      .boolean()
      .meta({ description: 'Whether the customer must approve this charge', example: true }),
    customerId: shownId('customer'),
    entityId: biller.meta({ description: 'The merchant that bills, or the payee’s bank' }),
    bankId: shownId('bank'),
    payee: z
      .strictObject({ bankId: shownId('bank'), lookupID })
      .optional()
      .meta({ description: 'The customer who is paid; only for a payment between customers', examples: [] }),
    credit,
    phrase: words('The identifier that was billed: the `paymentID` or the `lookupID`', EXAMPLE_PAYMENT_ID),
    paymentID: paymentID.optional(),
    lookupID: lookupID
      .optional()
      .meta({ description: 'Instead of `paymentID`, for a one-time payment', examples: [] }),
    scheduleId: shownId('schedule')
      .nullable()
      .meta({ description: 'The recurring schedule that it belongs to; `null` if none', example: null }),
    metadata: metadataForMerchants,
    bankTransactionId: z.string().nullable().optional().meta({
      description: 'The bank’s identifier of the debit; shown only to the bank',
      example: 'FT26081XK2',
    }),
    expiresAt: moment('When the charge is declined if it has not been answered', '2026-03-02T08:15:00.000Z'),
    createdAt: moment('When it was created'),
    closedAt: moment('When it was answered or closed', '2026-03-02T08:05:00.000Z').nullable(),
  })
  .meta({ id: 'BillingRequest' });

const outcome = z.strictObject({
  billingRequestId: shownId('billingRequest'),
  status: z.enum(['successful', 'declined']).meta({ description: 'Final status of the charge' }),
});

export const CHARGES = {
  'POST /v1/customer/bill': {
    id: 'billCustomers',
    tag: 'Billing',
    summary: 'Bill customers',
    description:
      'Charges the same amount to each customer: with `paymentIDs` under existing agreements, or with `lookupIDs` as a one-time payment that each customer must approve. The answer has one item per identifier: check the `statusCode` of each, not only the HTTP status. An accepted charge is `pending`; its result arrives by the webhook `billing.response`. **Send an `Idempotency-Key`**: without one, repeating the request charges again. Identifiers are counted beside calls (`items`): a call that names more than are left is a 429 whole.\n\nA bank uses the second form of the body, with `payee`, for a payment from other customers to a customer of its own. When such a payment succeeds the bank receives the webhook `billing.credit`; when it is declined, `billing.response`.',
    answers: {
      201: {
        description: 'At least one charge was accepted',
        items: decidedItem(
          201,
          {
            billingRequestId: shownId('billingRequest'),
            reference,
            status: z.literal('pending'),
            warning: z.literal('open_exception').optional().meta({
              description:
                'The customer may have paid you this already: a reconciliation exception of the same amount and currency is not resolved. The charge is made all the same',
              examples: [],
            }),
            exceptionId: shownId('exception')
              .optional()
              .meta({ description: 'The exception that is warned of', examples: [] }),
          },
          echoed,
        ),
      },
    },
    refusals: {
      invalid_request: 'No charge was accepted: payer and payee are the same customer',
      currency_mismatch: 'No charge was accepted: the agreement is in another currency',
      not_approved: 'No charge was accepted: the customer has not approved billing, or has blocked you',
      limit_reached: 'No charge was accepted: a spending limit is reached',
      not_found:
        'No charge was accepted: there is no such `paymentID` or `lookupID`; or the `payee` is not your customer',
      asked_too_often: 'No charge was accepted: the customers have been asked often enough for today',
    },
    refusedWith: {
      400: { data: refusedItems },
      403: { data: refusedItems },
      404: { data: refusedItems },
      429: { data: refusedItems },
    },
  },
  'POST /v1/billing/bank-response': {
    id: 'answerBillingRequest',
    tag: 'Billing',
    summary: 'Answer a billing request',
    description:
      'The bank’s answer to the webhook `billing.request`: whether the customer was debited. Either send `action` (an approval also needs `bankTransactionId`), or leave it out and send `bankTransactionId` to approve or `declineReason` to decline. Sending the same answer again changes nothing and is a 200. A different answer, or one that comes too late, is a 409 with the final status in `data.status`: **if you have debited the customer and get `declined`, reverse the debit.**',
    answers: { 200: { description: 'The charge is successful', data: outcome } },
    refusals: {
      not_found: 'You have no such billing request',
      late_answer: 'The window has passed; the charge was closed without your answer (`data.status`)',
      already_answered: 'You have answered otherwise before (`data.status`)',
      duplicate_transaction_id:
        'The `bankTransactionId` belongs to another transaction; a `pending` charge waits for another answer',
    },
    refusedWith: {
      409: {
        data: outcome.extend({
          status: z.enum(BILLING_REQUEST_STATUSES).meta({
            description:
              'Status of the charge; `pending` if it can still be answered with another `bankTransactionId`',
          }),
        }),
        example: { status: 'declined' },
      },
    },
  },
  'POST /v1/billing/requests/:billingRequestId/cancel': {
    id: 'cancelBillingRequest',
    tag: 'Billing',
    summary: 'Cancel a billing request',
    description:
      'Takes back a charge that waits for its customer’s approval (`approvalRequired`). The charge becomes `declined` with the `declineReason` `cancelled`, and counts in no spending limit any more. You receive the webhook `billing.response`, and the bank `billing.closed`. Cancelling it again changes nothing and is a 200. A charge under a standing approval cannot be cancelled, since its bank debits without asking: refund it. Should the bank approve a cancelled charge all the same, its answer gets a 409 and opens a reconciliation exception.',
    answers: {
      200: {
        description: 'The charge is cancelled',
        data: z.strictObject({
          billingRequestId: shownId('billingRequest'),
          status: z.literal('declined'),
          declineReason: z.literal('cancelled'),
        }),
      },
    },
    refusals: {
      not_found: 'You have no such billing request',
      not_cancellable:
        'The charge has ended (`data.status`), or it is `pending` and does not wait for its customer',
    },
    refusedWith: {
      409: {
        data: z.strictObject({
          billingRequestId: shownId('billingRequest'),
          status: z.enum(BILLING_REQUEST_STATUSES).meta({ description: 'Status of the charge' }),
        }),
        example: { status: 'successful' },
      },
    },
  },
  'GET /v1/billing/requests/:billingRequestId': {
    id: 'getBillingRequest',
    tag: 'Billing',
    summary: 'Retrieve a billing request',
    description:
      'For the merchant (or payee’s bank) that billed, and for the payer’s bank. A charge under an agreement has a `paymentID`, a one-time payment a `lookupID`.',
    answers: { 200: { description: 'The charge is successful', data: billingRequest } },
  },
} satisfies Record<string, Operation>;
