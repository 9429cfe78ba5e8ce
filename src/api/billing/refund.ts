import { enqueueStarts } from '../../database/outbox';
import {
  initiateRefund,
  listRefunds,
  moneyOfRefund,
  readRefund,
  type RefundRecord,
  REFUND_SORTS,
} from '../../database/refund/accept-refund';
import { answerRefund, type RefundAnswer } from '../../database/refund/settle-refund';
import type { Role } from '../../domain/entity';
import { Failure } from '../../domain/failures';
import { formatAmount } from '../../domain/money';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import { ANSWER, ANYONE, MERCHANT } from '../http/callers';
import { takeAnswer } from '../http/idempotency';
import { listAnswer } from '../http/list';
import type { BodyCall, PathCall, QueryCall } from '../http/call';
import { section } from '../http/route';
import { fieldsOf, pageOf } from '../http/response-fields';
import { DUPLICATE_TRANSACTION } from './billing-request';
import { z } from 'zod';
import { BILLING_REQUEST_STATUSES, REFUND_STATUSES } from '../../domain/lifecycle';
import { amount, DESCRIPTION_MAX, id, NAME_MAX, oneOf, pagination, textFor } from '../http/request-fields';
import { metadataGiven } from '../http/metadata';
import { EXAMPLE_REFERENCE, exampleId } from '../http/example';
import * as shown from '../http/response-fields';

const EXAMPLE_REFUND_REFERENCE = '5HW2YQ8F3KXN7BTD4JZ6M9CR';

const refundBody = z.strictObject({
  reference: textFor('Reference of the charge', NAME_MAX, EXAMPLE_REFERENCE),
  amount: amount
    .meta({
      description: 'Amount to refund, in major units; if left out, all that has not been refunded yet',
    })
    .optional(),
  reason: textFor('Reason for the refund; shown to the bank', DESCRIPTION_MAX, 'Wrong size').optional(),
  metadata: metadataGiven.optional(),
});

/** As with charges, the id that comes with a rejection names no transfer, and is not kept. */
export const refundResponseBody = z
  .strictObject({
    refundId: id('refund'),
    action: oneOf(['completed', 'rejected'], '`completed` if the customer has received the money'),
    bankTransactionId: textFor(
      'Your identifier of the transfer, a different one for each transaction; required where it is `completed`',
      NAME_MAX,
      'FT26081XK9',
    ).optional(),
    reason: textFor('Why the refund is rejected', NAME_MAX, 'account closed').optional(),
  })
  .superRefine(
    ({ action, bankTransactionId }: { action?: unknown; bankTransactionId?: unknown }, context) => {
      if (action !== 'completed' || bankTransactionId !== undefined) return;
      const message = 'is required to complete: it proves the transfer';
      context.addIssue({ code: 'custom', path: ['bankTransactionId'], message });
    },
    { when: ({ value }) => typeof value === 'object' && value !== null },
  )
  .meta({
    example: { refundId: exampleId('refund'), action: 'completed', bankTransactionId: 'FT26081XK9' },
  });

const refundPath = z.strictObject({ refundId: id('refund') });

const refundsQuery = z.strictObject({
  status: oneOf(REFUND_STATUSES, 'Only those with this status').optional(),
  ...pagination(Object.keys(REFUND_SORTS) as [keyof typeof REFUND_SORTS]),
});

const status = oneOf(
  REFUND_STATUSES,
  'Status of the refund. `returned`: it was completed, and its money came back to the bank',
  'pending',
);

export const refundReferences = {
  reference: shown.reference.meta({
    description: 'Reference of the refund',
    example: EXAMPLE_REFUND_REFERENCE,
  }),
  originalReference: shown.reference.meta({ description: 'Reference of the charge' }),
};

export const refund = z
  .strictObject({
    refundId: shown.id('refund'),
    transactionId: shown.id('transaction'),
    ...refundReferences,
    billingRequestId: shown.id('billingRequest', 'Id of the charge'),
    merchantId: shown.id('merchant'),
    customerId: shown.id('customer'),
    bankId: shown.id('bank'),
    amount: shown.money('The amount refunded'),
    currency: shown.currency,
    reason: shown.wordsOrNull('The reason that the merchant gave', 'Wrong size'),
    metadata: shown.metadataForMerchants,
    status,
    overdue: shown.flag('Whether it is still pending after `expectedBy`', false),
    rejectReason: shown.wordsOrNull('The reason that the bank gave for a rejection'),
    bankTransactionId: shown
      .wordsOrNull('The bank’s identifier of the transfer; shown only to the bank')
      .optional(),
    expectedBy: shown.moment('Three business days after it was created', '2026-03-05T08:00:00.000Z'),
    createdAt: shown.moment('When it was created'),
    closedAt: shown.moment('When the bank answered it').nullable().meta({ example: null }),
  })
  .meta({ id: 'Refund' });

const refundOutcome = z.strictObject({ refundId: shown.id('refund'), status });
const chargeStatus = z.strictObject({ status: z.enum(BILLING_REQUEST_STATUSES) });

/** Refunds: a merchant sends money back, and the bank says when it has arrived. */

