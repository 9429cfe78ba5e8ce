import { z } from 'zod';
import { ROLES, type Role } from '../../domain/entity';
import type { WebhookType } from '../../domain/webhook/webhook';
import type { WebhookItem } from '../../domain/webhook/webhook-item';
import { billingRequest } from '../billing/billing-request-schema';
import { batchOutcome } from '../customer/migration-schema';
import { limit } from '../customer/spending-limits';
import { billingN, schedule, scheduleStatus, skippedBilling } from '../recurring/recurring-schema';
import { oneOf } from '../http/request-fields';
import * as shown from '../http/response-fields';
import { exceptionFields } from '../billing/reconciliation-exception';
import { refund, refundReferences } from '../billing/refund';
import { agreementState, customerDecision } from '../customer/decision';
import { limitsShown } from '../customer/spending-limits';

/** The types of webhooks, each with the fields of its items, beside their `sequence`. */

interface DocumentedWebhook {
  to: readonly Role[];
  summary: string;
  description: string;
  item: z.ZodRawShape;
}

const merchant = z
  .strictObject({
    id: shown.id('merchant'),
    name: shown.words('Name', 'Palm Grocers'),
    icon: shown.wordsOrNull('URL of a picture'),
    email: shown.wordsOrNull('E-mail address', 'help@shop.example.com'),
    website: shown.wordsOrNull('URL', 'https://shop.example.com/'),
  })
  .meta({ id: 'MerchantFace', description: 'The merchant, to show to the customer' });

const payee = z
  .strictObject({
    bankId: shown.id('bank'),
    lookupID: shown.lookupID,
    name: shown.words('Name on the account', 'EZE CHIDI'),
  })
  .meta({ id: 'PayeeFace', description: 'The customer who is paid, in a payment between customers' });

const customer = {
  customerId: shown.id('customer'),
  customerEmail: shown.words('The customer’s e-mail address', 'ada.obi@example.com'),
  lookupID: shown.lookupID,
};
const description = shown.words('Text to show to the customer', 'Gold plan');

const ofIntent = { intentId: shown.id('intent'), reference: shown.reference };
const ofCharge = { billingRequestId: shown.id('billingRequest'), reference: shown.reference };
const ofRefund = { refundId: shown.id('refund'), ...refundReferences, currency: shown.currency };
const ofDecision = {
  id: shown.id('agreement'),
  customerId: shown.id('customer'),
  lookupID: shown.lookupID,
  paymentID: shown.paymentID,
  customerDecision,
  state: agreementState,
  currency: shown.currency,
  spendingLimits: limitsShown,
};
const whyDeclined = 'Why it was declined; `null` if it was not';
const expectedBy = shown.moment('When the customer should have the money', '2026-03-05T08:00:00.000Z');

