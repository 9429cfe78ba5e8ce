import { recordsOf } from '../pool/json';
import { approvalRequired, chargeRefusal, limitOf } from '../../domain/charge';
import type { BillingRules } from '../../domain/billing-rules';
import { Failure } from '../../domain/failures';
import type { Metadata } from '../../domain/metadata';
import type { Limit } from '../../domain/spending-limit';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import { lockAgreements, lockAgreementsOf, type Agreement } from '../agreement/agreement';
import { countedOf, countSpending, type Judged } from '../agreement/spending-limit';
import { close, OUTCOME_COLUMNS, type Outcome } from './close-billing-requests';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { blocked, payerOrRefusal, payersAsked, payersToAsk } from '../customer/limit-prompts';
import { newId, newReference } from '../identifier/new-id';
import { enqueueStarts } from '../outbox';
import type { Keyring } from '../keyring/keyring';
import {
  merchantProfile,
  payerOf,
  type MerchantProfile,
  type PayeeProfile,
  type Payer,
} from '../entity/read-parties';
import { makePaymentId } from '../agreement/payment-id';
import { unresolvedOfSameAmount } from '../reconciliation-exception/held-amount';
import type { TransitionOf } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';

/**
 * Accepts charges, from a merchant's call or from a due schedule.
 *
 * One transaction checks the agreement, counts the amount, and writes the request with its audit
 * event and the bank's webhook. So the result it returns is already true.
 */

/** A charge as a merchant bills it, in minor units. */
export interface Charge {
  amount: bigint;
  currency: string;
  description: string;
  /** The merchant's notes; a scheduled charge has those of its schedule. */
  metadata?: Metadata | undefined;
}

export type BillLine =
  { phrase: string; agreementId: string | undefined } | { phrase: string; lookupId: string };

interface AcceptedCharge {
  billingRequestId: string;
  reference: string;
}

export type BillItem = { phrase: string } & (
  | {
      accepted: AcceptedCharge;
      /** The unresolved exception by which the same may have been paid already. */
      doubtedBy: string | undefined;
    }
  | { refused: Failure }
);

export interface Bill<Line extends BillLine = BillLine> {
  lines: Line[];
  charge: Charge;
}

export type DecidedLine =
  { phrase: string; refused: Failure } | ({ phrase: string; refused?: never } & NewRequest);

interface NewRequest extends Charge {
  id: string;
  reference: string;
  payer: Payer;
  /** See `BillItem`. */
  doubtedBy: string | undefined;
  agreement: Agreement | undefined;
  approvalRequired: boolean;
  counted: Judged | undefined;
  schedule: { id: string; n: number; attempt: number } | undefined;
  /** The limit for which the request is declined at once. */
  declinedLimit: Limit | undefined;
}

/** The party that bills: a merchant, or the bank of a customer who is to be paid. */
type Biller = { merchant: MerchantProfile } | { payee: PayeeProfile };

interface Batch {
  id: string;
  biller: Biller;
  workflowId: string;
}

