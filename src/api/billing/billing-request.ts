import { z } from 'zod';
import { billingRules, type Config } from '../../config';
import {
  acceptCharges,
  type AcceptedBill,
  type WorkflowIdOf,
} from '../../database/billing-request/billing-request';
import { cancelBillingRequest } from '../../database/billing-request/cancel';
import { answerBillingRequest } from '../../database/billing-request/outcome';
import { readBillingRequest } from '../../database/billing-request/read';
import { readCredit } from '../../database/customer/payment-credit';
import type { Transaction } from '../../database/connection';
import { acceptCustomerPayments } from '../../database/customer/payment';
import { enqueueStarts } from '../../database/outbox';
import { makePaymentId, openPaymentId } from '../../database/agreement/payment-id';
import { formatInstant } from '../../domain/calendar';
import { REASON_OF_ACTION, type BankAnswer } from '../../domain/charge';
import { Failure } from '../../domain/failures';
import { CUSTOMER_DECISIONS } from '../../domain/lifecycle';
import { formatAmount } from '../../domain/money';
import { normalizePhrase } from '../../domain/identifier/phrase';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import type { Caller } from '../access/authentication';
import {
  amountIn,
  BATCH_MAX,
  currency,
  DESCRIPTION_MAX,
  id,
  list,
  NAME_MAX,
  paymentId,
  phrase,
  textFor,
  withAmount,
} from '../http/fields';
import { metadata, METADATA_TOO_LONG, metadataFits } from '../http/metadata';
import { takeAnswer } from '../http/idempotency';
import { acceptedItem, refusedItem } from '../http/items';
import { EXAMPLE_PAYMENT_ID, exampleId } from '../openapi/example';
import type { Call, PathCall } from '../http/route';
import { acceptItems } from '../http/unknown-identifier';

/**
 * Billing requests: a merchant, or the payee's bank, charges, and the payer's bank says what became
 * of it.
 */

const billed = textFor('What is billed; shown to the customer', DESCRIPTION_MAX, 'Shoes');

export const billBody = (config: Config) =>
  withAmount(
    z
      .strictObject({
        paymentIDs: list(paymentId, BATCH_MAX).optional(),
        lookupIDs: list(phrase, BATCH_MAX, normalizePhrase).optional(),
        amount: amountIn(config),
        currency: currency(config),
        description: billed,
        metadata: metadata.optional(),
      })
      .refine(metadataFits, METADATA_TOO_LONG)
      .refine(({ paymentIDs, lookupIDs }) => (paymentIDs === undefined) !== (lookupIDs === undefined), {
        path: ['paymentIDs'],
        when: ({ value }) => typeof value === 'object' && value !== null,
        error: 'send exactly one of paymentIDs and lookupIDs',
      })
      .meta({
        example: {
          paymentIDs: [EXAMPLE_PAYMENT_ID],
          amount: 1500,
          currency: config.ACCEPTED_CURRENCIES[0],
          description: 'Shoes',
        },
      }),
  );

/**
 * A bank's bill, for a customer of its own in the place of a merchant: one-time payments, and
 * nothing else.
 */
export const customerBillBody = (config: Config) =>
  withAmount(
    z.strictObject({
      lookupIDs: list(phrase, BATCH_MAX, normalizePhrase),
      payee: z.strictObject({ lookupID: phrase }).meta({ description: 'Your customer who is to be paid' }),
      amount: amountIn(config),
      currency: currency(config),
      description: billed,
    }),
  );

type BillBody = z.output<ReturnType<typeof billBody>>;
type CustomerBillBody = z.output<ReturnType<typeof customerBillBody>>;

/** One charge has a workflow of its own, several of one call share one. */
const workflowIdOf: WorkflowIdOf = (batchId, [first, ...others]) =>
  first !== undefined && others.length === 0
    ? workflowIds.billingRequest(first)
    : workflowIds.billingBatch(batchId);

