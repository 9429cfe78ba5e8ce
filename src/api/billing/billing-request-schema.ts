import { z } from 'zod';
import type { Config } from '../../settings/config';
import type { BankAnswer } from '../../domain/charge';
import { normalizePhrase } from '../../domain/identifier/phrase';
import { BILLING_REQUEST_STATUSES, CUSTOMER_DECISIONS, type CustomerDecision } from '../../domain/lifecycle';
import {
  amountIn,
  BATCH_MAX,
  currency,
  DESCRIPTION_MAX,
  id,
  list,
  NAME_MAX,
  oneOf,
  paymentId,
  phrase,
  textFor,
  withAmount,
} from '../http/request-fields';
import { metadataGiven, METADATA_TOO_LONG, metadataFits } from '../http/metadata';
import { EXAMPLE_PAYMENT_ID, exampleId } from '../http/example';
import * as shown from '../http/response-fields';
import { declinedLimit, limit } from '../customer/spending-limits';

/** The reason for a bank that declines by `action` and gives none. */
const REASON_OF_ACTION = { deny: 'denied', suspended: 'suspended' } as const;

const billed = textFor('What is billed; shown to the customer', DESCRIPTION_MAX, 'Shoes');

export const billBody = (config: Config) =>
  withAmount(
    z
      .strictObject({
        paymentIDs: list(paymentId, BATCH_MAX).optional(),
        lookupIDs: list(phrase, BATCH_MAX, normalizePhrase).optional(),
        amount: amountIn(config),
        currency: currency(config),
        description: billed,
        metadata: metadataGiven.optional(),
      })
      .refine(metadataFits, METADATA_TOO_LONG)
      .refine(({ paymentIDs, lookupIDs }) => (paymentIDs === undefined) !== (lookupIDs === undefined), {
        path: ['paymentIDs'],
        when: ({ value }) => typeof value === 'object' && value !== null,
        error: 'send exactly one of paymentIDs and lookupIDs',
      })
      .meta({
        example: {
          paymentIDs: [EXAMPLE_PAYMENT_ID],
          amount: 1500,
          currency: config.ACCEPTED_CURRENCIES[0],
          description: 'Shoes',
        },
      }),
  );

/** A bank's bill, for a customer of its own in the place of a merchant: one-time payments alone. */
export const customerBillBody = (config: Config) =>
  withAmount(
    z.strictObject({
      lookupIDs: list(phrase, BATCH_MAX, normalizePhrase),
      payee: z.strictObject({ lookupID: phrase }).meta({ description: 'Your customer who is to be paid' }),
      amount: amountIn(config),
      currency: currency(config),
      description: billed,
    }),
  );

/**
 * Two forms: with `action`, as in the guide, and without, where a debit's id approves and a reason
 * declines. Both become one answer. The guide's form always has a `bankTransactionId`; a refusal's
 * names no debit, and is not kept.
 */