/** Accepts or refuses each item of a bill by itself, in the order given. */
export async function acceptCharges(
  trx: Executor,
  rules: BillingRules,
  merchantId: string,
  { lines, charge }: Bill,
): Promise<BillItem[]> {
  const ids = lines.flatMap((line) => ('agreementId' in line && line.agreementId ? [line.agreementId] : []));
  const lookupIds = lines.flatMap((line) => ('lookupId' in line ? [line.lookupId] : []));
  // In this order on one connection: agreements are locked before they are counted.
  const [agreements, judged, merchant, doubts, byLookupId] = await Promise.all([
    lockAgreements(trx, ids),
    countSpending(trx, merchantId, ids, charge),
    merchantProfile(trx, merchantId),
    unresolvedOfSameAmount(trx, merchantId, { agreementIds: ids, lookupIds, ...charge }),
    oneTimePayers(trx, rules, merchantId, lookupIds),
  ]);
  const doubtedBy = ({ customerId }: Payer) => doubts.get(customerId);
  const agreementById = new Map(
    agreements.filter((one) => one.merchantId === merchantId).map((one) => [one.id, one]),
  );
  const judgedById = new Map(judged.map((one) => [one.agreementId, one]));

  const decided = lines.map((line): DecidedLine => {
    const { phrase } = line;
    if ('lookupId' in line) {
      const payer = payerOrRefusal(byLookupId, line.lookupId);
      if (payer instanceof Failure) return { phrase, refused: payer };
      return { phrase, ...oneTimeRequest(payer, charge), doubtedBy: doubtedBy(payer) };
    }
    const agreement = line.agreementId === undefined ? undefined : agreementById.get(line.agreementId);
    if (!agreement) return { phrase, refused: unknownPaymentId() };
    const counted = judgedById.get(agreement.id);
    if (!counted) throw new Error(`${agreement.id} was not judged`);
    if (counted.refusal !== null) {
      return { phrase, refused: chargeRefusal(counted.refusal, agreement, charge.currency) };
    }
    const payer = payerOf(trx.keyring, agreement);
    return {
      phrase,
      ...oneTimeRequest(payer, charge),
      doubtedBy: doubtedBy(payer),
      agreement,
      approvalRequired: approvalRequired(agreement.decision, merchant.trusted),
      counted,
    };
  });
  return openBill(trx, rules, { merchant }, decided);
}

const unknownPaymentId = () =>
  new Failure(
    'not_found',
    'There is no such paymentID. Use one that came with the approval of your own billing intent.',
  );

/** A lock after the prompts puts a payer's block wholly before the charge, or after it. */
async function oneTimePayers(trx: Executor, rules: BillingRules, merchantId: string, lookupIds: string[]) {
  const payers = await payersToAsk(trx, rules, 'approval', lookupIds, merchantId);
  const ids = payersAsked(payers).map((payer) => payer.customerId);
  for (const agreement of await lockAgreementsOf(trx, merchantId, ids))
    if (agreement.blocked) payers.set(agreement.lookupId, blocked());
  return payers;
}

/** A charge without an agreement: its customer is asked. */
export function oneTimeRequest(
  payer: Payer,
  { amount, currency, description, metadata }: Charge,
): NewRequest {
  return {
    id: newId('billingRequest'),
    reference: newReference(),
    amount,
    currency,
    description,
    metadata,
    payer,
    doubtedBy: undefined,
    agreement: undefined,
    approvalRequired: true,
    counted: undefined,
    schedule: undefined,
    declinedLimit: undefined,
  };
}

/** Writes the charges and starts their workflow: one of its own for a single charge. */
export async function openBill(
  trx: Executor,
  rules: BillingRules,
  biller: Biller,
  decided: DecidedLine[],
): Promise<BillItem[]> {
  const requests = decided.filter((line) => line.refused === undefined);
  const [first] = requests;
  if (first) {
    const isAlone = requests.length === 1;
    const id = newId('batch');
    const workflowId = isAlone ? workflowIds.billingRequest(first.id) : workflowIds.billingBatch(id);
    await insertRequests(trx, rules, { id, biller, workflowId }, requests);
    const merchantId = 'merchant' in biller ? biller.merchant.id : undefined;
    const billerId = 'merchant' in biller ? biller.merchant.id : biller.payee.shown.bankId;
    // Charges of one call with several banks name none: an attribute holds one value.
    const isOneBank = requests.every(({ payer }) => payer.bankId === first.payer.bankId);
    await enqueueStarts(trx, [
      {
        workflowId,
        args: [requests.map((request) => request.id)],
        attributes: {
          status: 'pending',
          ...(isOneBank && { bankId: first.payer.bankId }),
          ...(merchantId !== undefined && { merchantId }),
        },
        summary: isAlone
          ? workflowSummary.charge({ ...first, billerId })
          : workflowSummary.charges({ ...first, count: requests.length, billerId }),
      },
    ]);
  }
  return decided.map((line) =>
    line.refused === undefined
      ? {
          phrase: line.phrase,
          accepted: { billingRequestId: line.id, reference: line.reference },
          doubtedBy: line.doubtedBy,
        }
      : { phrase: line.phrase, refused: line.refused },
  );
}

