import { z } from 'zod';
import { changeDecision } from '../../database/agreement/decision-change';
import {
  DECISION_SORTS,
  listDecisions,
  readDecision,
  type DecisionRecord,
} from '../../database/agreement/decision-read';
import { formatInstant } from '../../domain/calendar';
import { formatAmount, formatSum, type ShownSum } from '../../domain/money';
import { amount, id, idFilter, pagination } from '../http/fields';
import { listAnswer } from '../http/list';
import type { Call } from '../http/route';

/**
 * What the customers of a bank have decided about merchants, for the bank to show and to change.
 */

const DECISIONS = ['approve_once', 'approve_recurring', 'deny', 'suspended'] as const;

export const decisionsQuery = z.strictObject({
  ...pagination(Object.keys(DECISION_SORTS) as ['createdAt', 'updatedAt']),
  customerId: idFilter('customer').optional(),
  merchantId: idFilter('merchant').optional(),
  decision: z
    .enum(['pending', ...DECISIONS])
    .meta({ description: 'Only those with this decision' })
    .optional(),
});

export async function listCustomerDecisions({
  caller,
  query,
  deps,
}: Call<unknown, z.output<typeof decisionsQuery>>) {
  const { page, limit, sortBy, sortOrder, ...filter } = query;
  const found = await listDecisions(deps.db, deps.config.NETWORK_TIMEZONE, caller.entityId, filter, {
    page,
    limit,
    sortBy,
    sortOrder,
  });
  return listAnswer(['decision', 'decisions'], found, query, decisionData);
}

export const decisionPath = z.strictObject({ id: id('agreement') });

/** @param limit of a day or a month, with an example of it */
export const spendingLimits = <Limit extends z.ZodType>(limit: (example: number) => Limit) =>
  z
    .strictObject({ daily: limit(10_000), monthly: limit(50_000) })
    .meta({ description: 'The most that the merchant may charge per calendar day and month' })
    .optional();

export const blockMerchant = z
  .boolean()
  .meta({ description: 'Whether the customer blocks the merchant' })
  .optional();

// As the list shows them, so that what was read can be sent back.
const limit = (example: number) =>
  amount
    .nullable()
    .meta({ description: 'In major units; `null`, or left out, for no limit', example })
    .optional();

export const decisionBody = z.strictObject({
  customerDecision: z.enum(DECISIONS).meta({ description: 'The customer’s decision' }),
  spendingLimits: spendingLimits(limit),
  blockMerchant,
});

export async function updateCustomerDecision({
  accept,
  body,
  caller,
  params,
  deps,
}: Call<z.output<typeof decisionBody>, unknown, z.output<typeof decisionPath>>) {
  return accept(async (trx) => {
    await changeDecision(trx, deps.ring, caller.entityId, params.id, {
      customerDecision: body.customerDecision,
      spendingLimits: body.spendingLimits,
      blockMerchant: body.blockMerchant,
    });
    const decision = await readDecision(trx, deps.config.NETWORK_TIMEZONE, params.id);
    return {
      message: `The decision is ${decision.decision} from the next charge on`,
      data: decisionData(decision),
    };
  });
}

function decisionData(decision: DecisionRecord) {
  const { currency, dailyLimit, monthlyLimit } = decision;
  return {
    id: decision.id,
    customerId: decision.customerId,
    lookupID: decision.lookupId,
    merchant: { id: decision.merchantId, name: decision.merchantName },
    customerDecision: decision.decision,
    spendingLimits: {
      daily: dailyLimit === null ? null : formatAmount(dailyLimit, currency),
      monthly: monthlyLimit === null ? null : formatAmount(monthlyLimit, currency),
    },
    spent: shownSums({
      daily: formatSum(decision.spentToday, currency),
      monthly: formatSum(decision.spentThisMonth, currency),
    }),
    blockMerchant: decision.blocked,
    currency,
    createdAt: formatInstant(decision.createdAt),
    updatedAt: formatInstant(decision.updatedAt),
  };
}

/** Beside the numbers, in full, those that had to be rounded. */
function shownSums({ daily, monthly }: { daily: ShownSum; monthly: ShownSum }) {
  const exact = {
    ...(daily.exact !== undefined && { daily: daily.exact }),
    ...(monthly.exact !== undefined && { monthly: monthly.exact }),
  };
  return {
    daily: daily.rounded,
    monthly: monthly.rounded,
    ...(Object.keys(exact).length > 0 && { exact }),
  };
}
