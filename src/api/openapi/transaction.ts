import { z } from 'zod';
import { EXCEPTION_KINDS } from '../../domain/books/reconciliation-exception';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../../domain/lifecycle';
import type { Operation } from './operation';
import {
  credit,
  currencyCode,
  declineReason,
  lookupID,
  metadataForMerchants,
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
    type: z.enum(TRANSACTION_TYPES).meta({
      description:
        'Type of the transaction. `refund_return`: the money of a completed refund came back to the bank',
      example: 'charge',
    }),
    status: z.enum(TRANSACTION_STATUSES).meta({
      description:
        '`pending`, `successful` or `declined` for a charge; `pending`, `completed`, `rejected` or `returned` for a refund; `completed` for a reversal and a refund return',
      example: 'successful',
    }),
    amount: money('The amount'),
    currency: currencyCode,
    description: words('Text shown to the customer', 'Shoes'),
    customerId: shownId('customer'),
    merchantId: shownId('merchant')
      .nullable()
      .meta({ description: 'Id of the merchant; `null` for a payment between customers' }),
    bankId: shownId('bank'),
    billingRequestId: shownId('billingRequest'),
    scheduleId: shownId('schedule')
      .nullable()
      .meta({ description: 'The recurring schedule that it belongs to; `null` if none', example: null }),
    bankTransactionId: z.string().nullable().optional().meta({
      description:
        'The bank’s identifier of the debit or transfer; shown only to banks, to the payee’s bank only for a charge',
      example: 'FT26081XK2',
    }),
    payeeBankId: shownId('bank').nullable().optional().meta({
      description: 'For a payment between customers, the payee’s bank; shown only to banks',
      example: null,
    }),
    payeeLookupID: lookupID.nullable().optional().meta({
      description: 'For a payment between customers, the payee; shown only to banks',
      example: null,
    }),
    declineReason,
    refundedAmount: z.number().min(0).meta({
      description:
        'For a charge, the sum of its pending and completed refunds, without those that were returned; in major units',
      example: 0,
    }),
    reversedAmount: z.number().min(0).meta({
      description: 'For a charge, how much of it did not stay: the sum of its reversals; in major units',
      example: 0,
    }),
    createdAt: moment('When it was created'),
    settledAt: moment(
      'When it settled: money moved, or came back by a reversal or a refund return; `null` unless `status` is `successful`, `completed` or `returned`',
      '2026-03-02T08:05:00.000Z',
    ).nullable(),
    metadata: metadataForMerchants,
  })
  .meta({ id: 'Transaction' });

const event = z.strictObject({
  type: words('Type of the event', 'billing_request.accepted'),
  at: moment('When it happened'),
  cause: z
    .enum(['merchant', 'provider', 'bank', 'operator', 'network'])
    .meta({ description: 'Who caused it; `network` for a schedule, or a response window that ended' }),
  declineReason: z.string().optional().meta({
    description: 'Why it was declined; only for a decline',
    examples: [],
  }),
  exceptionId: shownId('exception').optional().meta({
    description: 'Id of the reconciliation exception; only for events of type `exception.…`',
    examples: [],
  }),
  kind: z.enum(EXCEPTION_KINDS).optional().meta({
    description:
      'Kind of the reconciliation exception. `exception.updated`: a late answer to what was `unanswered`',
    examples: [],
  }),
});

const timelineEntry = z.strictObject({
  at: moment('When it happened, in real time'),
  what: z.enum(['call', 'event', 'webhook', 'attempt', 'receipt', 'ledger', 'act']).meta({
    description:
      'A call of the API, a transition, a webhook to you, an attempt at one, what is left of a forgotten one, an entry of the ledger, an act of an operator or of yours on your own settings',
  }),
  text: words('The same in words', 'attempt 1 at billing.response dlv_… to mch_…: answered 200, after 12 ms'),
});

export const TRANSACTIONS = {
  'GET /v1/transaction-history': {
    id: 'listTransactions',
    tag: 'Transactions',
    summary: 'List transactions',
    description:
      'Your charges, refunds, refund returns and reversals, newest first unless sorted otherwise. With `format=csv` or the header `Accept: text/csv` the answer is a CSV file of all transactions that match the filters; `page` and `limit` are then ignored.',
    answers: {
      200: { description: '1 transaction', data: pageOf('transactions', transaction), csv: 'offered' },
    },
  },
  'GET /v1/transaction-details': {
    id: 'getTransaction',
    tag: 'Transactions',
    summary: 'Retrieve a transaction',
    description:
      'One transaction with its history in `events`. The history of a charge includes its refunds.',
    answers: {
      200: {
        description: 'The charge is successful',
        data: transaction
          .extend({
            credit,
            events: z.array(event).meta({ description: 'Oldest first; of more than 1 000 the latest' }),
            timeline: z.array(timelineEntry).meta({
              description:
                'All of it that is yours, also of what belongs to it (a charge, its refunds, reversals and exceptions), oldest first; of more than 1 000 the latest',
            }),
          })
          .meta({ id: 'TransactionWithEvents' }),
      },
    },
    refusals: { not_found: 'You have no transaction with this reference' },
  },
} satisfies Record<string, Operation>;