/**
 * Makes one attempt at a schedule's n-th billing. Over a limit, the request is declined at once
 * (`limit_reached`), and the bank is not asked. The caller holds the agreement and the schedule
 * locked.
 *
 * @throws Failure if the agreement no longer carries this schedule
 */
export async function openScheduledCharge(
  trx: Executor,
  rules: BillingRules,
  agreement: Agreement,
  charge: Charge & { scheduleId: string; n: number; attempt: number },
): Promise<AcceptedCharge> {
  const [merchant, [judged]] = await Promise.all([
    merchantProfile(trx, agreement.merchantId),
    countSpending(trx, agreement.merchantId, [agreement.id], charge),
  ]);
  if (!judged) throw new Error(`${agreement.id} was not judged`);
  const refused =
    judged.refusal === null ? undefined : chargeRefusal(judged.refusal, agreement, charge.currency);
  const declinedLimit = refused && limitOf(refused);
  if (refused && !declinedLimit) throw refused;
  const request: NewRequest = {
    ...oneTimeRequest(payerOf(trx.keyring, agreement), charge),
    agreement,
    approvalRequired: approvalRequired(agreement.decision, merchant.trusted),
    counted: refused ? undefined : judged,
    schedule: { id: charge.scheduleId, n: charge.n, attempt: charge.attempt },
    declinedLimit,
  };
  const workflowId = workflowIds.recurring(charge.scheduleId);
  const batch = { id: newId('batch'), biller: { merchant }, workflowId };
  await insertRequests(trx, rules, batch, [request]);
  if (declinedLimit) {
    const ended = await trx.rows<Outcome>`
      SELECT ${raw(OUTCOME_COLUMNS)} FROM billing_requests b WHERE b.id = ${request.id}`;
    const { scheduleId, n } = charge;
    const details = { scheduleId, n, ...(await countedOf(trx, agreement.id, declinedLimit)) };
    await close(trx, ended, { cause: 'network', details });
  }
  return { billingRequestId: request.id, reference: request.reference };
}