export const bankResponseBody = z
  .strictObject({
    billingRequestId: id('billingRequest'),
    batchId: textFor(
      'The `batchId` of the webhook `billing.request`, to be checked against',
      NAME_MAX,
      exampleId('batch'),
    ).optional(),
    action: oneOf(
      CUSTOMER_DECISIONS,
      'The customer’s decision. `approve_once` and `approve_recurring` approve the charge, `deny` and `suspended` decline it; `suspended` also suspends an agreement that was approved',
    ).optional(),
    bankTransactionId: textFor(
      'Your identifier of the debit, a different one for each transaction; required to approve',
      NAME_MAX,
      'FT26081XK2',
    ).optional(),
    declineReason: textFor(
      'Why the charge is declined. A recurring charge is retried only after `insufficient_funds`, `limit_reached` or `temporarily_unavailable`',
      NAME_MAX,
      'insufficient_funds',
    ).optional(),
    metadata: metadataGiven.optional(),
  })
  .superRefine(
    (body: Parts, context) => {
      const refuse = (path: keyof Parts, message: string) =>
        context.addIssue({ code: 'custom', path: [path], message });
      const { action, bankTransactionId, declineReason: reason } = body;
      if (action === undefined && bankTransactionId === undefined && reason === undefined) {
        refuse('bankTransactionId', 'send it to approve, or declineReason to decline');
      } else if (isApproval(body)) {
        if (bankTransactionId === undefined) refuse('bankTransactionId', 'is required to approve');
        if (reason !== undefined) refuse('declineReason', 'does not go with an approval');
      }
    },
    // Also when single fields are wrong, so that the sender hears of every problem at once.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  )
  .transform((body) => ({ ...body, answer: answerOf(body) }))
  .meta({
    example: { billingRequestId: exampleId('billingRequest'), bankTransactionId: 'FT26081XK2' },
  });

/** The fields that say which answer it is; of any type, as long as the rest has not been judged. */
interface Parts {
  action?: unknown;
  bankTransactionId?: unknown;
  declineReason?: unknown;
}

function isApproval({ action, bankTransactionId }: Parts): boolean {
  return action === undefined
    ? bankTransactionId !== undefined
    : action === 'approve_once' || action === 'approve_recurring';
}

/** The one answer that both forms become, of a body that has been judged. */
function answerOf({
  action = null,
  bankTransactionId,
  declineReason: reason,
}: {
  action?: CustomerDecision | null | undefined;
  bankTransactionId?: string | undefined;
  declineReason?: string | undefined;
}): BankAnswer {
  if (action === 'deny' || action === 'suspended') {
    return { outcome: 'declined', declineReason: reason ?? REASON_OF_ACTION[action], action };
  }
  if (bankTransactionId !== undefined) return { outcome: 'approved', bankTransactionId, action };
  if (reason === undefined) throw new Error('an answer passed its check and then says nothing');
  return { outcome: 'declined', declineReason: reason, action: null };
}

export const billingRequestPath = z.strictObject({ billingRequestId: id('billingRequest') });

const biller = z.union([shown.id('merchant'), shown.id('bank')]);

/** Fields of every item, accepted or not. */
export const echoed = {
  phrase: shown.words('The `paymentID` or `lookupID` that was billed, as you sent it', EXAMPLE_PAYMENT_ID),
  entityId: biller.meta({ description: 'You' }),
};

/** Fields of a refused item. */
export const refused = {
  limit: shown.seldom(limit, 'The limit that refuses the charge; only with `limit_reached`'),
  ...echoed,
};

export const acceptedCharge = {
  billingRequestId: shown.id('billingRequest'),
  reference: shown.reference,
  status: z.literal('pending'),
  warning: shown.seldom(
    z.literal('open_exception'),
    'The customer may have paid you this already: a reconciliation exception of the same amount and currency is not resolved. The charge is made all the same',
  ),
  exceptionId: shown.seldom(shown.id('exception'), 'The exception that is warned of'),
};

export const billingRequest = z
  .strictObject({
    billingRequestId: shown.id('billingRequest'),
    batchId: shown.id('batch', 'The API request that created it; of its own for a scheduled charge'),
    transactionId: shown.id('transaction'),
    reference: shown.reference,
    status: oneOf(BILLING_REQUEST_STATUSES, 'Status of the charge', 'successful'),
    declineReason: shown.declineReason,
    limit: declinedLimit,
    amount: shown.money('The amount charged'),
    currency: shown.currency,
    description: shown.words('Text shown to the customer', 'Shoes'),
    approvalRequired: shown.flag('Whether the customer must approve this charge', true),
    customerId: shown.id('customer'),
    entityId: biller.meta({ description: 'The merchant that bills, or the payee’s bank' }),
    bankId: shown.id('bank'),
    payee: shown.seldom(
      z.strictObject({ bankId: shown.id('bank'), lookupID: shown.lookupID }),
      'The customer who is paid; only for a payment between customers',
    ),
    credit: shown.credit,
    phrase: shown.words(
      'The identifier that was billed: the `paymentID` or the `lookupID`',
      EXAMPLE_PAYMENT_ID,
    ),
    paymentID: shown.paymentID.optional(),
    lookupID: shown.seldom(shown.lookupID, 'Instead of `paymentID`, for a one-time payment'),
    scheduleId: shown.scheduleId,
    metadata: shown.metadataForMerchants,
    bankTransactionId: shown
      .wordsOrNull('The bank’s identifier of the debit; shown only to the bank', 'FT26081XK2')
      .optional(),
    expiresAt: shown.moment(
      'When the charge is declined if it has not been answered',
      '2026-03-02T08:15:00.000Z',
    ),
    createdAt: shown.moment('When it was created'),
    closedAt: shown.moment('When it was answered or closed', '2026-03-02T08:05:00.000Z').nullable(),
  })
  .meta({ id: 'BillingRequest' });

export const chargeOutcome = z.strictObject({
  billingRequestId: shown.id('billingRequest'),
  status: oneOf(['successful', 'declined'], 'Final status of the charge'),
});

export const chargeStanding = (description: string) =>
  chargeOutcome.extend({ status: oneOf(BILLING_REQUEST_STATUSES, description) });

export const cancelledCharge = z.strictObject({
  billingRequestId: shown.id('billingRequest'),
  status: z.literal('declined'),
  declineReason: z.literal('cancelled'),
});
