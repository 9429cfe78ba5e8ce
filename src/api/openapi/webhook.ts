import { z } from 'zod';
import { ROLES, type Role } from '../../domain/entity';
import type { WebhookType } from '../../domain/webhook';
import { batchOutcome } from './customer';
import { customerDecision } from './decision';
import { exampleId } from './example';
import {
  currencyCode,
  declineReason,
  lookupID,
  moment,
  money,
  paymentID,
  reference,
  shownId,
  words,
} from './parts';
import { scheduleStatus } from './recurring';
import type { JsonSchema, OpenApiOperation, Schemas } from './schema';

/** What we send by webhook, and show again in the events feed: each kind of news with the form of its items. */

interface News {
  to: readonly Role[];
  /** When it is sent. */
  summary: string;
  /** What it asks of the receiver. */
  description: string;
  item: z.ZodObject;
}

const sequence = z
  .int()
  .min(1)
  .meta({ description: 'Orders the news of one resource: a lower one is older', example: 1 });

const merchant = z
  .strictObject({
    id: shownId('merchant'),
    name: words('Name', 'Palm Grocers'),
    icon: z.string().nullable().meta({ description: 'Address of a picture', example: null }),
    email: z.string().nullable().meta({ description: 'E-mail address', example: 'help@shop.example.com' }),
    website: z.string().nullable().meta({ description: 'Address', example: 'https://shop.example.com/' }),
  })
  .meta({ id: 'MerchantFace', description: 'The merchant, to show to the customer' });

const payee = z
  .strictObject({ bankId: shownId('bank'), lookupID, name: words('Name on the account', 'EZE CHIDI') })
  .meta({ id: 'PayeeFace', description: 'Who is paid, of a payment between customers' });

const customerEmail = words('The customer’s e-mail address', 'ada.obi@example.com');
const forCustomer = words('For the customer to read', 'Gold plan');

