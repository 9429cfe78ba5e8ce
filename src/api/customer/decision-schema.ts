import { z } from 'zod';
import { DECISION_SORTS } from '../../database/decision/list-decisions';
import { AGREEMENT_DECISIONS, CUSTOMER_DECISIONS } from '../../domain/lifecycle';
import { amount, id, idFilter, oneOf, pagination } from '../http/request-fields';
import * as shown from '../http/response-fields';

export const decisionsQuery = z.strictObject({
  ...pagination(Object.keys(DECISION_SORTS) as ['createdAt', 'updatedAt']),
  customerId: idFilter('customer').optional(),
  merchantId: idFilter('merchant').optional(),
  decision: oneOf(AGREEMENT_DECISIONS, 'Only those with this decision').optional(),
});

export const decisionPath = z.strictObject({ id: id('agreement') });
export const agreementPath = z.strictObject({ agreementId: id('agreement') });

// As the list of decisions shows them, so that what was read can be sent back.
const limitGiven = (example: number) =>
  amount
    .nullable()
    .meta({ description: 'In major units; `null`, or left out, for no limit', example })
    .optional();

export const spendingLimits = z
  .strictObject({ daily: limitGiven(10_000), monthly: limitGiven(50_000) })
  .meta({ description: 'The most that the merchant may charge per calendar day and month' })
  .optional();

export const blockMerchant = shown.flag('Whether the customer blocks the merchant').optional();

export const decisionBody = z.strictObject({
  customerDecision: oneOf(CUSTOMER_DECISIONS, 'The customer’s decision'),
  spendingLimits,
  blockMerchant,
});

export const customerDecision = oneOf(
  AGREEMENT_DECISIONS,
  '`approve_once`: the customer must approve each charge; `approve_recurring`: charges need no further approval; `deny`: no charges; `suspended`: no charges for now; `pending`: the customer has not yet answered',
  'approve_recurring',
);

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

const terms = {
  currency: shown.currency,
  spendingLimits: z.strictObject({ daily: limit('day', 10_000), monthly: limit('month', 50_000) }),
  spent: z.strictObject({
    daily: spent('day', 1500.5),
    monthly: spent('month', 6001),
    exact: shown.exactSums('daily', 'monthly'),
  }),
  createdAt: shown.moment('When the merchant first asked'),
  updatedAt: shown.moment('When the decision last changed'),
};

export const decision = z
  .strictObject({
    id: shown.id('agreement'),
    customerId: shown.id('customer'),
    lookupID: shown.lookupID,
    merchant: shown.named('merchant', 'Palm Grocers'),
    customerDecision,
    blockMerchant: shown.flag('Whether the customer has blocked the merchant'),
    ...terms,
  })
  .meta({ id: 'Decision' });

/** The same for the merchant and its provider. */
export const agreement = z
  .strictObject({
    agreementId: shown.id('agreement'),
    paymentID: shown.paymentID.nullable().meta({
      description:
        'Used to bill, and the same for good; `null` as long as the customer has never approved the agreement',
    }),
    customerId: shown.id('customer'),
    bankId: shown.id('bank'),
    merchantId: shown.id('merchant'),
    decision: customerDecision,
    ...terms,
  })
  .meta({ id: 'Agreement' });

export const intentOpen = z.strictObject({ status: customerDecision, intentId: shown.id('intent') });