export async function bill(call: Call<BillBody | CustomerBillBody>) {
  const { body, caller, deps } = call;
  const { entityId } = caller;
  const rules = billingRules(deps.config);
  const byLookupId = (body.lookupIDs ?? []).map((lookupID) => ({
    phrase: lookupID,
    lookupId: normalizePhrase(lookupID),
  }));
  return acceptItems(call, body.lookupIDs ? 'lookup_id' : 'payment_id', async (trx) => {
    const accepted = await ('payee' in body
      ? acceptCustomerPayments(
          trx,
          deps.ring,
          rules,
          entityId,
          normalizePhrase(body.payee.lookupID),
          byLookupId,
          body,
          workflowIdOf,
        )
      : acceptCharges(
          trx,
          deps.ring,
          rules,
          entityId,
          [
            ...(body.paymentIDs ?? []).map((paymentID) => ({
              phrase: paymentID,
              agreementId: openPaymentId(deps.ring, paymentID, entityId),
            })),
            ...byLookupId,
          ],
          body,
          workflowIdOf,
        ));
    await startWorkflow(trx, caller, body, accepted);
    return {
      items: accepted.items.map((item) =>
        'refused' in item
          ? refusedItem(item.refused, { phrase: item.phrase, entityId })
          : acceptedItem(201, 'Accepted. The bank is asked, and the outcome comes by webhook', {
              ...item.accepted,
              ...(item.doubtedBy !== undefined && {
                warning: 'open_exception' as const,
                exceptionId: item.doubtedBy,
              }),
              phrase: item.phrase,
              entityId,
            }),
      ),
      refusals: accepted.items.flatMap((item) => ('refused' in item ? [item.refused] : [])),
    };
  });
}

async function startWorkflow(
  trx: Transaction,
  { entityId, role }: Caller,
  charge: { amount: bigint; currency: string },
  { workflowId, items, bankIds }: AcceptedBill,
): Promise<void> {
  if (workflowId === undefined) return;
  const ids = items.flatMap((item) => ('accepted' in item ? [item.accepted.billingRequestId] : []));
  const references = items.flatMap((item) => ('accepted' in item ? [item.accepted.reference] : []));
  const only = references.length === 1 ? references[0] : undefined;
  const sum = { amount: charge.amount, currency: charge.currency };
  await enqueueStarts(trx, [
    {
      workflowId,
      args: [ids],
      attributes: {
        status: 'pending',
        // The bank that is asked. Charges of one call with several banks have none: an attribute
        // holds one value.
        ...(bankIds.length === 1 && { bankId: bankIds[0] }),
        ...(role === 'merchant' && { merchantId: entityId }),
      },
      summary:
        only === undefined
          ? workflowSummary.charges({ count: ids.length, ownerId: entityId, ...sum })
          : workflowSummary.charge({ reference: only, ownerId: entityId, ...sum }),
    },
  ]);
}

/**
 * Two forms: with `action`, as the guide has it, and without, where the id of the debit or the
 * reason of the refusal says which it is. Both become one answer. The guide's form always has a
 * `bankTransactionId`; that of a refusal names no debit, and is not kept.
 */