const WEBHOOKS: Record<WebhookType, News> = {
  'billing.intent': {
    to: ['bank'],
    summary: 'A merchant asks for permission to bill your customers',
    description: 'Ask the customer, and answer by `POST /v1/billing/intent-response` before `dueDate`.',
    item: z.strictObject({
      intentId: shownId('intent'),
      sequence,
      customerId: shownId('customer'),
      customerEmail,
      lookupID,
      paymentID,
      currency: currencyCode,
      merchant,
      description: forCustomer,
      reference,
      dueDate: moment('When the merchant means to bill first, or else when the window closes'),
    }),
  },
  'billing.intent.closed': {
    to: ['bank'],
    summary: 'An intent closed without your answer',
    description: 'Take the question away from the customer’s phone.',
    item: z.strictObject({
      intentId: shownId('intent'),
      sequence,
      reference,
      lookupID,
      status: z.enum(['declined', 'superseded', 'approved']).meta({ example: 'declined' }),
      reason: z.string().nullable().meta({ description: 'Why it was declined', example: 'expired' }),
    }),
  },
  'billing.intent.response': {
    to: ['merchant'],
    summary: 'An intent of yours ended, with an answer or without',
    description: 'When it is approved, bill by the `paymentID` from now on.',
    item: z.strictObject({
      intentId: shownId('intent'),
      sequence,
      reference,
      lookupID,
      customerId: shownId('customer'),
      status: z.enum(['approved', 'declined', 'superseded']).meta({ example: 'approved' }),
      reason: z.string().nullable().meta({ description: 'Why it was declined', example: null }),
      customerDecision: customerDecision.nullable(),
      customerAction: z.enum(['approved', 'declined']),
      currency: currencyCode,
      paymentID: paymentID.optional(),
    }),
  },
  'billing.request': {
    to: ['bank'],
    summary: 'A charge waits for your answer',
    description:
      'With `approvalRequired`, ask the customer first; without, debit and confirm. Answer by `POST /v1/billing/bank-response` before `dueDate`.',
    item: z.strictObject({
      billingRequestId: shownId('billingRequest'),
      sequence,
      reference,
      approvalRequired: z
        .boolean()
        .meta({ description: 'Whether the customer must say yes to this charge', example: true }),
      amount: money('What to debit'),
      currency: currencyCode,
      description: forCustomer,
      customerId: shownId('customer'),
      customerEmail,
      lookupID,
      paymentID: paymentID.optional(),
      merchant: merchant.optional(),
      payee: payee.optional().meta({
        description: 'In place of `merchant`, of a payment between customers',
        examples: [],
      }),
      dueDate: moment('When the window closes'),
      scheduleId: shownId('schedule').optional().meta({
        description: 'The schedule that made it, if one did',
        examples: [],
      }),
    }),
  },
  'billing.closed': {
    to: ['bank'],
    summary: 'A charge closed without your answer',
    description:
      'Do not debit any more. If you have, answer all the same: the 409 is kept for reconciliation.',
    item: z.strictObject({
      billingRequestId: shownId('billingRequest'),
      sequence,
      reference,
      status: z.literal('declined'),
      declineReason: z.string().meta({ description: 'Why', example: 'expired' }),
    }),
  },
  'billing.credit': {
    to: ['bank'],
    summary: 'A customer of yours has been paid by another customer',
    description: 'Credit the customer, against the debit of the payer’s bank.',
    item: z.strictObject({
      billingRequestId: shownId('billingRequest'),
      sequence,
      reference,
      amount: money('What to credit'),
      currency: currencyCode,
      lookupID: lookupID.meta({ description: 'Your customer' }),
      payerBankId: shownId('bank', 'The payer’s bank'),
      bankTransactionId: words('The debit, as the payer’s bank calls it', 'FT26081XK2'),
    }),
  },
  'billing.response': {
    to: ['merchant', 'bank'],
    summary: 'A charge of yours ended',
    description: 'Deliver, or do not. A bank gets it for a payment that it asked for and that was declined.',
    item: z.strictObject({
      billingRequestId: shownId('billingRequest'),
      sequence,
      reference,
      paymentID: paymentID.optional(),
      lookupID: lookupID.optional().meta({
        description: 'In place of `paymentID`, of a one-time payment',
        examples: [],
      }),
      amount: money('What was charged'),
      currency: currencyCode,
      customerAction: z.enum(['approved', 'declined']),
      status: z.enum(['successful', 'declined']),
      declineReason,
      scheduleId: shownId('schedule').nullable().meta({
        description: 'The schedule that made it',
        example: null,
      }),
    }),
  },
  'decision.updated': {
    to: ['merchant'],
    summary: 'What a customer allows you changed, other than by an intent of yours',
    description: 'Bill by it from now on.',
    item: z.strictObject({
      id: shownId('agreement'),
      sequence,
      customerId: shownId('customer'),
      lookupID,
      paymentID,
      customerDecision,
      currency: currencyCode,
    }),
  },
  'refund.request': {
    to: ['bank'],
    summary: 'A merchant sends money back to your customer; sent again as a reminder',
    description:
      'Pay it once, and answer by `POST /v1/bank/refund-response`: a higher `sequence` of the same `refundId` is the same refund.',
    item: z.strictObject({
      refundId: shownId('refund'),
      sequence,
      reference,
      originalReference: reference.meta({ description: 'Of the charge' }),
      billingRequestId: shownId('billingRequest', 'The charge'),
      bankTransactionId: words('Your own id of the debit', 'FT26081XK2'),
      amount: money('What to send back'),
      currency: currencyCode,
      reason: z.string().nullable().meta({ description: 'The merchant’s', example: 'Wrong size' }),
      customerId: shownId('customer'),
      lookupID,
      merchant,
      expectedBy: moment('When it should be there'),
      overdue: z.boolean().meta({ description: 'Whether that has passed', example: false }),
    }),
  },
  'refund.response': {
    to: ['merchant'],
    summary: 'A refund of yours ended, or is overdue',
    description: 'When it is rejected, its amount can be refunded again.',
    item: z.strictObject({
      refundId: shownId('refund'),
      sequence,
      reference,
      originalReference: reference.meta({ description: 'Of the charge' }),
      amount: money('What is sent back'),
      currency: currencyCode,
      status: z.enum(['pending', 'completed', 'rejected']).meta({ example: 'completed' }),
      overdue: z.boolean().meta({ description: 'Whether it is pending after `expectedBy`', example: false }),
      reason: z.string().nullable().meta({ description: 'The bank’s', example: null }),
      expectedBy: moment('When it should be there'),
    }),
  },
  'recurring.upcoming': {
    to: ['merchant', 'bank'],
    summary: 'A schedule charges in 24 hours; never sent for daily ones',
    description: 'Tell the customer.',
    item: z.strictObject({
      scheduleId: shownId('schedule'),
      sequence,
      customerId: shownId('customer'),
      amount: money('What will be charged'),
      currency: currencyCode,
      description: z.string().nullable().meta({ description: 'What for', example: 'Gold plan' }),
      dueDate: moment('When'),
    }),
  },
  'recurring.updated': {
    to: ['merchant', 'bank'],
    summary: 'A schedule changed its state or terms',
    description: 'Look at it again where the terms matter to you.',
    item: z.strictObject({
      scheduleId: shownId('schedule'),
      sequence,
      status: scheduleStatus,
      previousStatus: scheduleStatus,
      nextBillingDate: moment('The next regular due date').nullable(),
      billingsCompleted: z.int().min(0).meta({ description: 'Billings that ran', example: 3 }),
    }),
  },
  'migration.completed': {
    to: ['bank'],
    summary: 'A batch of more than 500 customers is done',
    description: 'Look at its customers and failures by `GET /v1/bank/customers/batches/{batchId}`.',
    item: z.strictObject({ ...batchOutcome, sequence }),
  },
  'webhook.test': {
    to: ROLES,
    summary: 'You asked for a test event',
    description: 'Nothing has happened.',
    item: z.strictObject({ sequence, text: words('A greeting', 'It works') }),
  },
};

