import { z } from 'zod';
import { AGREEMENT_DECISIONS } from '../../domain/lifecycle';
import type { Operation } from './operation';
import { currencyCode, exactSums, lookupID, moment, pageOf, paymentID, shownId, words } from './parts';

const limit = (span: string, example: number) =>
  z
    .number()
    .positive()
    .nullable()
    .meta({
      description: `The most that the merchant may charge in a ${span}; \`null\` for no limit`,
      example,
    });

const spent = (span: string, example: number) =>
  z
    .number()
    .min(0)
    .meta({
      description: `Charged by the merchant in the current ${span}, pending charges included. A charge counts on the day on which it was accepted, whenever it is answered. Rounded to 15 digits where it has more`,
      example,
    });

const inFull = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .optional();

export const customerDecision = z.enum(AGREEMENT_DECISIONS).meta({
  description:
    '`approve_once`: the customer must approve each charge; `approve_recurring`: charges need no further approval; `deny`: no charges; `suspended`: no charges for now; `pending`: the customer has not yet answered',
  example: 'approve_recurring',
});

const terms = {
  currency: currencyCode,
  spendingLimits: z.strictObject({ daily: limit('day', 10_000), monthly: limit('month', 50_000) }),
  spent: z.strictObject({
    daily: spent('day', 1500.5),
    monthly: spent('month', 6001),
    exact: exactSums({ daily: inFull, monthly: inFull }),
  }),
  createdAt: moment('When the merchant first asked'),
  updatedAt: moment('When the decision last changed'),
};

const decision = z
  .strictObject({
    id: shownId('agreement'),
    customerId: shownId('customer'),
    lookupID,
    merchant: z.strictObject({ id: shownId('merchant'), name: words('Name', 'Palm Grocers') }),
    customerDecision,
    blockMerchant: z.boolean().meta({ description: 'Whether the customer has blocked the merchant' }),
    ...terms,
  })
  .meta({ id: 'Decision' });

const agreement = z
  .strictObject({
    agreementId: shownId('agreement'),
    paymentID: paymentID.nullable().meta({
      description:
        'Used to bill, and the same for good; `null` as long as the customer has never approved the agreement',
    }),
    customerId: shownId('customer'),
    bankId: shownId('bank'),
    merchantId: shownId('merchant'),
    decision: customerDecision,
    ...terms,
  })
  .meta({ id: 'Agreement' });

export const DECISIONS = {
  'GET /v1/agreements': {
    id: 'listAgreements',
    tag: 'Billing intents',
    summary: 'List agreements',
    description:
      'Your agreements with customers, as a provider those of your merchants: one entry per merchant and customer, from the first intent on. It brings back each `paymentID` that you have been sent. `spent` counts by calendar days and months in the network’s time zone, each charge on the day on which it was accepted.',
    answers: { 200: { description: '1 agreement', data: pageOf('agreements', agreement) } },
  },
  'GET /v1/agreements/:agreementId': {
    id: 'getAgreement',
    tag: 'Billing intents',
    summary: 'Retrieve an agreement',
    description: 'For the merchant, and for its provider.',
    answers: { 200: { description: 'The agreement is approve_recurring', data: agreement } },
  },
  'GET /v1/bank/customer-decisions': {
    id: 'listDecisions',
    tag: 'Customer decisions',
    summary: 'List customer decisions',
    description:
      'What your customers have decided about merchants: one entry per customer and merchant. `spent` counts by calendar days and months in the network’s time zone, each charge on the day on which it was accepted.',
    answers: { 200: { description: '1 decision', data: pageOf('decisions', decision) } },
  },
  'PUT /v1/bank/customer-decisions/:id': {
    id: 'changeDecision',
    tag: 'Customer decisions',
    summary: 'Update a customer decision',
    description:
      'Records that the customer has changed a decision; it applies from the next charge on. `spendingLimits` replaces both limits; if it is left out, they stay. A charge counts against the limits of the day on which it was accepted, whenever the bank answers it. `blockMerchant` `true` means `deny`, and refuses every later intent and charge of the merchant. Recurring schedules of the customer with this merchant follow the decision: `suspended` and `approve_once` suspend them, `deny` cancels them, and `approve_recurring` resumes those that an earlier decision had suspended. The merchant receives the webhook `decision.updated`, which does not show limits.',
    answers: {
      200: { description: 'The decision is approve_recurring from the next charge on', data: decision },
    },
    refusals: {
      merchant_not_trusted: 'The merchant is not trusted, so it cannot have a standing approval',
      intent_open:
        'The merchant’s first intent for this customer is still open: answer it with `POST /v1/billing/intent-response`',
    },
    refusedWith: {
      409: { data: z.strictObject({ status: customerDecision, intentId: shownId('intent') }) },
    },
  },
} satisfies Record<string, Operation>;