const DOCUMENTED = {
  'billing.intent': {
    to: ['bank'],
    summary: 'A merchant asks for permission to bill your customers',
    description:
      'Ask each customer, and send the decision with `POST /v1/billing/intent-response`. An intent that is not answered within the response window (24 hours by default) is declined.',
    item: {
      ...ofIntent,
      ...customer,
      paymentID: shown.paymentID,
      currency: shown.currency,
      merchant,
      description,
      dueDate: shown.moment(
        'When the merchant intends to bill first; if it has not said so, the end of the response window',
        '2026-03-05T08:00:00.000Z',
      ),
      spendingLimits: limitsShown.meta({ description: 'The limits that the merchant asks for' }),
      termsInWords: shown.words(
        'The same limits as an English sentence to show to the customer, with days of the network’s time zone',
        'At most NGN 2,500 a charge, NGN 10,000 a day and NGN 50,000 a month, at most 2 charges a week, until 31 March 2027.',
      ),
      currentLimits: shown.seldom(
        limitsShown,
        'The limits that hold now, where the customer has approved billing in this currency before',
      ),
    },
  },
  'billing.intent.closed': {
    to: ['bank'],
    summary: 'An intent was closed without your answer',
    description:
      'The response window has ended, or the merchant has sent a newer intent. Stop asking the customer.',
    item: {
      ...ofIntent,
      lookupID: shown.lookupID,
      status: z.enum(['declined', 'superseded']).meta({ example: 'declined' }),
      reason: shown.wordsOrNull(whyDeclined, 'expired'),
    },
  },
  'billing.intent.response': {
    to: ['merchant'],
    summary: 'A billing intent has been decided',
    description:
      'The customer’s decision on your intent, or its end without one. If it is approved, use the `paymentID` to bill.',
    item: {
      ...ofIntent,
      lookupID: shown.lookupID,
      customerId: shown.id('customer'),
      status: z.enum(['approved', 'declined', 'superseded']).meta({ example: 'approved' }),
      reason: shown.wordsOrNull(whyDeclined),
      customerDecision: customerDecision.nullable(),
      customerAction: z.enum(['approved', 'declined']),
      currency: shown.currency,
      paymentID: shown.paymentID.optional(),
      metadata: shown.metadata,
    },
  },
  'billing.request': {
    to: ['bank'],
    summary: 'A charge to one of your customers needs your answer',
    description:
      'If `approvalRequired` is true, ask the customer first; otherwise debit the customer and confirm. Answer with `POST /v1/billing/bank-response` before `dueDate`, after which the charge is declined.',
    item: {
      ...ofCharge,
      approvalRequired: billingRequest.shape.approvalRequired,
      amount: shown.money('The amount to debit'),
      currency: shown.currency,
      description,
      ...customer,
      paymentID: shown.paymentID
        .nullable()
        .meta({ description: 'The agreement; `null` for a one-time payment' }),
      merchant: merchant.optional(),
      payee: shown.seldom(payee, 'Instead of `merchant`, for a payment between customers'),
      dueDate: shown.moment(
        'When the charge is declined if it has not been answered',
        '2026-03-02T08:15:00.000Z',
      ),
      scheduleId: shown.seldom(shown.id('schedule'), 'The recurring schedule that it belongs to, if any'),
    },
  },
  'billing.closed': {
    to: ['bank'],
    summary: 'A charge was closed without your answer',
    description:
      'Its response window has ended, the merchant has cancelled it, or its agreement was denied. Stop asking the customer, and do not debit any more. If you already have, reverse the debit and still send your answer: it gets a 409 and is recorded for reconciliation. Where `sequence` is 1, its `billing.request` was not sent to you and will not be, and there is nothing to do.',
    item: {
      ...ofCharge,
      status: z.literal('declined'),
      declineReason: shown.words('`expired`, `not_delivered`, `cancelled` or `denied`', 'expired'),
    },
  },
  'billing.credit': {
    to: ['bank'],
    summary: 'One of your customers has been paid by another customer',
    description: 'Credit your customer; the payer’s bank has debited the payer.',
    item: {
      ...ofCharge,
      amount: shown.money('The amount to credit'),
      currency: shown.currency,
      lookupID: shown.lookupID.meta({ description: 'The `lookupID` of your customer, who is paid' }),
      payerBankId: shown.id('bank', 'Id of the payer’s bank'),
      bankTransactionId: shown.words('The payer’s bank’s identifier of the debit', 'FT26081XK2'),
    },
  },
  'billing.reversed': {
    to: ['merchant', 'bank'],
    summary: 'The money of a charge did not stay',
    description:
      'The customer’s bank, or the operator, has found that the charged money was reversed, or never moved. The part of the charge not yet refunded is in your history as a transaction of type `reversal`; the charge keeps its status. A bank receives it for a payment that it requested for its customer.',
    item: {
      ...ofCharge,
      reversalReference: shown.reference.meta({ description: 'Reference of the reversal' }),
      amount: shown.money('The amount reversed: what was left of the charge'),
      currency: shown.currency,
      metadata: shown.metadataForMerchants,
    },
  },
  'billing.response': {
    to: ['merchant', 'bank'],
    summary: 'A charge was approved or declined',
    description:
      'The result of a charge of yours. A bank receives it when a payment that it requested for its customer was declined.',
    item: {
      ...ofCharge,
      paymentID: shown.paymentID.optional(),
      lookupID: billingRequest.shape.lookupID,
      amount: shown.money('The amount of the charge'),
      currency: shown.currency,
      customerAction: z.enum(['approved', 'declined']),
      status: z.enum(['successful', 'declined']),
      declineReason: shown.declineReason,
      limit: billingRequest.shape.limit,
      scheduleId: shown.scheduleId,
      metadata: shown.metadataForMerchants,
    },
  },
  'decision.updated': {
    to: ['merchant', 'bank'],
    summary: 'A customer’s decision about a merchant has changed',
    description:
      'The decision, its state or its limits changed other than by answering an intent. It applies from the next charge on. A bank receives it for what it did not say itself.',
    item: ofDecision,
  },
  'decision.expiring': {
    to: ['merchant', 'bank'],
    summary: 'A customer’s permission is about to end',
    description:
      'Sent 14 days before `validUntil`, at once where less is left, and once for each `validUntil`. Then schedules are suspended; a new intent, or the customer at the bank, can renew the permission.',
    item: { ...ofDecision, validUntil: shown.moment('Charges are accepted before then') },
  },
  'refund.request': {
    to: ['bank'],
    summary: 'A merchant refunds a charge to your customer',
    description:
      'Transfer the money, and answer with `POST /v1/bank/refund-response`. While the refund is overdue this webhook is sent again as a reminder, with the same `refundId` and a higher `sequence`: transfer the money only once.',
    item: {
      ...ofRefund,
      billingRequestId: refund.shape.billingRequestId,
      bankTransactionId: shown.words('Your identifier of the debit', 'FT26081XK2'),
      amount: shown.money('The amount to transfer to the customer'),
      reason: refund.shape.reason,
      customerId: shown.id('customer'),
      lookupID: shown.lookupID,
      merchant,
      expectedBy,
      overdue: shown.flag('Whether `expectedBy` has passed', false),
    },
  },
  'refund.response': {
    to: ['merchant'],
    summary: 'A refund was completed or rejected, or is overdue',
    description: 'The amount of a rejected refund can be refunded again.',
    item: {
      ...ofRefund,
      amount: shown.money('The amount of the refund'),
      status: z.enum(['pending', 'completed', 'rejected']).meta({ example: 'completed' }),
      overdue: refund.shape.overdue,
      reason: refund.shape.rejectReason,
      expectedBy,
      metadata: shown.metadata,
    },
  },
  'refund.returned': {
    to: ['merchant', 'bank'],
    summary: 'The money of a completed refund came back',
    description:
      'The customer’s bank, or the operator, has found that the money of the refund did not reach the customer. The refund is `returned`, and its amount can be refunded again. The return is in your history as a transaction of type `refund_return`.',
    item: {
      ...ofRefund,
      amount: shown.money('The amount of the refund'),
      status: z.literal('returned'),
      metadata: shown.metadataForMerchants,
    },
  },
  'exception.opened': {
    to: ['merchant', 'bank'],
    summary: 'A reconciliation exception was opened',
    description:
      'Money of a charge or a refund of yours may have moved otherwise than the network says. A bank finds out, and answers with `POST /v1/reconciliation/exceptions/{exceptionId}/respond`. A merchant waits before it bills the customer for the same again. For a payment between customers, both banks receive it and the payer’s bank answers.',
    item: exceptionFields,
  },
  'exception.resolved': {
    to: ['merchant', 'bank'],
    summary: 'A reconciliation exception was resolved',
    description:
      'The bank, or the operator, has said what became of the money. The part of a charge that the exception held can be refunded again, unless another exception of the same refund is about it as well. A reversed charge is announced by `billing.reversed`, a returned refund by `refund.returned`.',
    item: exceptionFields,
  },
  'recurring.upcoming': {
    to: ['merchant', 'bank'],
    summary: 'A recurring schedule will charge soon',
    description:
      '24 hours before, unless the network has another setting: for your information, for example to remind the customer. Not sent for daily schedules. A raise of the amount after it is for the billing after; a lower amount is announced again.',
    item: {
      scheduleId: shown.id('schedule'),
      customerId: shown.id('customer'),
      amount: shown.money('The amount that will be charged'),
      currency: shown.currency,
      description: schedule.shape.description,
      n: billingN,
      dueDate: shown.moment('When the charge is due', '2026-03-03T08:00:00.000Z'),
      withinLimits: shown.flag('The customer’s limits allow it on that day, by what is charged so far', true),
      limit: shown.seldom(
        limit,
        'The first limit that refuses it; left out where the permission is over by then',
      ),
    },
  },
  'recurring.updated': {
    to: ['merchant', 'bank'],
    summary: 'A recurring schedule has changed',
    description:
      'Its status or its terms changed, or the customer has one billing skipped. A merchant retrieves the terms with `GET /v1/billing/recurring/{scheduleId}`, a bank lists them with `GET /v1/bank/customer/subscriptions`.',
    item: {
      scheduleId: shown.id('schedule'),
      status: scheduleStatus,
      previousStatus: scheduleStatus,
      suspendedReason: schedule.shape.suspendedReason,
      nextBillingDate: schedule.shape.nextBillingDate,
      billingsCompleted: schedule.shape.billingsCompleted,
      amount: shown.money('The amount of each charge, after new terms from `effectiveFrom` on'),
      currency: shown.currency,
      previousAmount: shown.money('The amount before; only after a change of terms').optional(),
      effectiveFrom: shown
        .moment(
          'The first due date that the new terms hold for; only after a change of terms, `null` if no charge is to come',
          '2026-06-02T08:00:00.000Z',
        )
        .nullable()
        .optional(),
      skipped: skippedBilling('The customer has this billing skipped').optional(),
      unskipped: skippedBilling('The customer has it charged after all').optional(),
    },
  },
  'migration.completed': {
    to: ['bank'],
    summary: 'A batch of more than 500 customers has been processed',
    description: 'Retrieve the result with `GET /v1/bank/customers/batches/{batchId}`.',
    item: batchOutcome,
  },
  'webhook.test': {
    to: ROLES,
    summary: 'You have asked for a test webhook',
    description: 'Sent by `POST /v1/webhooks/endpoint/test`.',
    item: { text: shown.words('Any text', 'It works') },
  },
  'webhook.endpoint_changed': {
    to: ROLES,
    summary: 'Your webhooks are not sent here any more',
    description:
      'Sent to the URL of before when another URL is set or none. It is attempted once, and signed so that your receiver there believes it also where your secret was rotated first: `X-Service-Signature` with the secret that was in use for longest in the last 72 hours, `webhook-signature` with each that was in use in that time. If you did not expect it, have your tokens revoked and your secrets rotated.',
    item: {
      changedBy: oneOf(
        ['api', 'operator'],
        'Whether it was changed with one of your access tokens, or by the operator of the network',
        'api',
      ),
      cleared: shown.flag('No URL is set any more', false),
    },
  },
} satisfies Record<WebhookType, DocumentedWebhook>;

/** A field in the document: an amount is a JSON number, and JSON makes a string of a date. */
type Shown<Field> = Field extends bigint ? number : Field extends Date ? Date | string : Field;

/** Names of the fields that a document lacks, has beyond the item, or has of another type. */
export type Differing<Item, Shape> = {
  [Field in keyof Item | keyof Shape]: Field extends keyof Item & keyof Shape
    ? UnlessSame<Field, Shown<Item[Field]>, z.output<Shape[Field]>>
    : Field;
}[keyof Item | keyof Shape];

type UnlessSame<Field, One, Other> = [One, Other] extends [Other, One] ? never : Field;

/** A document that differs from what is announced does not compile; the error names the field. */
export const WEBHOOKS: {
  [Type in WebhookType]: DocumentedWebhook &
    Record<Differing<Omit<WebhookItem<Type>, 'sequence'>, (typeof DOCUMENTED)[Type]['item']>, never>;
} = DOCUMENTED;