export const bankResponseBody = z
  .strictObject({
    billingRequestId: id('billingRequest'),
    batchId: textFor(
      'The `batchId` of the webhook `billing.request`, to be checked against',
      NAME_MAX,
      exampleId('batch'),
    ).optional(),
    action: z
      .enum(CUSTOMER_DECISIONS)
      .meta({
        description:
          'The customer’s decision. `approve_once` and `approve_recurring` approve the charge, `deny` and `suspended` decline it; `suspended` also suspends an agreement that was approved',
      })
      .optional(),
    bankTransactionId: textFor(
      'Your identifier of the debit, a different one for each transaction; required to approve',
      NAME_MAX,
      'FT26081XK2',
    ).optional(),
    declineReason: textFor(
      'Why the charge is declined. A recurring charge is retried only after `insufficient_funds`, `limit_reached` or `temporarily_unavailable`',
      NAME_MAX,
      'insufficient_funds',
    ).optional(),
    metadata: metadata.optional(),
  })
  .superRefine(
    (body: Parts, context) => {
      const refuse = (path: keyof Parts, message: string) =>
        context.addIssue({ code: 'custom', path: [path], message });
      const { action, bankTransactionId, declineReason } = body;
      if (action === undefined && bankTransactionId === undefined && declineReason === undefined) {
        refuse('bankTransactionId', 'send it to approve, or declineReason to decline');
      } else if (isApproval(body)) {
        if (bankTransactionId === undefined) refuse('bankTransactionId', 'is required to approve');
        if (declineReason !== undefined) refuse('declineReason', 'does not go with an approval');
      }
    },
    // How the fields go together is looked at even when one of them, or another, is wrong.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  )
  .transform((body) => ({ ...body, answer: answerOf(body) }))
  .meta({
    example: { billingRequestId: exampleId('billingRequest'), bankTransactionId: 'FT26081XK2' },
  });

/** What says which answer it is; of any type, as long as the rest has not been judged. */
interface Parts {
  action?: unknown;
  bankTransactionId?: unknown;
  declineReason?: unknown;
}

function isApproval({ action, bankTransactionId }: Parts): boolean {
  return action === undefined
    ? bankTransactionId !== undefined
    : action === 'approve_once' || action === 'approve_recurring';
}

/** The one answer that both forms become, of a body that has been judged. */
function answerOf({
  action = null,
  bankTransactionId,
  declineReason,
}: {
  action?: 'approve_once' | 'approve_recurring' | 'deny' | 'suspended' | null | undefined;
  bankTransactionId?: string | undefined;
  declineReason?: string | undefined;
}): BankAnswer {
  if (action === 'deny' || action === 'suspended') {
    return { outcome: 'declined', declineReason: declineReason ?? REASON_OF_ACTION[action], action };
  }
  if (bankTransactionId !== undefined) return { outcome: 'approved', bankTransactionId, action };
  if (declineReason === undefined) throw new Error('an answer passed its check and then says nothing');
  return { outcome: 'declined', declineReason, action: null };
}

/**
 * Told to a bank that names one transaction for two things. `data` has the true status of what it
 * answered.
 */
export const DUPLICATE_TRANSACTION =
  'This bankTransactionId belongs to another transaction of yours: answer again with the right one.';

export async function respondToBillingRequest({
  body,
  caller,
  deps,
}: Call<z.output<typeof bankResponseBody>>) {
  const taken = await takeAnswer(deps, (trx) =>
    answerBillingRequest(
      trx,
      deps.ring,
      deps.config.NETWORK_TIMEZONE,
      caller.entityId,
      body.billingRequestId,
      body.answer,
      body,
    ),
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

export const billingRequestPath = z.strictObject({ billingRequestId: id('billingRequest') });

export async function cancelCharge({ accept, caller, params, deps }: PathCall<typeof billingRequestPath>) {
  const { billingRequestId } = params;
  return accept(async (trx) => {
    const { status, cancelled } = await cancelBillingRequest(trx, deps.ring, caller, billingRequestId);
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

export async function showBillingRequest({ caller, params, deps }: PathCall<typeof billingRequestPath>) {
  const request = await readBillingRequest(deps.db, caller.entityId, params.billingRequestId);
  const credit =
    request.payeeBankId === null ? undefined : await readCredit(deps.db, request.billingRequestId);
  const paymentID =
    request.agreementId !== null && request.paymentIdKey !== null
      ? makePaymentId(deps.ring, request.paymentIdKey, request.agreementId, request.ownerId)
      : undefined;
  return {
    message: `The charge is ${request.status}`,
    data: {
      billingRequestId: request.billingRequestId,
      batchId: request.batchId,
      transactionId: request.transactionId,
      reference: request.reference,
      status: request.status,
      declineReason: request.declineReason,
      amount: formatAmount(request.amount, request.currency),
      currency: request.currency,
      description: request.description,
      approvalRequired: request.approvalRequired,
      customerId: request.customerId,
      entityId: request.ownerId,
      bankId: request.bankId,
      ...(request.payeeBankId !== null &&
        request.payeeLookupId !== null && {
          payee: { bankId: request.payeeBankId, lookupID: request.payeeLookupId },
        }),
      ...(credit && { credit: { ...credit, dueBy: formatInstant(credit.dueBy) } }),
      phrase: paymentID ?? request.lookupId,
      ...(paymentID === undefined ? { lookupID: request.lookupId } : { paymentID }),
      scheduleId: request.scheduleId,
      ...(caller.role === 'merchant' && { metadata: request.metadata }),
      ...(caller.role === 'bank' && { bankTransactionId: request.bankTransactionId }),
      expiresAt: formatInstant(request.expiresAt),
      createdAt: formatInstant(request.createdAt),
      closedAt: request.closedAt && formatInstant(request.closedAt),
    },
  };
}
