import { z } from 'zod';
import { changeDecision } from '../../database/agreement/decision-change';
import {
  DECISION_SORTS,
  listDecisions,
  readDecision,
  type DecisionRecord,
} from '../../database/agreement/decision-read';
import { formatInstant } from '../../domain/calendar';
import { AGREEMENT_DECISIONS, CUSTOMER_DECISIONS } from '../../domain/lifecycle';
import { formatAmount, shownSums } from '../../domain/money';
import { amount, id, idFilter, pagination } from '../http/fields';
import { listAnswer } from '../http/list';
import type { Call, QueryCall } from '../http/route';

/**
 * What the customers of a bank have decided about merchants, for the bank to show and to change.
 */

export const decisionsQuery = z.strictObject({
  ...pagination(Object.keys(DECISION_SORTS) as ['createdAt', 'updatedAt']),
  customerId: idFilter('customer').optional(),
  merchantId: idFilter('merchant').optional(),
  decision: z.enum(AGREEMENT_DECISIONS).meta({ description: 'Only those with this decision' }).optional(),
});

export async function listCustomerDecisions({ caller, query, deps }: QueryCall<typeof decisionsQuery>) {
  const { page, limit, sortBy, sortOrder, ...filter } = query;
  const found = await listDecisions(deps.db, deps.config.NETWORK_TIMEZONE, caller, filter, {
    page,
    limit,
    sortBy,
    sortOrder,
  });
  return listAnswer(['decision', 'decisions'], found, query, decisionData);
}

export const decisionPath = z.strictObject({ id: id('agreement') });

// As the list of decisions shows them, so that what was read can be sent back.
const limit = (example: number) =>
  amount
    .nullable()
    .meta({ description: 'In major units; `null`, or left out, for no limit', example })
    .optional();

export const spendingLimits = z
  .strictObject({ daily: limit(10_000), monthly: limit(50_000) })
  .meta({ description: 'The most that the merchant may charge per calendar day and month' })
  .optional();

export const blockMerchant = z
  .boolean()
  .meta({ description: 'Whether the customer blocks the merchant' })
  .optional();

export const decisionBody = z.strictObject({
  customerDecision: z.enum(CUSTOMER_DECISIONS).meta({ description: 'The customer’s decision' }),
  spendingLimits,
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
    const decision = await readDecision(trx, deps.config.NETWORK_TIMEZONE, caller, params.id);
    return {
      message: `The decision is ${decision.decision} from the next charge on`,
      data: decisionData(decision),
    };
  });
}

function decisionData(decision: DecisionRecord) {
  return {
    id: decision.id,
    customerId: decision.customerId,
    lookupID: decision.lookupId,
    merchant: { id: decision.merchantId, name: decision.merchantName },
    customerDecision: decision.decision,
    blockMerchant: decision.blocked,
    ...termsOf(decision),
  };
}

/** An agreement: its decision and limits, and what is spent. */
export function termsOf({ currency, dailyLimit, monthlyLimit, ...agreement }: DecisionRecord) {
  return {
    currency,
    spendingLimits: {
      daily: dailyLimit === null ? null : formatAmount(dailyLimit, currency),
      monthly: monthlyLimit === null ? null : formatAmount(monthlyLimit, currency),
    },
    spent: shownSums({ daily: agreement.spentToday, monthly: agreement.spentThisMonth }, currency),
    createdAt: formatInstant(agreement.createdAt),
    updatedAt: formatInstant(agreement.updatedAt),
  };
}