async function insertRequests(
  trx: Executor,
  rules: BillingRules,
  batch: Batch,
  requests: NewRequest[],
): Promise<void> {
  const merchant = 'merchant' in batch.biller ? batch.biller.merchant : undefined;
  const payee = 'payee' in batch.biller ? batch.biller.payee : undefined;
  // The moment that was judged: a charge so counts in the windows in which it is shown.
  const judgedAt = requests.find(({ counted }) => counted)?.counted?.at;
  const at = judgedAt ?? ('merchant' in batch.biller ? batch.biller.merchant.now : batch.biller.payee.now);
  const expiresAt = (request: NewRequest) =>
    new Date(
      at.getTime() + (request.approvalRequired ? rules.approvalWindowS : rules.settlementWindowS) * 1000,
    );

  // A bank gets all charges of one call in one webhook.
  const deliveryIds = new Map(requests.map(({ payer }) => [payer.bankId, newId('delivery')]));
  const deliveryOf = (request: NewRequest) => deliveryIds.get(request.payer.bankId) ?? '';
  const inserted = recordsOf(
    requests.map((request) => ({
      id: request.id,
      reference: request.reference,
      customerId: request.payer.customerId,
      bankId: request.payer.bankId,
      lookupId: request.payer.lookupId,
      agreementId: request.agreement?.id,
      scheduleId: request.schedule?.id,
      billingN: request.schedule?.n,
      attempt: request.schedule?.attempt,
      amount: request.amount,
      currency: request.currency,
      description: request.description,
      metadata: request.metadata,
      approvalRequired: request.approvalRequired,
      declineReason: request.declinedLimit && 'limit_reached',
      declinedLimit: request.declinedLimit,
      countedDay: request.counted?.day,
      countedTerms: request.counted?.terms,
      expiresAt: expiresAt(request),
      bankDeliveryId: request.declinedLimit ? undefined : deliveryOf(request),
    })),
  );
  const insertRows = () => trx.rows`
    INSERT INTO billing_requests (id, reference, batch_id, merchant_id, customer_id, bank_id,
      lookup_id, agreement_id, schedule_id, billing_n, attempt, amount, currency, description,
      approval_required,
      status, closed_by, decline_reason, declined_limit, counted_day, counted_terms, expires_at, closed_at,
      workflow_id, bank_delivery_id,
      created_at, payee_customer_id, payee_bank_id, payee_lookup_id, metadata)
    SELECT r.id, r.reference, ${batch.id}, ${merchant?.id ?? null}, r.customer_id, r.bank_id,
      r.lookup_id, r.agreement_id, r.schedule_id, r.billing_n, r.attempt, r.amount, r.currency, r.description,
      r.approval_required, CASE WHEN r.decline_reason IS NULL THEN 'pending' ELSE 'declined' END,
      CASE WHEN r.decline_reason IS NULL THEN NULL ELSE 'network' END, r.decline_reason,
      r.declined_limit, r.counted_day, r.counted_terms, r.expires_at, CASE WHEN r.decline_reason IS NULL THEN NULL ELSE at END,
      ${batch.workflowId}, r.bank_delivery_id, at, ${payee?.customerId ?? null},
      ${payee?.shown.bankId ?? null}, ${payee?.shown.lookupID ?? null},
      coalesce(r.metadata, (SELECT metadata FROM schedules WHERE id = r.schedule_id), '{}')
    FROM CAST(${at} AS timestamptz) AS at, jsonb_to_recordset(${inserted}::jsonb) AS r (id text,
      reference text, customer_id text, bank_id text, lookup_id text, agreement_id text, schedule_id text,
      billing_n int, attempt int, amount bigint, currency text, description text, approval_required boolean,
      decline_reason text, declined_limit text, counted_day date, counted_terms int,
      expires_at timestamptz, bank_delivery_id text, metadata jsonb)`;
  const accepted = requests.flatMap((request) => {
    const facts = { at, expiresAt: expiresAt(request), deliveryId: deliveryOf(request) };
    return request.declinedLimit ? [] : [acceptedOf(trx.keyring, batch, request, facts)];
  });
  // Sent together: no statement of the transitions reads the rows.
  await Promise.all([insertRows(), writeTransitions(trx, accepted)]);
}

/** Asks the payer's bank. */
function acceptedOf(
  keyring: Keyring,
  { id: batchId, biller, workflowId }: Batch,
  request: NewRequest,
  { at, expiresAt, deliveryId }: { at: Date; expiresAt: Date; deliveryId: string },
): TransitionOf<'billing_request.accepted'> {
  const { id, reference, payer, agreement, schedule, amount, currency, description } = request;
  const cause = 'merchant' in biller ? 'merchant' : 'bank';
  return {
    event: 'billing_request.accepted',
    cause: schedule ? 'network' : cause,
    row: { id, sequence: 1, at, amount, currency, status: 'pending' },
    ...(schedule && { details: { scheduleId: schedule.id, n: schedule.n } }),
    announces: {
      'billing.request': {
        entityId: payer.bankId,
        batchId,
        workflowId,
        deliveryId,
        item: {
          billingRequestId: id,
          sequence: 1,
          reference,
          approvalRequired: request.approvalRequired,
          amount,
          currency,
          description,
          customerId: payer.customerId,
          customerEmail: payer.email,
          lookupID: payer.lookupId,
          paymentID: agreement
            ? makePaymentId(keyring, agreement.paymentIdKey, agreement.id, agreement.merchantId)
            : null,
          merchant: 'merchant' in biller ? biller.merchant.shown : undefined,
          payee: 'payee' in biller ? biller.payee.shown : undefined,
          dueDate: expiresAt,
          scheduleId: schedule?.id,
        },
      },
    },
  };
}
