import { z } from 'zod';
import type { PendingCharge } from '../../database/billing-request/stop-charges';
import { changeDecision } from '../../database/intent/change-decision';
import {
  listDecisions,
  readDecision,
  type DecisionRecord,
  DECISION_SORTS,
} from '../../database/decision/list-decisions';
import { limitsFrom } from '../../database/agreement/spending-limit';
import { HISTORY_MAX, readHistory, readLastCharge } from '../../database/decision/read-history';
import { UPCOMING_MAX, upcomingBillings } from '../../database/recurring/upcoming-billings';
import { shownLimits } from '../../domain/spending-limit';
import { recurringRules } from '../../settings/config';
import { BANK } from '../http/callers';
import { listAnswer } from '../http/list';
import type { Call, PathCall, QueryCall } from '../http/call';
import { section } from '../http/route';
import {
  AGREEMENT_DECISIONS,
  AGREEMENT_STATES,
  BILLING_REQUEST_STATUSES,
  CUSTOMER_DECISIONS,
  type Decision,
} from '../../domain/lifecycle';
import { formatAmount } from '../../domain/money';
import { id, idFilter, instant, oneOf, pagination } from '../http/request-fields';
import * as shown from '../http/response-fields';
import { pauseDecision, resumeDecision } from '../../database/decision/pause-decision';
import type { Transaction } from '../../database/pool/connection';
import type { Party } from '../../database/query/party';
import { limitsGiven, limitsShown, spendingOf, spendingShown } from './spending-limits';

export const decisionsQuery = z.strictObject({
  ...pagination(Object.keys(DECISION_SORTS) as ['createdAt', 'updatedAt']),
  customerId: idFilter('customer').optional(),
  merchantId: idFilter('merchant').optional(),
  decision: oneOf(AGREEMENT_DECISIONS, 'Only those with this decision').optional(),
});

const bankDecisionsQuery = decisionsQuery.extend({
  state: oneOf(
    AGREEMENT_STATES,
    'Only those in this state; of more than 10 000 that are `expired`, `paused` or `not_yet_valid` another filter is needed',
  ).optional(),
});

const decisionPath = z.strictObject({ id: id('agreement') });

export const blockMerchant = shown.flag('Whether the customer blocks the merchant').optional();

export const decisionBody = z.strictObject({
  customerDecision: oneOf(CUSTOMER_DECISIONS, 'The customer’s decision'),
  spendingLimits: limitsGiven(
    'The customer’s limits from now on, also looser ones. A `daily` or `monthly` that is left out ends; any other member ends only by `null`, and `count: null` ends all of `count`',
  ),
  blockMerchant,
});

export const pauseBody = z.strictObject({
  until: instant
    .meta({ description: 'When the pause ends by itself; left out, the customer resumes' })
    .optional(),
});

export const customerDecision = oneOf(
  AGREEMENT_DECISIONS,
  '`approve_once`: the customer must approve each charge; `approve_recurring`: charges need no further approval; `deny`: no charges; `suspended`: no charges for now; `pending`: the customer has not yet answered',
  'approve_recurring',
);

export const agreementState = oneOf(
  AGREEMENT_STATES,
  'The first that holds: `revoked` (denied or blocked), `suspended` or `pending` (by the decision), `expired` (from `validUntil` on), `paused` (by the customer), `not_yet_valid` (before `validFrom`), `active`',
  'active',
);

const terms = {
  state: agreementState,
  pausedUntil: shown
    .moment('When a pause ends by itself; `null` if it does not, or there is none')
    .nullable()
    .meta({ example: null }),
  currency: shown.currency,
  ...spendingShown,
  createdAt: shown.moment('When the merchant first asked'),
  updatedAt: shown.moment('When the decision last changed'),
};

export const decisionShown = z
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
export const agreementShown = z
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

