import { z } from 'zod';
import { TRANSACTION_SORTS } from '../../database/ledger/list-transactions';
import { EXCEPTION_KINDS } from '../../domain/books/reconciliation-exception';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../../domain/lifecycle';
import {
  dayOrInstant,
  idFilter,
  instant,
  NAME_MAX,
  oneOf,
  pagination,
  textFor,
} from '../http/request-fields';
import { withMetadataPair } from '../http/metadata';
import { EXAMPLE_REFERENCE } from '../http/example';
import * as shown from '../http/response-fields';
import { CAUSES } from './reconciliation-exception-schema';

export const format = oneOf(
  ['json', 'csv'],
  'Format of the answer; takes precedence over the header `Accept`',
).optional();

export const historyQuery = withMetadataPair({
  from: instant.meta({ description: 'Only transactions created at this time or later' }).optional(),
  to: instant
    .meta({ description: 'Only transactions created before this time', example: '2026-04-01T00:00:00+01:00' })
    .optional(),
  settledFrom: dayOrInstant
    .meta({ description: 'Only transactions that settled on this settlement day, or at this time, or later' })
    .optional(),
  settledTo: dayOrInstant
    .meta({
      description: 'Only transactions that settled on this settlement day or before, or before this time',
    })
    .optional(),
  status: oneOf(TRANSACTION_STATUSES, 'Only transactions with this status').optional(),
  type: oneOf(TRANSACTION_TYPES, 'Only transactions of this type').optional(),
  customerId: idFilter('customer').optional(),
  merchantId: idFilter('merchant').optional(),
  reference: textFor('Only the transaction with this reference', NAME_MAX, EXAMPLE_REFERENCE).optional(),
  bankTransactionId: textFor(
    'For banks: only the transaction that the payer’s bank has given this id',
    NAME_MAX,
    'FT26081XK2',
  ).optional(),
  format,
  ...pagination(Object.keys(TRANSACTION_SORTS) as ['createdAt', 'amount']),
});

export const detailsQuery = z.strictObject({
  reference: textFor(
    'Reference of a charge, a refund, a refund return or a reversal, or its `transactionId`',
    NAME_MAX,
    EXAMPLE_REFERENCE,
  ),
});

const part = (description: string) => z.number().min(0).meta({ description, example: 0 });

export const transaction = z
  .strictObject({
    transactionId: shown.id('transaction'),
    reference: shown.reference,
    type: oneOf(
      TRANSACTION_TYPES,
      'Type of the transaction. `refund_return`: the money of a completed refund came back to the bank',
      'charge',
    ),
    status: oneOf(
      TRANSACTION_STATUSES,
      '`pending`, `successful` or `declined` for a charge; `pending`, `completed`, `rejected` or `returned` for a refund; `completed` for a reversal and a refund return',
      'successful',
    ),
    amount: shown.money('The amount'),
    currency: shown.currency,
    description: shown.words('Text shown to the customer', 'Shoes'),
    customerId: shown.id('customer'),
    merchantId: shown
      .id('merchant')
      .nullable()
      .meta({ description: 'Id of the merchant; `null` for a payment between customers' }),
    bankId: shown.id('bank'),
    billingRequestId: shown.id('billingRequest'),
    scheduleId: shown.scheduleId,
    bankTransactionId: shown
      .wordsOrNull(
        'The bank’s identifier of the debit or transfer; shown only to banks, to the payee’s bank only for a charge',
        'FT26081XK2',
      )
      .optional(),
    payeeBankId: shown.id('bank').nullable().optional().meta({
      description: 'For a payment between customers, the payee’s bank; shown only to banks',
      example: null,
    }),
    payeeLookupID: shown.lookupID.nullable().optional().meta({
      description: 'For a payment between customers, the payee; shown only to banks',
      example: null,
    }),
    declineReason: shown.declineReason,
    refundedAmount: part(
      'For a charge, the sum of its pending and completed refunds, without those that were returned; in major units',
    ),
    reversedAmount: part(
      'For a charge, how much of it did not stay: the sum of its reversals; in major units',
    ),
    createdAt: shown.moment('When it was created'),
    settledAt: shown
      .moment(
        'When it settled: money moved, or came back by a reversal or a refund return; `null` unless `status` is `successful`, `completed` or `returned`',
        '2026-03-02T08:05:00.000Z',
      )
      .nullable(),
    metadata: shown.metadataForMerchants,
  })
  .meta({ id: 'Transaction' });

