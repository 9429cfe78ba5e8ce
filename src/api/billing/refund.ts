import { enqueueStarts } from '../../database/outbox';
import {
  initiateRefund,
  listRefunds,
  readRefund,
  type RefundRecord,
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
import * as schema from './refund-schema';

/** Refunds: a merchant sends money back, and the bank says when it has arrived. */

async function startRefund({ accept, body, caller }: BodyCall<typeof schema.refundBody>) {
  return accept(async (trx) => {
    const started = await initiateRefund(trx, caller.entityId, {
      ...body,
      amount: body.amount,
      reason: body.reason,
    });
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
      data: shown(started, caller.role),
    };
  });
}

async function respondToRefund({ body, caller, deps }: BodyCall<typeof schema.refundResponseBody>) {
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

async function showRefund({ caller, params, deps }: PathCall<typeof schema.refundPath>) {
  const found = await readRefund(deps.db, caller, params.refundId);
  return { message: `The refund is ${found.status}`, data: shown(found, caller.role) };
}

async function showRefunds({ caller, query, deps }: QueryCall<typeof schema.refundsQuery>) {
  const found = await listRefunds(deps.db, caller, query, query);
  return listAnswer(['refund', 'refunds'], found, query, (one) => shown(one, caller.role));
}

/** The bank's own id of its transfer is the bank's. */
function shown(record: RefundRecord, role: Role) {
  const { metadata, bankTransactionId, ...fields } = fieldsOf(schema.refund, record);
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
    takes: { ...MERCHANT, body: schema.refundBody, idempotent: true },
    answers: {
      201: { description: 'The bank has the refund; its outcome comes by webhook', data: schema.refund },
    },
    refusals: {
      not_found: 'You have no charge with this reference',
      not_a_charge: 'The reference is that of a refund, of its return or of a reversal',
      not_refundable: 'The charge is not `successful` (`data.status`)',
      exceeds_remaining:
        'The amount is more than what is left to refund: what was charged, less pending and completed refunds',
      held_by_exception: 'Open reconciliation exceptions hold what is left to refund',
    },
    refusedWith: { 409: { data: schema.chargeStatus } },
    handle: startRefund,
  }),
  route('post', '/v1/bank/refund-response', {
    id: 'answerRefund',
    summary: 'Answer a refund request',
    description:
      'The bank’s answer to the webhook `refund.request`: whether the customer has received the money. The amount of a rejected refund can be refunded again. Sending the same answer again changes nothing and is a 200, as is another rejection of a rejected refund.',
    takes: { ...ANSWER, body: schema.refundResponseBody },
    answers: {
      200: {
        description: 'The refund is completed',
        data: schema.refundOutcome,
        example: { status: 'completed' },
      },
    },
    refusals: {
      not_found: 'You have no such refund request',
      already_answered: 'You have answered otherwise before (`data.status`)',
      late_answer: 'The refund is `returned`',
      duplicate_transaction_id: 'The `bankTransactionId` belongs to another transaction',
    },
    refusedWith: { 409: { data: schema.refundOutcome, example: { status: 'rejected' } } },
    handle: respondToRefund,
  }),
  route('get', '/v1/refunds', {
    id: 'listRefunds',
    summary: 'List refunds',
    description:
      'For a merchant its own refunds, for a provider those of its merchants, for a bank those to its customers.',
    takes: { ...ANYONE, query: schema.refundsQuery },
    answers: { 200: { description: '1 refund', data: pageOf('refunds', schema.refund) } },
    handle: showRefunds,
  }),
  route('get', '/v1/refunds/:refundId', {
    id: 'getRefund',
    summary: 'Retrieve a refund',
    description: 'For the merchant, its provider and the customer’s bank.',
    takes: { ...ANYONE, params: schema.refundPath },
    answers: { 200: { description: 'The refund is pending', data: schema.refund } },
    handle: showRefund,
  }),
];
