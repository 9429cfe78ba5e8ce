import { z } from 'zod';
import { BILLING_REQUEST_STATUSES, REFUND_STATUSES } from '../../domain/lifecycle';
import { REFUND_SORTS } from '../../database/refund/accept-refund';
import { amount, DESCRIPTION_MAX, id, NAME_MAX, oneOf, pagination, textFor } from '../http/request-fields';
import { metadata } from '../http/metadata';
import { EXAMPLE_REFERENCE, EXAMPLE_REFUND_REFERENCE, exampleId } from '../http/example';
import * as shown from '../http/response-fields';

export const refundBody = z.strictObject({
  reference: textFor('Reference of the charge', NAME_MAX, EXAMPLE_REFERENCE),
  amount: amount
    .meta({
      description: 'Amount to refund, in major units; if left out, all that has not been refunded yet',
    })
    .optional(),
  reason: textFor('Reason for the refund; shown to the bank', DESCRIPTION_MAX, 'Wrong size').optional(),
  metadata: metadata.optional(),
});

/** As with charges, the id that comes with a rejection names no transfer, and is not kept. */
export const refundResponseBody = z
  .strictObject({
    refundId: id('refund'),
    action: oneOf(['completed', 'rejected'], '`completed` if the customer has received the money'),
    bankTransactionId: textFor(
      'Your identifier of the transfer, a different one for each transaction; required where it is `completed`',
      NAME_MAX,
      'FT26081XK9',
    ).optional(),
    reason: textFor('Why the refund is rejected', NAME_MAX, 'account closed').optional(),
  })
  .superRefine(
    ({ action, bankTransactionId }: { action?: unknown; bankTransactionId?: unknown }, context) => {
      if (action !== 'completed' || bankTransactionId !== undefined) return;
      const message = 'is required to complete: it proves the transfer';
      context.addIssue({ code: 'custom', path: ['bankTransactionId'], message });
    },
    { when: ({ value }) => typeof value === 'object' && value !== null },
  )
  .meta({
    example: { refundId: exampleId('refund'), action: 'completed', bankTransactionId: 'FT26081XK9' },
  });

export const refundPath = z.strictObject({ refundId: id('refund') });

export const refundsQuery = z.strictObject({
  status: oneOf(REFUND_STATUSES, 'Only those with this status').optional(),
  ...pagination(Object.keys(REFUND_SORTS) as [keyof typeof REFUND_SORTS]),
});

const status = oneOf(
  REFUND_STATUSES,
  'Status of the refund. `returned`: it was completed, and its money came back to the bank',
  'pending',
);

export const refundReferences = {
  reference: shown.reference.meta({
    description: 'Reference of the refund',
    example: EXAMPLE_REFUND_REFERENCE,
  }),
  originalReference: shown.reference.meta({ description: 'Reference of the charge' }),
};

export const refund = z
  .strictObject({
    refundId: shown.id('refund'),
    transactionId: shown.id('transaction'),
    ...refundReferences,
    billingRequestId: shown.id('billingRequest', 'Id of the charge'),
    merchantId: shown.id('merchant'),
    customerId: shown.id('customer'),
    bankId: shown.id('bank'),
    amount: shown.money('The amount refunded'),
    currency: shown.currency,
    reason: shown.wordsOrNull('The reason that the merchant gave', 'Wrong size'),
    metadata: shown.metadataForMerchants,
    status,
    overdue: shown.flag('Whether it is still pending after `expectedBy`', false),
    rejectReason: shown.wordsOrNull('The reason that the bank gave for a rejection'),
    bankTransactionId: shown
      .wordsOrNull('The bank’s identifier of the transfer; shown only to the bank')
      .optional(),
    expectedBy: shown.moment('Three business days after it was created', '2026-03-05T08:00:00.000Z'),
    createdAt: shown.moment('When it was created'),
    closedAt: shown.moment('When the bank answered it').nullable().meta({ example: null }),
  })
  .meta({ id: 'Refund' });

export const refundOutcome = z.strictObject({ refundId: shown.id('refund'), status });
export const chargeStatus = z.strictObject({ status: z.enum(BILLING_REQUEST_STATUSES) });
