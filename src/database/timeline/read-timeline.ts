import type { StoryStep } from '../../domain/words/story';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { rows, type Executor } from '../connection';
import type { Keyring } from '../keys/keyring';
import { momentOf, readCalls, readEvents, type RecordedEvent } from './read-events';
import { readActsOn, readLedger } from './read-records';
import { findSubject, type Subject } from './find-subject';
import { readAttempts, readDeliveries, readReceipts } from './read-webhooks';

/**
 * All that the database knows of one reference or id, as one line of time. Nothing is written,
 * every statement goes by an index and has an end, and nothing personal or secret is read out: no
 * names, no addresses, no bodies, no URLs, no words of a bank's own.
 */

/** As long as anybody reads; whoever wants what is earlier asks for one of the charges. */
const MOMENTS_MAX = 1_000;

/** An act is on record by the end of the transaction that does it. */
const ACT_WITHIN_MS = 1_000;

/** What the story is about. */
export interface About {
  id: string;
  kind:
    | 'charge'
    | 'refund'
    | 'refund_return'
    | 'reversal'
    | 'exception'
    | 'schedule'
    | 'intent'
    | 'agreement'
    | 'delivery';
  reference: string | null;
  status: string | null;
  amount: bigint | null;
  currency: string | null;
  bankId: string | null;
  merchantId: string | null;
  workflowId: string | null;
}

export interface Story {
  about: About[];
  /** Oldest first. */
  moments: StoryStep[];
  /** There are earlier ones. */
  cut: boolean;
}

interface Resource extends About {
  parties: string[];
  batchId: string | null;
  isOpen: boolean;
  /** The webhooks by which it asked a bank for something. */
  asked: string[];
}

interface Charge extends Resource {
  scheduleId: string | null;
  n: number | null;
  agreementId: string | null;
  countedDay: string | null;
  countedMonth: string | null;
}

/**
 * For the operator: a reference of one party may be another's id.
 *
 * @returns undefined where nothing has this reference or id
 */
export async function findStory(db: Executor, ring: Keyring, given: string): Promise<Story | undefined> {
  const subject = await findSubject(db, ring, given);
  return subject && readStory(db, ring, subject);
}

/** Of one charge alone, with its refunds, reversals and exceptions. */
export async function readStoryOfCharge(
  db: Executor,
  ring: Keyring,
  billingRequestId: string,
): Promise<Story | undefined> {
  const nothing = {
    scheduleIds: [],
    intentIds: [],
    agreementIds: [],
    exceptionIds: [],
    deliveryIds: [],
    cut: false,
  };
  return readStory(db, ring, { ...nothing, chargeIds: [billingRequestId] });
}

async function readStory(db: Executor, ring: Keyring, subject: Subject): Promise<Story | undefined> {
  const charges = await readCharges(db, subject.chargeIds);
  const others = await readOthers(db, subject);
  const resources: Resource[] = [...charges, ...others];
  // Of a transaction of a bank's, what it settled may be gone with a restored back-up.
  if (resources.length === 0 && subject.deliveryIds.length === 0) return undefined;
  const ids = resources.map(({ id }) => id);
  const parties = [...new Set(resources.flatMap((one) => one.parties))];
  const certain = [...subject.deliveryIds, ...resources.flatMap(({ asked }) => asked)];
  const billings = charges.filter(({ scheduleId }) => scheduleId !== null && !ids.includes(scheduleId));
  const read = await readEvents(db, ids, billings, MOMENTS_MAX + 1);
  const moment = momentsOfTransactions(read);
  const events = read.map((event) => ({ ...event, at: moment.get(event.xid) ?? event.at }));
  const deliveries = await readDeliveries(db, ring, {
    ids: new Set(ids),
    parties,
    xids: [...moment.keys()],
    batchIds: new Set(resources.flatMap(({ batchId }) => batchId ?? [])),
    certain,
    limit: MOMENTS_MAX + 1,
  });
  const deliveryIds = deliveries.map(({ deliveryId }) => deliveryId);
  const forgotten = certain.filter((id) => !deliveryIds.includes(id));
  const [attempts, receipts, ledger, calls] = await Promise.all([
    readAttempts(db, deliveryIds, MOMENTS_MAX + 1),
    readReceipts(db, forgotten),
    readLedger(db, ids, MOMENTS_MAX + 1),
    readCalls(db, parties, events),
  ]);
  const firstAt = new Map(
    events.filter(({ sequence }) => sequence === 1).map(({ resourceId, at }) => [resourceId, at]),
  );
  const steps: StoryStep[] = [
    ...calls,
    ...events.map(momentOf),
    ...charges.flatMap((charge) => limitsOf(charge, firstAt.get(charge.id))),
    ...startsOf(resources, firstAt),
    ...[...deliveries, ...ledger].map(({ xid, ...one }) => ({ ...one, at: moment.get(xid) ?? one.at })),
    ...attempts,
    ...receipts,
  ];
  const times = steps.map(({ at }) => at.getTime());
  const acts = await readActsOn(db, parties, {
    from: new Date(Math.min(...times)),
    until: resources.some(({ isOpen }) => isOpen) ? null : new Date(Math.max(...times) + ACT_WITHIN_MS),
    exceptionIds: ids,
    limit: MOMENTS_MAX + 1,
  });
  const moments = inOrder([...steps, ...acts]);
  return {
    about: about(resources, subject.deliveryIds),
    moments: moments.slice(-MOMENTS_MAX),
    cut: subject.cut || moments.length > MOMENTS_MAX,
  };
}

