import type { z } from 'zod';
import { billingRules, type Config } from '../../settings/config';
import { acceptCharges } from '../../database/billing-request/accept-billing-requests';
import { cancelBillingRequest } from '../../database/billing-request/cancel-billing-request';
import { answerBillingRequest } from '../../database/billing-request/settle-billing-request';
import { readBillingRequest } from '../../database/billing-request/read-billing-request';
import { readCredit } from '../../database/credit/follow-credit';
import { acceptCustomerPayments } from '../../database/billing-request/accept-payment';
import { makePaymentId, openPaymentId } from '../../database/agreement/payment-id';
import { limitOf } from '../../domain/charge';
import { Failure } from '../../domain/failures';
import { formatAmount } from '../../domain/money';
import { normalizePhrase } from '../../domain/identifier/phrase';
import type { Limit } from '../../domain/spending-limit';
import { ANSWER, BANK, BILLERS, BOTH, MERCHANT } from '../http/callers';
import { takeAnswer } from '../http/idempotency';
import { acceptedItem, refusedItem } from '../http/items';
import type { BodyCall, Call, PathCall } from '../http/call';
import { section } from '../http/route';
import { acceptItems } from '../http/unknown-identifier';
import { decidedItem, fieldsOf, refusedItems } from '../http/response-fields';
import * as schema from './billing-request-schema';

/**
 * Billing requests: a merchant, or the payee's bank, charges, and the payer's bank says what became
 * of it.
 */

type BillBody = z.output<ReturnType<typeof schema.billBody>>;
type CustomerBillBody = z.output<ReturnType<typeof schema.customerBillBody>>;

async function bill(call: Call<BillBody | CustomerBillBody>) {
  const { body, caller, deps } = call;
  const { entityId } = caller;
  const rules = billingRules(deps.config);
  const byLookupId = (body.lookupIDs ?? []).map((lookupID) => ({
    phrase: lookupID,
    lookupId: normalizePhrase(lookupID),
  }));
  return acceptItems(call, body.lookupIDs ? 'lookup_id' : 'payment_id', async (trx) => {
    const items = await ('payee' in body
      ? acceptCustomerPayments(
          trx,
          rules,
          { bankId: entityId, lookupId: normalizePhrase(body.payee.lookupID) },
          { lines: byLookupId, charge: body },
        )
      : acceptCharges(trx, rules, entityId, {
          lines: [
            ...(body.paymentIDs ?? []).map((paymentID) => ({
              phrase: paymentID,
              agreementId: openPaymentId(deps.db.keyring, paymentID, entityId),
            })),
            ...byLookupId,
          ],
          charge: body,
        }));
    return {
      items: items.map((item) =>
        'refused' in item
          ? refusedItem(item.refused, { ...limitIn(item.refused), phrase: item.phrase, entityId })
          : acceptedItem(201, 'Accepted. The bank is asked, and the outcome comes by webhook', {
              ...item.accepted,
              status: 'pending' as const,
              ...(item.doubtedBy !== undefined && {
                warning: 'open_exception' as const,
                exceptionId: item.doubtedBy,
              }),
              phrase: item.phrase,
              entityId,
            }),
      ),
      refusals: items.flatMap((item) => ('refused' in item ? [item.refused] : [])),
    };
  });
}

function limitIn(refused: Failure): { limit?: Limit } {
  const limit = limitOf(refused);
  return limit === undefined ? {} : { limit };
}

/**
 * Told to a bank that names one transaction for two things. `data` has the true status of what it
 * answered.
 */
export const DUPLICATE_TRANSACTION =
  'This bankTransactionId belongs to another transaction of yours: answer again with the right one.';

