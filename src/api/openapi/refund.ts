import { z } from 'zod';
import type { Operation } from './operation';
import { currencyCode, moment, money, pageOf, reference, shownId } from './parts';

const status = z.enum(['pending', 'completed', 'rejected']).meta({ example: 'pending' });

const refund = z
  .strictObject({
    refundId: shownId('refund'),
    transactionId: shownId('transaction'),
    reference,
    originalReference: reference.meta({ description: 'Of the charge' }),
    billingRequestId: shownId('billingRequest', 'The charge'),
    merchantId: shownId('merchant'),
    customerId: shownId('customer'),
    bankId: shownId('bank'),
    amount: money('What is sent back'),
    currency: currencyCode,
    reason: z.string().nullable().meta({ description: 'The merchant’s', example: 'Wrong size' }),
    status,
    overdue: z.boolean().meta({ description: 'Whether it is pending after `expectedBy`', example: false }),
    rejectReason: z.string().nullable().meta({ description: 'The bank’s', example: null }),
    bankTransactionId: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'The bank’s own id of the transfer; shown to the bank alone', example: null }),
    expectedBy: moment('Three business days after it was made'),
    createdAt: moment('When it was made'),
    closedAt: moment('When the bank ended it').nullable(),
  })
  .meta({ id: 'Refund' });

const outcome = z.strictObject({ refundId: shownId('refund'), status });

export const REFUNDS = {
  'POST /v1/refunds/initiate': {
    id: 'initiateRefund',
    tag: 'Refunds',
    summary: 'Send money back',
    description:
      'A part of a successful charge, or without `amount` all that is left of it. The bank carries it out, within three business days as a rule, and its answer comes by the webhook `refund.response`.',
    answers: {
      201: { description: 'The bank has the refund; its outcome comes by webhook', data: refund },
    },
    refusals: {
      404: 'There is no charge of yours with this reference',
      409: {
        description: 'The charge is not successful, or less than that is left of it',
        data: z.strictObject({ status: z.enum(['pending', 'successful', 'declined']) }),
      },
    },
  },
  'POST /v1/bank/refund-response': {
    id: 'answerRefund',
    tag: 'Refunds',
    summary: 'Say what became of a refund',
    description:
      'The bank’s answer to `refund.request`. A rejected refund gives its amount back, to be refunded again. The same answer again is a 200 that changes nothing.',
    answers: { 200: { description: 'The refund is completed', data: outcome } },
    refusals: {
      404: 'You were asked for no such refund',
      409: {
        description:
          'The refund has ended otherwise (`data.status`), or the `bankTransactionId` is that of another transaction',
        data: outcome,
      },
    },
  },
  'GET /v1/refunds': {
    id: 'listRefunds',
    tag: 'Refunds',
    summary: 'List refunds',
    description: 'A merchant’s own, a provider’s merchants’, or those that a bank is asked for.',
    answers: { 200: { description: '1 refund', data: pageOf('refunds', refund) } },
  },
  'GET /v1/refunds/:refundId': {
    id: 'getRefund',
    tag: 'Refunds',
    summary: 'Look at a refund',
    description: 'For the merchant, its provider and the bank.',
    answers: { 200: { description: 'The refund is pending', data: refund } },
  },
} satisfies Record<string, Operation>;
