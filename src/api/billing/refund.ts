import { z } from 'zod';
import { billingRules } from '../../config';
import { enqueueStarts } from '../../database/outbox';
import {
  initiateRefund,
  listRefunds,
  readRefund,
  REFUND_SORTS,
  type RefundRecord,
} from '../../database/refund/refund';
import { answerRefund, type RefundAnswer } from '../../database/refund/outcome';
import { formatInstant } from '../../domain/calendar';
import type { Role } from '../../domain/entity';
import { Failure } from '../../domain/failures';
import { REFUND_STATUSES } from '../../domain/lifecycle';
import { formatAmount } from '../../domain/money';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import { amount, DESCRIPTION_MAX, id, NAME_MAX, pagination, textFor } from '../http/fields';
import { metadata } from '../http/metadata';
import { DUPLICATE_TRANSACTION } from './billing-request';
import { takeAnswer } from '../http/idempotency';
import { listAnswer } from '../http/list';
import { EXAMPLE_REFERENCE, exampleId } from '../openapi/example';
import type { Call, PathCall, QueryCall } from '../http/route';

/** Refunds: a merchant sends money back, and the bank says when it has arrived. */

export const refundBody = z.strictObject({
  reference: textFor('Reference of the charge', NAME_MAX, EXAMPLE_REFERENCE),
  amount: amount
    .meta({
      description: 'Amount to refund, in major units; if left out, all that has not been refunded yet',
    })
    .optional(),
  reason: textFor('Reason for the refund; shown to the bank', DESCRIPTION_MAX, 'Wrong size').optional(),
  metadata: metadata.optional(),
});

export async function startRefund({ accept, body, caller, deps }: Call<z.output<typeof refundBody>>) {
  return accept(async (trx) => {
    const refund = await initiateRefund(trx, deps.ring, billingRules(deps.config).timeZone, caller.entityId, {
      reference: body.reference,
      amount: body.amount,
      reason: body.reason,
      metadata: body.metadata,
    });
    const { refundId, merchantId, bankId } = refund;
    await enqueueStarts(trx, [
      {
        workflowId: workflowIds.refund(refundId),
        attributes: { status: 'pending', merchantId, bankId },
        summary: workflowSummary.refund(refund),
      },
    ]);
    return {
      message: 'The bank has the refund; its outcome comes by webhook',
      data: shown(refund, caller.role),
    };
  });
}

/** As with charges, the id that comes with a rejection names no transfer, and is not kept. */
export const refundResponseBody = z
  .strictObject({
    refundId: id('refund'),
    action: z
      .enum(['completed', 'rejected'])
      .meta({ description: '`completed` if the customer has received the money' }),
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

export async function respondToRefund({
  body: { refundId, action, bankTransactionId, reason },
  caller,
  deps,
}: Call<z.output<typeof refundResponseBody>>) {
  const answer: RefundAnswer = {
    action,
    bankTransactionId: (action === 'completed' && bankTransactionId) || null,
    reason: (action === 'rejected' && reason) || null,
  };
  const { agreed, duplicate, ...data } = await takeAnswer(deps, (trx) =>
    answerRefund(trx, deps.ring, deps.config.NETWORK_TIMEZONE, caller.entityId, refundId, answer),
  );
  // Thrown after the commit: what the bank says is kept, for money may have moved.
  if (duplicate) throw new Failure('duplicate_transaction_id', DUPLICATE_TRANSACTION, { data });
  if (!agreed) {
    const message =
      data.status === 'returned'
        ? 'The refund is returned, and this answer changes nothing: take back what you transferred for it'
        : `The refund is ${data.status} already; this answer changes nothing`;
    throw new Failure(data.status === 'returned' ? 'late_answer' : 'already_answered', message, { data });
  }
  return { message: `The refund is ${data.status}`, data };
}

export const refundPath = z.strictObject({ refundId: id('refund') });

export async function showRefund({ caller, params, deps }: PathCall<typeof refundPath>) {
  const refund = await readRefund(deps.db, caller, params.refundId);
  return { message: `The refund is ${refund.status}`, data: shown(refund, caller.role) };
}

export const refundsQuery = z.strictObject({
  status: z.enum(REFUND_STATUSES).meta({ description: 'Only those with this status' }).optional(),
  ...pagination(Object.keys(REFUND_SORTS) as [keyof typeof REFUND_SORTS]),
});

export async function showRefunds({
  caller,
  query: { status, ...page },
  deps,
}: QueryCall<typeof refundsQuery>) {
  const found = await listRefunds(deps.db, caller, { status }, page);
  return listAnswer(['refund', 'refunds'], found, page, (refund) => shown(refund, caller.role));
}

/** The bank's own id of its transfer is the bank's. */
function shown(refund: RefundRecord, role: Role) {
  return {
    refundId: refund.refundId,
    transactionId: refund.transactionId,
    reference: refund.reference,
    originalReference: refund.originalReference,
    billingRequestId: refund.billingRequestId,
    merchantId: refund.merchantId,
    customerId: refund.customerId,
    bankId: refund.bankId,
    amount: formatAmount(refund.amount, refund.currency),
    currency: refund.currency,
    reason: refund.reason,
    ...(role !== 'bank' && { metadata: refund.metadata }),
    status: refund.status,
    overdue: refund.overdue,
    rejectReason: refund.rejectReason,
    ...(role === 'bank' && { bankTransactionId: refund.bankTransactionId }),
    expectedBy: formatInstant(refund.expectedBy),
    createdAt: formatInstant(refund.createdAt),
    closedAt: refund.closedAt && formatInstant(refund.closedAt),
  };
}
