import type { z } from 'zod';
import { changeDecision } from '../../database/intent/change-decision';
import { listDecisions, readDecision, type DecisionRecord } from '../../database/decision/list-decisions';
import { formatAmount, shownSums } from '../../domain/money';
import { BANK } from '../http/callers';
import { listAnswer } from '../http/list';
import type { Call, QueryCall } from '../http/call';
import { section } from '../http/route';
import { pageOf } from '../http/response-fields';
import * as schema from './decision-schema';

/** Decisions of a bank's customers about merchants, for the bank to show and to change. */

async function listCustomerDecisions({ caller, query, deps }: QueryCall<typeof schema.decisionsQuery>) {
  const found = await listDecisions(deps.db, caller, query, query);
  return listAnswer(['decision', 'decisions'], found, query, decisionData);
}

async function updateCustomerDecision({
  accept,
  body,
  caller,
  params,
}: Call<z.output<typeof schema.decisionBody>, unknown, z.output<typeof schema.decisionPath>>) {
  return accept(async (trx) => {
    await changeDecision(trx, caller.entityId, params.id, body);
    const decision = await readDecision(trx, caller, params.id);
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
    createdAt: agreement.createdAt,
    updatedAt: agreement.updatedAt,
  };
}

const route = section('Customer decisions');

export const decisionRoutes = [
  route('get', '/v1/bank/customer-decisions', {
    id: 'listDecisions',
    summary: 'List customer decisions',
    description:
      'What your customers have decided about merchants: one entry per customer and merchant. `spent` counts by calendar days and months in the network’s time zone, each charge on the day on which it was accepted.',
    takes: { ...BANK, query: schema.decisionsQuery },
    answers: { 200: { description: '1 decision', data: pageOf('decisions', schema.decision) } },
    handle: listCustomerDecisions,
  }),
  route('put', '/v1/bank/customer-decisions/:id', {
    id: 'changeDecision',
    summary: 'Update a customer decision',
    description:
      'Records that the customer has changed a decision; it applies from the next charge on. `spendingLimits` replaces both limits; if it is left out, they stay. A charge counts against the limits of the day on which it was accepted, whenever the bank answers it. `blockMerchant` `true` means `deny`, and refuses every later intent and charge of the merchant. Recurring schedules of the customer with this merchant follow the decision: `suspended` and `approve_once` suspend them, `deny` cancels them, and `approve_recurring` resumes those that an earlier decision had suspended. The merchant receives the webhook `decision.updated`, which does not show limits.',
    takes: { ...BANK, params: schema.decisionPath, body: schema.decisionBody },
    answers: {
      200: {
        description: 'The decision is approve_recurring from the next charge on',
        data: schema.decision,
      },
    },
    refusals: {
      merchant_not_trusted: 'The merchant is not trusted, so it cannot have a standing approval',
      intent_open:
        'The merchant’s first intent for this customer is still open: answer it with `POST /v1/billing/intent-response`',
    },
    refusedWith: { 409: { data: schema.intentOpen } },
    handle: updateCustomerDecision,
  }),
];