async function respondToBillingRequest({ body, caller, deps }: BodyCall<typeof schema.bankResponseBody>) {
  const taken = await takeAnswer(deps, (trx) =>
    answerBillingRequest(trx, caller.entityId, body.billingRequestId, {
      ...body.answer,
      batchId: body.batchId,
      metadata: body.metadata,
    }),
  );
  // Thrown after the commit: what the bank says is kept, for money may have moved.
  const { billingRequestId, status } = taken;
  const data = { billingRequestId, status };
  if (taken.duplicate) throw new Failure('duplicate_transaction_id', DUPLICATE_TRANSACTION, { data });
  if (!taken.agreed) {
    throw new Failure(
      taken.late ? 'late_answer' : 'already_answered',
      `The charge is ${status} already. If you debited the customer for it, reverse the debit.`,
      { data },
    );
  }
  return { message: `The charge is ${status}`, data: { billingRequestId, status: taken.status } };
}

async function cancelCharge({ accept, caller, params }: PathCall<typeof schema.billingRequestPath>) {
  const { billingRequestId } = params;
  return accept(async (trx) => {
    const { status, cancelled } = await cancelBillingRequest(trx, caller, billingRequestId);
    if (!cancelled) {
      const message =
        status === 'pending'
          ? 'The charge needs no approval of the customer, so the bank may have debited already.'
          : `The charge is ${status} already.`;
      throw new Failure('not_cancellable', message, { data: { billingRequestId, status } });
    }
    const data = { billingRequestId, status: 'declined', declineReason: 'cancelled' } as const;
    return { message: 'The charge is cancelled', data };
  });
}

async function showBillingRequest({ caller, params, deps }: PathCall<typeof schema.billingRequestPath>) {
  const request = await readBillingRequest(deps.db, caller.entityId, params.billingRequestId);
  const { payeeBankId, payeeLookupId, lookupId, agreementId, paymentIdKey } = request;
  const credit = payeeBankId === null ? undefined : await readCredit(deps.db, request.billingRequestId);
  const paymentID =
    agreementId !== null && paymentIdKey !== null
      ? makePaymentId(deps.db.keyring, paymentIdKey, agreementId, request.billerId)
      : undefined;
  const { metadata, bankTransactionId, ...fields } = fieldsOf(schema.billingRequest, request);
  return {
    message: `The charge is ${request.status}`,
    data: {
      ...fields,
      amount: formatAmount(request.amount, request.currency),
      entityId: request.billerId,
      ...(payeeBankId !== null &&
        payeeLookupId !== null && { payee: { bankId: payeeBankId, lookupID: payeeLookupId } }),
      ...(credit && { credit }),
      ...(request.declinedLimit && { limit: request.declinedLimit }),
      phrase: paymentID ?? lookupId,
      ...(paymentID === undefined ? { lookupID: lookupId } : { paymentID }),
      ...(caller.role === 'merchant' && { metadata }),
      ...(caller.role === 'bank' && { bankTransactionId }),
    },
  };
}

const route = section('Billing');