export const decisionWithHistory = decisionShown
  .extend({
    lastCharge: z
      .strictObject({
        reference: shown.reference,
        amount: shown.money('The amount'),
        at: shown.moment('When it was accepted'),
        status: z.enum(BILLING_REQUEST_STATUSES).meta({ example: 'successful' }),
      })
      .nullable()
      .meta({ description: 'The latest charge; `null` where there is none' }),
    upcoming: z
      .array(
        z.strictObject({
          scheduleId: shown.id('schedule'),
          n: shown.count('Number of the due date, from 0', 3),
          amount: shown.money('The amount'),
          dueDate: shown.moment('Due date'),
        }),
      )
      .meta({
        description: `The next billings of its schedules, at most ${UPCOMING_MAX}; none of those that are held`,
      }),
    history: z
      .array(
        z.strictObject({
          at: shown.moment('When it changed'),
          by: oneOf(
            ['customer', 'merchant', 'provider', 'operator', 'network'],
            'Who changed it',
            'customer',
          ),
          state: agreementState,
          customerDecision,
          spendingLimits: limitsShown,
        }),
      )
      .meta({ description: `The agreement after each change, oldest first; the latest ${HISTORY_MAX}` }),
  })
  .meta({ id: 'DecisionWithHistory' });

const notActive = {
  refusals: { consent_not_active: 'The decision is `pending`, `revoked` or `expired` (`data.state`)' },
  refusedWith: { 409: { data: z.strictObject({ state: agreementState }), example: { state: 'revoked' } } },
};

/** Pending charges in the response to a denial. */
export const pendingShown = shown.seldom(
  z.array(
    z.strictObject({
      billingRequestId: shown.id('billingRequest'),
      reference: shown.reference,
      amount: shown.money('The amount'),
    }),
  ),
  'Only of a denial: charges that stay open, to be denied by the bank where they are not booked; at most 1 000, oldest first. A call declines at most 200 by itself, and the same call again the next',
);

const decisionChanged = decisionShown.extend({ pending: pendingShown });

const intentOpen = z.strictObject({ status: customerDecision, intentId: shown.id('intent') });

/** Decisions of a bank's customers about merchants, for the bank to show and to change. */

async function listCustomerDecisions({ caller, query, deps }: QueryCall<typeof bankDecisionsQuery>) {
  const found = await listDecisions(deps.db, caller, query, query);
  return listAnswer(['decision', 'decisions'], found, query, decisionData);
}

async function showCustomerDecision({ caller, params, deps: { db, config } }: PathCall<typeof decisionPath>) {
  const decision = await readDecision(db, caller, params.id);
  const lastCharge = await readLastCharge(db, decision);
  const upcoming = await upcomingBillings(db, recurringRules(config), decision.id);
  const history = await readHistory(db, decision.id);
  return {
    message: `The decision is ${wordsOf(decision)}`,
    data: {
      ...decisionData(decision),
      lastCharge: lastCharge ? inMajor(lastCharge) : null,
      upcoming: upcoming.map(inMajor),
      history: history.map(({ limits, currency, ...change }) => ({
        ...change,
        spendingLimits: shownLimits(limitsFrom(limits), currency),
      })),
    },
  };
}

const inMajor = <Of extends { amount: bigint; currency: string }>({ currency, amount, ...rest }: Of) => ({
  ...rest,
  amount: formatAmount(amount, currency),
});

type PathOfDecision = z.output<typeof decisionPath>;

async function updateCustomerDecision({
  accept,
  body,
  caller,
  params,
}: Call<z.output<typeof decisionBody>, unknown, PathOfDecision>) {
  return accept(async (trx) => {
    const pending = await changeDecision(trx, caller.entityId, params.id, body);
    const { message, data } = await readChanged(trx, caller, params.id);
    return { message, data: { ...data, ...pendingOf(data.customerDecision, pending) } };
  });
}

const pauseCustomerDecision = (call: Call<z.output<typeof pauseBody>, unknown, PathOfDecision>) =>
  act(call, (trx, bankId, agreementId) => pauseDecision(trx, bankId, agreementId, call.body.until));

const resumeCustomerDecision = (call: PathCall<typeof decisionPath>) => act(call, resumeDecision);

function act({ accept, caller, params }: PathCall<typeof decisionPath>, change: typeof resumeDecision) {
  return accept(async (trx) => {
    await change(trx, caller.entityId, params.id);
    return readChanged(trx, caller, params.id);
  });
}

async function readChanged(trx: Transaction, caller: Party, agreementId: string) {
  const decision = await readDecision(trx, caller, agreementId);
  return {
    message: `The decision is ${wordsOf(decision)} from the next charge on`,
    data: decisionData(decision),
  } as const;
}