/**
 * What one transaction did happened at once, whatever it wrote first: at the moment of its first
 * event.
 *
 * @param events oldest first
 */
function momentsOfTransactions(events: RecordedEvent[]): Map<string, Date> {
  return new Map(events.toReversed().map(({ xid, at }) => [xid, at]));
}

/** Of one moment, what the rest follows from comes first. */
const RANK: Record<StoryStep['what'], number> = {
  call: 0,
  event: 1,
  limits: 2,
  workflow: 3,
  ledger: 4,
  webhook: 5,
  attempt: 6,
  receipt: 7,
  act: 8,
};

function inOrder(moments: StoryStep[]): StoryStep[] {
  return moments.toSorted(
    (a, b) => a.at.getTime() - b.at.getTime() || RANK[a.what] - RANK[b.what] || judgedAt(a) - judgedAt(b),
  );
}

/** Two events of one transaction are told as they were judged: a decline before its exception. */
const judgedAt = (step: StoryStep) => (step.what === 'event' ? step.businessAt.getTime() : 0);

function about(resources: Resource[], deliveryIds: string[]): About[] {
  const shown = resources.map(
    ({ id, kind, reference, status, amount, currency, bankId, merchantId, workflowId }) => ({
      id,
      kind,
      reference,
      status,
      amount,
      currency,
      bankId,
      merchantId,
      workflowId,
    }),
  );
  const nothing = { reference: null, status: null, amount: null, currency: null, bankId: null };
  return [
    ...shown,
    ...deliveryIds.map((id) => ({
      ...nothing,
      id,
      kind: 'delivery' as const,
      merchantId: null,
      workflowId: workflowIds.webhookDelivery(id),
    })),
  ];
}

const parties = (alias: string) =>
  `array_remove(ARRAY[${alias}.bank_id, ${alias}.merchant_id, ${alias}.provider_id`;

async function readCharges(db: Executor, chargeIds: string[]): Promise<Charge[]> {
  return rows<Charge>(
    db,
    `SELECT b.id, 'charge' AS kind, b.reference, b.status, b.amount::bigint, b.currency, b.bank_id,
       b.merchant_id, b.workflow_id, b.batch_id,
       ${parties('b')}, b.payee_bank_id], NULL) AS parties, b.status = 'pending' AS is_open,
       b.schedule_id, b.billing_n AS n, b.agreement_id,
       b.counted_day::text AS counted_day, b.counted_month::text AS counted_month,
       array_remove(ARRAY[b.bank_delivery_id, b.credit_delivery_id], NULL) AS asked
     FROM billing_requests b WHERE b.id = ANY(:chargeIds) ORDER BY b.id`,
    { chargeIds },
    'anew',
  );
}