/** Fields of what is shown to people. */
export const names = {
  merchantName: shown.wordsOrNull('Name of the merchant; `null` between customers', 'Palm Grocers'),
  bankName: shown.words('Name of the payer’s bank', 'Harbour Bank'),
  customerName: shown.wordsOrNull('Name of the payer; `null` but for the payer’s bank'),
  payeeName: shown.wordsOrNull(
    'Name of the payee of a payment between customers; `null` but for the payee’s bank',
  ),
  closedAt: shown
    .moment('When it settled, or was declined or rejected; `null` while pending', '2026-03-02T08:05:00.000Z')
    .nullable(),
  expiresAt: shown
    .moment('When a pending charge is declined if it has not been answered; else `null`')
    .nullable()
    .meta({ example: null }),
};

const related = z
  .strictObject({
    type: oneOf(TRANSACTION_TYPES, 'Type of the transaction', 'charge'),
    reference: shown.reference,
    status: shown.words('Its status', 'successful'),
    amount: shown.money('The amount'),
    currency: shown.currency,
  })
  .meta({ id: 'RelatedTransaction' });

const delivery = z
  .strictObject({
    deliveryId: shown.id('delivery'),
    webhookType: shown.words('Type of the webhook', 'billing.response'),
    status: shown.words('Status of the delivery; `withdrawn` where it is not sent', 'delivered'),
    createdAt: shown.moment('When it was created'),
  })
  .meta({ id: 'DeliveryOfTransaction' });

const event = z.strictObject({
  type: shown.words('Type of the event', 'billing_request.accepted'),
  at: shown.moment('When it happened'),
  cause: oneOf(CAUSES, 'Who caused it; `network` for a schedule, or a response window that ended'),
  declineReason: shown.seldom(z.string(), 'Why it was declined; only for a decline'),
  exceptionId: shown.seldom(
    shown.id('exception'),
    'Id of the reconciliation exception; only for events of type `exception.…`',
  ),
  kind: shown.seldom(
    z.enum(EXCEPTION_KINDS),
    'Kind of the reconciliation exception. `exception.updated`: a late answer to what was `unanswered`',
  ),
});

const timelineEntry = z.strictObject({
  at: shown.moment('When it happened, in real time'),
  what: oneOf(
    ['call', 'event', 'webhook', 'attempt', 'receipt', 'ledger', 'act'],
    'A call of the API, a transition, a webhook to you, an attempt at one, what is left of a forgotten one, an entry of the ledger, an act of an operator or of yours on your own settings',
  ),
  text: shown.words(
    'The same in words',
    'attempt 1 at billing.response dlv_… to mch_…: answered 200, after 12 ms',
  ),
});

export const transactionWithEvents = transaction
  .extend({
    ...names,
    approvalRequired: shown.flag(
      'The charge is `pending` and waits for its customer’s approval, so that it can be cancelled',
      false,
    ),
    related: z.array(related).meta({
      description: 'The charge with its refunds, their returns, and its reversals',
    }),
    exceptionIds: z
      .array(shown.id('exception'))
      .meta({ description: 'Reconciliation exceptions about it, or about what is related', example: [] }),
    deliveries: z.array(delivery).meta({
      description:
        'Webhooks about all of that to you, oldest first; for as long as webhooks are kept, 30 days by default',
    }),
    credit: shown.credit,
    events: z.array(event).meta({ description: 'Oldest first; of more than 1 000 the latest' }),
    timeline: z.array(timelineEntry).meta({
      description:
        'All of it that is yours, also of what belongs to it (a charge, its refunds, reversals and exceptions), oldest first; of more than 1 000 the latest',
    }),
  })
  .meta({ id: 'TransactionWithEvents' });
