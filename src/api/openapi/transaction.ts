import { z } from 'zod';
import type { Operation } from './operation';
import {
  currencyCode,
  declineReason,
  lookupID,
  moment,
  money,
  pageOf,
  reference,
  shownId,
  words,
} from './parts';

const transaction = z
  .strictObject({
    transactionId: shownId('transaction'),
    reference,
    type: z.enum(['charge', 'refund']).meta({ example: 'charge' }),
    status: z
      .enum(['pending', 'successful', 'declined', 'completed', 'rejected'])
      .meta({ description: 'The last two are of refunds', example: 'successful' }),
    amount: money('What was moved'),
    currency: currencyCode,
    description: words('What it was for', 'Shoes'),
    customerId: shownId('customer'),
    merchantId: shownId('merchant').nullable().meta({ description: '`null` of a payment between customers' }),
    bankId: shownId('bank'),
    billingRequestId: shownId('billingRequest'),
    scheduleId: shownId('schedule')
      .nullable()
      .meta({ description: 'The schedule that made it', example: null }),
    bankTransactionId: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'The bank’s own id; shown to the bank alone', example: 'FT26081XK2' }),
    payeeBankId: shownId('bank').nullable().optional().meta({
      description: 'Of a payment between customers, the payee’s bank; shown to banks alone',
      example: null,
    }),
    payeeLookupID: lookupID.nullable().optional().meta({
      description: 'Of a payment between customers, the payee; shown to banks alone',
      example: null,
    }),
    declineReason,
    refundedAmount: z.number().min(0).meta({
      description: 'Of a charge, what is on its way back or has arrived; in major units',
      example: 0,
    }),
    createdAt: moment('When it was accepted'),
    settledAt: moment('When it ended').nullable(),
  })
  .meta({ id: 'Transaction' });

const event = z.strictObject({
  type: words('What happened', 'billing_request.accepted'),
  at: moment('When'),
  cause: z
    .enum(['merchant', 'provider', 'bank', 'operator', 'network'])
    .meta({ description: 'Whose act it was; `network` for a schedule or a window' }),
  declineReason: z.string().optional().meta({ description: 'Of a decline', example: 'insufficient_funds' }),
});

export const TRANSACTIONS = {
  'GET /v1/transaction-history': {
    id: 'listTransactions',
    tag: 'Transactions',
    summary: 'List transactions',
    description:
      'Charges and refunds. With `format=csv` or `Accept: text/csv` the answer is one file of everything that the filters let through, however long, made while it is sent; `page` and `limit` then mean nothing.',
    answers: {
      200: { description: '1 transaction', data: pageOf('transactions', transaction), csv: 'offered' },
    },
  },
  'GET /v1/transaction-details': {
    id: 'getTransaction',
    tag: 'Transactions',
    summary: 'Look at a transaction and its time line',
    description: 'One transaction with everything that has happened to it; to a charge belong its refunds.',
    answers: {
      200: {
        description: 'The charge is successful',
        data: transaction
          .extend({ events: z.array(event).meta({ description: 'Oldest first' }) })
          .meta({ id: 'TransactionWithEvents' }),
      },
    },
    refusals: { 404: 'You have no transaction with this reference' },
  },
} satisfies Record<string, Operation>;