/** Refunds, returns, reversals, exceptions, schedules, intents and agreements read at most. */
const OTHERS_MAX = 1_000;

async function readOthers(
  db: Executor,
  { chargeIds, scheduleIds, intentIds, agreementIds, exceptionIds }: Subject,
): Promise<Resource[]> {
  return rows<Resource>(
    db,
    `SELECT r.id, 'refund' AS kind, r.reference, r.status, r.amount::bigint, r.currency::text, r.bank_id,
       r.merchant_id, '${workflowIds.refund('')}' || r.id AS workflow_id, NULL AS batch_id,
       ${parties('r')}], NULL) AS parties, r.status = 'pending' AS is_open, r.bank_delivery_ids AS asked
     FROM refunds r WHERE r.billing_request_id = ANY(:chargeIds)
     UNION ALL SELECT r.return_transaction_id, 'refund_return', r.return_reference, 'completed', r.amount::bigint, r.currency::text,
       r.bank_id, r.merchant_id, NULL, NULL, ${parties('r')}], NULL), false, '{}'
     FROM refunds r WHERE r.billing_request_id = ANY(:chargeIds) AND r.returned_at IS NOT NULL
     UNION ALL SELECT v.transaction_id, 'reversal', v.reference, 'completed', v.amount::bigint, v.currency::text, v.bank_id,
       v.merchant_id, NULL, NULL, ${parties('v')}, v.payee_bank_id], NULL), false, '{}'
     FROM reversals v WHERE v.billing_request_id = ANY(:chargeIds)
     UNION ALL SELECT x.id, 'exception', x.reference, x.state, x.amount::bigint, x.currency::text, x.bank_id,
       x.merchant_id, NULL, NULL, ${parties('x')}, x.payee_bank_id], NULL), x.state <> 'resolved', '{}'
     FROM (SELECT * FROM reconciliation_exceptions WHERE billing_request_id = ANY(:chargeIds)
           UNION ALL
           SELECT * FROM reconciliation_exceptions WHERE id = ANY(:exceptionIds) AND billing_request_id IS NULL) AS x
     UNION ALL SELECT s.id, 'schedule', NULL, s.status, s.amount::bigint, s.currency::text, s.bank_id,
       s.merchant_id, '${workflowIds.recurring('')}' || s.id, NULL, ${parties('s')}], NULL), s.acts_at IS NOT NULL, '{}'
     FROM schedules s WHERE s.id = ANY(:scheduleIds)
     UNION ALL SELECT i.id, 'intent', i.reference, i.status, NULL::bigint, i.currency::text, i.bank_id,
       i.merchant_id, i.workflow_id, i.batch_id, ARRAY[i.bank_id, i.merchant_id], i.status = 'pending',
       array_remove(ARRAY[i.bank_delivery_id], NULL)
     FROM intents i WHERE i.id = ANY(:intentIds)
     UNION ALL SELECT a.id, 'agreement', NULL, a.decision, NULL::bigint, a.currency::text, a.bank_id,
       a.merchant_id, NULL, NULL, ARRAY[a.bank_id, a.merchant_id], false, '{}'
     FROM agreements a WHERE a.id = ANY(:agreementIds)
     LIMIT :limit`,
    { chargeIds, scheduleIds, intentIds, agreementIds, exceptionIds, limit: OTHERS_MAX },
    'anew',
  );
}

function limitsOf(
  { id, agreementId, countedDay, countedMonth, status }: Charge,
  at: Date | undefined,
): StoryStep[] {
  if (at === undefined || agreementId === null || countedDay === null || countedMonth === null) return [];
  const month = countedMonth.slice(0, 7);
  const released = status === 'declined';
  return [{ at, what: 'limits', resourceId: id, agreementId, day: countedDay, month, released }];
}

/** The workflow takes over with the first event of what it is about. */
function startsOf(resources: Resource[], firstAt: Map<string, Date>): StoryStep[] {
  const started = new Map<string, StoryStep>();
  for (const { id, workflowId } of resources) {
    const at = firstAt.get(id);
    if (at && workflowId !== null && !started.has(workflowId)) {
      started.set(workflowId, { at, what: 'workflow', workflowId });
    }
  }
  return [...started.values()];
}