async function startRefund({ accept, body, caller }: BodyCall<typeof refundBody>) {
  return accept(async (trx) => {
    const started = await initiateRefund(trx, caller.entityId, body);
    const { refundId, merchantId, bankId } = started;
    await enqueueStarts(trx, [
      {
        workflowId: workflowIds.refund(refundId),
        attributes: { status: 'pending', merchantId, bankId },
        summary: workflowSummary.refund(started),
      },
    ]);
    return {
      message: 'The bank has the refund; its outcome comes by webhook',
      data: shownRefund(started, caller.role),
    };
  });
}

async function respondToRefund({ body, caller, deps }: BodyCall<typeof refundResponseBody>) {
  const { refundId, action, bankTransactionId, reason } = body;
  const answer: RefundAnswer = {
    action,
    bankTransactionId: (action === 'completed' && bankTransactionId) || null,
    reason: (action === 'rejected' && reason) || null,
  };
  const { agreed, duplicate, ...data } = await takeAnswer(deps, (trx) =>
    answerRefund(trx, caller.entityId, refundId, answer),
  );
  // Thrown after the commit: what the bank says is kept, for money may have moved.
  if (duplicate) throw new Failure('duplicate_transaction_id', DUPLICATE_TRANSACTION, { data });
  if (!agreed) {
    const message =
      data.status === 'returned'
        ? 'The refund is returned, and this answer changes nothing: reverse what you transferred for it'
        : `The refund is ${data.status} already; this answer changes nothing`;
    throw new Failure(data.status === 'returned' ? 'late_answer' : 'already_answered', message, { data });
  }
  return { message: `The refund is ${data.status}`, data };
}

async function showRefund({ caller, params, deps }: PathCall<typeof refundPath>) {
  const found = await readRefund(deps.db, caller, params.refundId);
  return { message: `The refund is ${found.status}`, data: shownRefund(found, caller.role) };
}

async function showRefunds({ caller, query, deps }: QueryCall<typeof refundsQuery>) {
  const found = await listRefunds(deps.db, caller, query, query);
  return listAnswer(['refund', 'refunds'], found, query, (one) => shownRefund(one, caller.role));
}

/** The bank's own id of its transfer is the bank's. */
function shownRefund(record: RefundRecord, role: Role) {
  const { metadata, bankTransactionId, ...fields } = fieldsOf(refund, record);
  return {
    ...fields,
    amount: formatAmount(record.amount, record.currency),
    ...(role === 'bank' ? { bankTransactionId } : { metadata }),
  };
}

const route = section('Refunds');

export const refundRoutes = [
  route('post', '/v1/refunds/initiate', {
    id: 'initiateRefund',
    summary: 'Initiate a refund',
    description:
      'Refunds a successful charge in part, or, without `amount`, all that has not been refunded yet. The customer’s bank makes the transfer, typically within three business days; the result arrives by the webhook `refund.response`.',
    takes: {
      ...MERCHANT,
      scope: 'refund',
      person: 'clerk',
      body: refundBody,
      idempotent: true,
      moves: {
        of: async (trx, { caller, body }) => {
          const money = await moneyOfRefund(trx, caller.entityId, body);
          return { ...money, body: { ...body, amount: formatAmount(money.amount, money.currency) } };
        },
      },
    },
    answers: {
      201: { description: 'The bank has the refund; its outcome comes by webhook', data: refund },
    },
    refusals: {
      not_found: 'You have no charge with this reference',
      not_a_charge: 'The reference is that of a refund, of its return or of a reversal',
      not_refundable: 'The charge is not `successful` (`data.status`)',
      exceeds_remaining:
        'The amount is more than what is left to refund: what was charged, less pending and completed refunds',
      held_by_exception: 'Open reconciliation exceptions hold what is left to refund',
    },
    refusedWith: { 409: { data: chargeStatus } },
    handle: startRefund,
  }),
  route('post', '/v1/bank/refund-response', {
    id: 'answerRefund',
    summary: 'Answer a refund request',
    description:
      'The bank’s answer to the webhook `refund.request`: whether the customer has received the money. The amount of a rejected refund can be refunded again. Sending the same answer again changes nothing and is a 200, as is another rejection of a rejected refund.',
    takes: { ...ANSWER, scope: 'manage', body: refundResponseBody },
    answers: {
      200: {
        description: 'The refund is completed',
        data: refundOutcome,
        example: { status: 'completed' },
      },
    },
    refusals: {
      not_found: 'You have no such refund request',
      already_answered: 'You have answered otherwise before (`data.status`)',
      late_answer: 'The refund is `returned`',
      duplicate_transaction_id: 'The `bankTransactionId` belongs to another transaction',
    },
    refusedWith: { 409: { data: refundOutcome, example: { status: 'rejected' } } },
    handle: respondToRefund,
  }),
  route('get', '/v1/refunds', {
    id: 'listRefunds',
    summary: 'List refunds',
    description:
      'For a merchant its own refunds, for a provider those of its merchants, for a bank those to its customers.',
    takes: { ...ANYONE, query: refundsQuery },
    answers: { 200: { description: '1 refund', data: pageOf('refunds', refund) } },
    handle: showRefunds,
  }),
  route('get', '/v1/refunds/:refundId', {
    id: 'getRefund',
    summary: 'Retrieve a refund',
    description: 'For the merchant, its provider and the customer’s bank.',
    takes: { ...ANYONE, params: refundPath },
    answers: { 200: { description: 'The refund is pending', data: refund } },
    handle: showRefund,
  }),
];