export const billingRequestRoutes = (config: Config) => [
  route('post', '/v1/customer/bill', {
    id: 'billCustomers',
    summary: 'Bill customers',
    description:
      'Charges the same amount to each customer: with `paymentIDs` under existing agreements, or with `lookupIDs` as a one-time payment that each customer must approve. The answer has one item per identifier: check the `statusCode` of each, not only the HTTP status. An accepted charge is `pending`; its result arrives by the webhook `billing.response`. **Send an `Idempotency-Key`**: without one, repeating the request charges again. Identifiers are counted beside calls (`items`): a call that names more than are left is a 429 whole.\n\nA bank uses the second form of the body, with `payee`, for a payment from other customers to a customer of its own. When such a payment succeeds the bank receives the webhook `billing.credit`; when it is declined, `billing.response`.',
    takes: {
      ...BOTH,
      scope: 'bill',
      person: 'admin',
      namesIdentifiers: true,
      body: { merchant: schema.billBody(config), bank: schema.customerBillBody(config) },
      only: { paymentIDs: MERCHANT.roles, metadata: MERCHANT.roles, payee: BANK.roles },
      idempotent: true,
    },
    answers: {
      201: {
        description: 'At least one charge was accepted',
        items: decidedItem(201, schema.acceptedCharge, schema.echoed, schema.refused),
      },
    },
    refusals: {
      invalid_request: 'No charge was accepted: payer and payee are the same customer',
      currency_mismatch: 'No charge was accepted: the agreement is in another currency',
      not_approved: 'No charge was accepted: the customer has not approved billing, or has blocked you',
      consent_not_yet_valid: 'No charge was accepted: the customer’s permission begins later',
      consent_expired: 'No charge was accepted: the customer’s permission has ended',
      consent_paused: 'No charge was accepted: the customer has paused the permission',
      limit_reached: 'No charge was accepted: a spending limit is reached, which the item’s `limit` names',
      not_found:
        'No charge was accepted: there is no such `paymentID` or `lookupID`; or the `payee` is not your customer',
      asked_too_often: 'No charge was accepted: the customers have been asked often enough for today',
    },
    refusedWith: refusedItems(schema.refused, 400, 403, 404, 429),
    handle: bill,
  }),
  route('post', '/v1/billing/bank-response', {
    id: 'answerBillingRequest',
    summary: 'Answer a billing request',
    description:
      'The bank’s answer to the webhook `billing.request`: whether the customer was debited. Either send `action` (an approval also needs `bankTransactionId`), or leave it out and send `bankTransactionId` to approve or `declineReason` to decline. Sending the same answer again changes nothing and is a 200. A different answer, or one that comes too late, is a 409 with the final status in `data.status`: **if you have debited the customer and get `declined`, reverse the debit.**',
    takes: { ...ANSWER, scope: 'manage', body: schema.bankResponseBody },
    answers: { 200: { description: 'The charge is successful', data: schema.chargeOutcome } },
    refusals: {
      not_found: 'You have no such billing request',
      late_answer: 'The window has passed; the charge was closed without your answer (`data.status`)',
      already_answered: 'You have answered otherwise before (`data.status`)',
      duplicate_transaction_id:
        'The `bankTransactionId` belongs to another transaction; a `pending` charge waits for another answer',
    },
    refusedWith: {
      409: {
        data: schema.chargeStanding(
          'Status of the charge; `pending` if it can still be answered with another `bankTransactionId`',
        ),
        example: { status: 'declined' },
      },
    },
    handle: respondToBillingRequest,
  }),
  route('post', '/v1/billing/requests/:billingRequestId/cancel', {
    id: 'cancelBillingRequest',
    summary: 'Cancel a billing request',
    description:
      'Cancels a charge that waits for its customer’s approval (`approvalRequired`). The charge becomes `declined` with the `declineReason` `cancelled`, and counts in no spending limit any more. You receive the webhook `billing.response`, and the bank `billing.closed`. Cancelling it again changes nothing and is a 200. A charge under a standing approval cannot be cancelled, since its bank debits without asking: refund it. Should the bank approve a cancelled charge all the same, its answer gets a 409 and opens a reconciliation exception.',
    takes: {
      ...BILLERS,
      scope: 'bill',
      person: 'clerk',
      params: schema.billingRequestPath,
      idempotent: true,
    },
    answers: { 200: { description: 'The charge is cancelled', data: schema.cancelledCharge } },
    refusals: {
      not_found: 'You have no such billing request',
      not_cancellable:
        'The charge has ended (`data.status`), or it is `pending` and does not wait for its customer',
    },
    refusedWith: {
      409: { data: schema.chargeStanding('Status of the charge'), example: { status: 'successful' } },
    },
    handle: cancelCharge,
  }),
  route('get', '/v1/billing/requests/:billingRequestId', {
    id: 'getBillingRequest',
    summary: 'Retrieve a billing request',
    description:
      'For the merchant (or payee’s bank) that billed, and for the payer’s bank. A charge under an agreement has a `paymentID`, a one-time payment a `lookupID`.',
    takes: { ...BOTH, params: schema.billingRequestPath },
    answers: { 200: { description: 'The charge is successful', data: schema.billingRequest } },
    handle: showBillingRequest,
  }),
];
