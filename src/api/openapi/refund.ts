import { z } from 'zod';
import { BILLING_REQUEST_STATUSES, REFUND_STATUSES } from '../../domain/lifecycle';
import { EXAMPLE_REFUND_REFERENCE } from './example';
import type { Operation } from './operation';
import { currencyCode, metadataForMerchants, moment, money, pageOf, reference, shownId } from './parts';

const status = z.enum(REFUND_STATUSES).meta({
  description: 'Status of the refund. `returned`: it was completed, and its money came back to the bank',
  example: 'pending',
});

const refund = z
  .strictObject({
    refundId: shownId('refund'),
    transactionId: shownId('transaction'),
    reference: reference.meta({ description: 'Reference of the refund', example: EXAMPLE_REFUND_REFERENCE }),
    originalReference: reference.meta({ description: 'Reference of the charge' }),
    billingRequestId: shownId('billingRequest', 'Id of the charge'),
    merchantId: shownId('merchant'),
    customerId: shownId('customer'),
    bankId: shownId('bank'),
    amount: money('The amount refunded'),
    currency: currencyCode,
    reason: z
      .string()
      .nullable()
      .meta({ description: 'The reason that the merchant gave', example: 'Wrong size' }),
    metadata: metadataForMerchants,
    status,
    overdue: z
      .boolean()
      .meta({ description: 'Whether it is still pending after `expectedBy`', example: false }),
    rejectReason: z
      .string()
      .nullable()
      .meta({ description: 'The reason that the bank gave for a rejection', example: null }),
    bankTransactionId: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'The bank’s identifier of the transfer; shown only to the bank', example: null }),
    expectedBy: moment('Three business days after it was created', '2026-03-05T08:00:00.000Z'),
    createdAt: moment('When it was created'),
    closedAt: moment('When the bank answered it').nullable().meta({ example: null }),
  })
  .meta({ id: 'Refund' });

const outcome = z.strictObject({ refundId: shownId('refund'), status });

export const REFUNDS = {
  'POST /v1/refunds/initiate': {
    id: 'initiateRefund',
    tag: 'Refunds',
    summary: 'Initiate a refund',
    description:
      'Refunds a successful charge in part, or, without `amount`, all that has not been refunded yet. The customer’s bank makes the transfer, typically within three business days; the result arrives by the webhook `refund.response`.',
    answers: {
      201: { description: 'The bank has the refund; its outcome comes by webhook', data: refund },
    },
    refusals: {
      not_found: 'You have no charge with this reference',
      not_a_charge: 'The reference is that of a refund, of its return or of a reversal',
      not_refundable: 'The charge is not `successful` (`data.status`)',
      exceeds_remaining:
        'The amount is more than what is left to refund: what was charged, less pending and completed refunds',
      held_by_exception: 'Open reconciliation exceptions hold what is left to refund',
    },
    refusedWith: { 409: { data: z.strictObject({ status: z.enum(BILLING_REQUEST_STATUSES) }) } },
  },
  'POST /v1/bank/refund-response': {
    id: 'answerRefund',
    tag: 'Refunds',
    summary: 'Answer a refund request',
    description:
      'The bank’s answer to the webhook `refund.request`: whether the customer has received the money. The amount of a rejected refund can be refunded again. Sending the same answer again changes nothing and is a 200, as is another rejection of a rejected refund.',
    answers: {
      200: { description: 'The refund is completed', data: outcome, example: { status: 'completed' } },
    },
    refusals: {
      not_found: 'You have no such refund request',
      already_answered: 'You have answered otherwise before (`data.status`)',
      late_answer: 'The refund is `returned`',
      duplicate_transaction_id: 'The `bankTransactionId` belongs to another transaction',
    },
    refusedWith: { 409: { data: outcome, example: { status: 'rejected' } } },
  },
  'GET /v1/refunds': {
    id: 'listRefunds',
    tag: 'Refunds',
    summary: 'List refunds',
    description:
      'For a merchant its own refunds, for a provider those of its merchants, for a bank those to its customers.',
    answers: { 200: { description: '1 refund', data: pageOf('refunds', refund) } },
  },
  'GET /v1/refunds/:refundId': {
    id: 'getRefund',
    tag: 'Refunds',
    summary: 'Retrieve a refund',
    description: 'For the merchant, its provider and the customer’s bank.',
    answers: { 200: { description: 'The refund is pending', data: refund } },
  },
} satisfies Record<string, Operation>;