/** `billing.request` → `BillingRequest`. */
const pascalCase = (type: string) =>
  type.replaceAll(/(?:^|\.)(\w)/g, (_, first: string) => first.toUpperCase());

const KINDS = Object.entries(WEBHOOKS).map(([type, { item, ...news }]) => ({
  ...news,
  type,
  item: item.meta({ id: `${pascalCase(type)}Item` }),
}));

const signature = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ example: '6d0cc3'.padEnd(64, '0') });

const oneOf = ([first, ...others]: z.ZodType[]) =>
  first && others.length === 0 ? first : z.union([first, ...others].filter((one) => one !== undefined));

/** The body of a webhook. */
const envelope = ({ type, to, item }: (typeof KINDS)[number]) =>
  z.strictObject({
    entityId: oneOf(to.map((role) => shownId(role, 'You'))),
    entityType: z.enum(to),
    webhookType: z.literal(type),
    timestamp: moment('When it was announced'),
    batchId: shownId('batch', 'The request that it comes from; of its own where there was none'),
    data: z.array(item).min(1).meta({ description: 'What happened, to one thing or several' }),
    itemCount: z.int().min(1).meta({ description: 'Length of `data`', example: 1 }),
    signature: signature.meta({
      description: 'HMAC-SHA256 of the body as it is without this field, with your webhook secret',
    }),
  });

/** What the events feed says of the same. */
export const feedEvent = z.union(
  KINDS.map(({ type, item }) =>
    z
      .strictObject({
        eventId: shownId('event'),
        webhookType: z.literal(type),
        timestamp: moment('When it was announced'),
        data: z.array(item),
      })
      .meta({ title: type }),
  ),
);

const header = (name: string, description: string, schema: JsonSchema, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string', ...schema, examples: [example] },
});

const SIGNED: JsonSchema[] = [
  header('X-Service-Event', 'The `webhookType`', {}, 'billing.request'),
  header(
    'X-Service-Delivery',
    'The key to drop repeats by: the same in every retry, as is the body',
    {},
    exampleId('delivery'),
  ),
  header(
    'X-Service-Signature',
    'HMAC-SHA256 of the exact bytes of the body in lower-case hex; the key is your whole webhook secret',
    { pattern: '^[0-9a-f]{64}$' },
    '6d0cc3'.padEnd(64, '0'),
  ),
  header('webhook-id', 'As `X-Service-Delivery`, for Standard Webhooks libraries', {}, exampleId('delivery')),
  header('webhook-timestamp', 'Seconds since 1970, when this attempt was sent', {}, '1795245600'),
  header(
    'webhook-signature',
    'That of Standard Webhooks, which cannot be replayed; two of them while you rotate your secret',
    {},
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];

export function webhookPaths(schemas: Schemas): Record<string, { post: OpenApiOperation }> {
  return Object.fromEntries(
    KINDS.map((news) => [
      news.type,
      {
        post: {
          operationId: `on${pascalCase(news.type)}`,
          tags: ['Webhooks'],
          summary: news.summary,
          description: `${news.description}\n\nTo: ${news.to.join(', ')}.`,
          security: [],
          parameters: SIGNED,
          requestBody: {
            required: true,
            content: { 'application/json': schemas.media(envelope(news), 'output') },
          },
          responses: {
            '2XX': { description: 'You have it, whatever you do with it later' },
            410: { description: 'You want none of this delivery: it is given up at once' },
            default: { description: 'Anything else, or silence for 10 seconds, is sent again later' },
          },
        },
      },
    ]),
  );
}
