import { z } from 'zod';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../../domain/lifecycle';
import { oneOf } from '../http/request-fields';
import * as shown from '../http/response-fields';

export const formatAsked = oneOf(
  ['json', 'csv'],
  'Format of the answer; takes precedence over the header `Accept`',
).optional();

const part = (description: string) => z.number().min(0).meta({ description, example: 0 });

export const transactionShown = z
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