const wordsOf = ({ decision, state }: DecisionRecord) =>
  state === 'paused' ? `${decision}, and paused,` : decision;

/** As `pendingShown`. */
export const pendingOf = (decision: Decision | null, pending: PendingCharge[]) =>
  decision === 'deny' && { pending: pending.map(inMajor) };

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

/** The terms of an agreement, and what is spent. */
export function termsOf(agreement: DecisionRecord) {
  const { state, pausedUntil, currency, createdAt, updatedAt } = agreement;
  return { state, pausedUntil, currency, ...spendingOf(agreement), createdAt, updatedAt };
}

const route = section('Customer decisions');

export const decisionRoutes = [
  route('get', '/v1/bank/customer-decisions', {
    id: 'listDecisions',
    summary: 'List customer decisions',
    description:
      'What your customers have decided about merchants: one entry per customer and merchant, with the limits and what is spent of them.',
    takes: { ...BANK, query: bankDecisionsQuery },
    answers: { 200: { description: '1 decision', data: shown.pageOf('decisions', decisionShown) } },
    handle: listCustomerDecisions,
  }),
  route('get', '/v1/bank/customer-decisions/:id', {
    id: 'getDecision',
    summary: 'Retrieve a customer decision',
    description: 'With its last charge, the billings to come, and its history, for your app to show.',
    takes: { ...BANK, params: decisionPath },
    answers: { 200: { description: 'The decision is approve_recurring', data: decisionWithHistory } },
    handle: showCustomerDecision,
  }),
  route('put', '/v1/bank/customer-decisions/:id', {
    id: 'changeDecision',
    summary: 'Update a customer decision',
    description:
      'Records that the customer has changed a decision; it applies from the next charge on. Limits may be set below what is spent; if `spendingLimits` is left out, they stay. A charge counts against the limits of the day on which it was accepted, whenever the bank answers it. `blockMerchant` `true` means `deny`, and refuses every later intent and charge of the merchant. `deny` declines pending charges that wait for the customer or that you have not been sent (`denied`, `billing.closed`); `pending` has the others: deny what you have not booked. Recurring schedules of the customer with this merchant follow the decision: `suspended` and `approve_once` suspend them, `deny` cancels them, and `approve_recurring` resumes those that an earlier decision had suspended. The merchant receives the webhook `decision.updated`.',
    takes: { ...BANK, scope: 'manage', person: 'admin', params: decisionPath, body: decisionBody },
    answers: {
      200: {
        description: 'The decision is approve_recurring from the next charge on',
        data: decisionChanged,
      },
    },
    refusals: {
      merchant_not_trusted: 'The merchant is not trusted, so it cannot have a standing approval',
      intent_open:
        'The merchant’s first intent for this customer is still open: answer it with `POST /v1/billing/intent-response`',
    },
    refusedWith: { 409: { data: intentOpen } },
    handle: updateCustomerDecision,
  }),
  route('post', '/v1/bank/customer-decisions/:id/pause', {
    id: 'pauseDecision',
    summary: 'Pause a customer’s permission',
    description:
      'Nothing is charged until `until`, or until the customer resumes; a new `until` moves the end of a pause. Charges are refused with `consent_paused`, schedules are `suspended`, and what falls due is `skipped` and not charged later. Decision and limits stay; only `until`, resuming and `deny` end a pause. The merchant receives `decision.updated`.',
    takes: { ...BANK, scope: 'manage', person: 'clerk', params: decisionPath, body: pauseBody },
    answers: {
      200: {
        description: 'The decision is approve_recurring, and paused, from the next charge on',
        data: decisionChanged,
        example: { state: 'paused', chargeableNow: 0 },
      },
    },
    ...notActive,
    handle: pauseCustomerDecision,
  }),
  route('post', '/v1/bank/customer-decisions/:id/resume', {
    id: 'resumeDecision',
    summary: 'Resume a customer’s permission',
    description: 'Ends the customer’s pause. What is not paused stays as it is.',
    takes: { ...BANK, scope: 'manage', person: 'clerk', params: decisionPath },
    answers: {
      200: {
        description: 'The decision is approve_recurring from the next charge on',
        data: decisionChanged,
      },
    },
    ...notActive,
    handle: resumeCustomerDecision,
  }),
];
