import { z } from 'zod';
import type { Operation } from './operation';
import { currencyCode, lookupID, moment, pageOf, shownId, words } from './parts';

const limit = (span: string) =>
  z
    .number()
    .positive()
    .nullable()
    .meta({ description: `Most that may be spent in a ${span}; \`null\` for no limit`, example: 50_000 });

const spent = (span: string) =>
  z
    .number()
    .min(0)
    .meta({ description: `Pending and settled in this ${span}`, example: 1500.5 });

export const customerDecision = z
  .enum(['pending', 'approve_once', 'approve_recurring', 'deny', 'suspended'])
  .meta({
    description:
      '`approve_once`: each charge needs a yes; `approve_recurring`: charges pass by themselves; `pending`: not yet answered',
    example: 'approve_recurring',
  });

const decision = z
  .strictObject({
    id: shownId('agreement'),
    customerId: shownId('customer'),
    lookupID,
    merchant: z.strictObject({ id: shownId('merchant'), name: words('Name', 'Palm Grocers') }),
    customerDecision,
    spendingLimits: z.strictObject({ daily: limit('day'), monthly: limit('month') }),
    spent: z.strictObject({ daily: spent('day'), monthly: spent('month') }),
    blockMerchant: z
      .boolean()
      .meta({ description: 'Whether the customer wants nothing of the merchant any more' }),
    currency: currencyCode,
    createdAt: moment('When the merchant first asked'),
    updatedAt: moment('When the decision last changed'),
  })
  .meta({ id: 'Decision' });

export const DECISIONS = {
  'GET /v1/bank/customer-decisions': {
    id: 'listDecisions',
    tag: 'Decisions',
    summary: 'List what your customers allow',
    description: 'One entry per customer and merchant, with what is spent by the network’s calendar.',
    answers: { 200: { description: '1 decision', data: pageOf('decisions', decision) } },
  },
  'PUT /v1/bank/customer-decisions/:id': {
    id: 'changeDecision',
    tag: 'Decisions',
    summary: 'Change what a customer allows',
    description:
      'Holds from the next charge on. `spendingLimits` replaces both limits; without it they stay. `suspended` and `approve_once` suspend the schedules under the decision, `deny` cancels them, `approve_recurring` resumes what a decision had suspended. The merchant is told by `decision.updated`, never of limits.',
    answers: {
      200: { description: 'The decision is approve_recurring from the next charge on', data: decision },
    },
    refusals: {
      403: 'The merchant is not trusted, so it cannot have a standing approval',
      409: {
        description: 'The merchant’s first intent is open: answer that',
        data: z.strictObject({ status: customerDecision, intentId: shownId('intent') }),
      },
    },
  },
} satisfies Record<string, Operation>;
