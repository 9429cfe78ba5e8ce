import type { TimelineStep } from '../../domain/words/timeline';
import { workflowIds } from '../../domain/workflow/workflow-id';
import type { Executor } from '../pool/connection';
import { customPlan, raw } from '../pool/statement';
import { findSubject, type Subject } from './find-subject';
import { readAttempts, readDeliveries, readReceipts } from './read-webhooks';
import { eventStep, readAuditEvents, readCalls, readEvents, readLedger } from './read-steps';

/**
 * All that the database knows of a reference or id, in the order of time. Nothing is written, and
 * every statement uses an index and has a limit. Nothing secret is read out, and nothing personal
 * but the addresses of persons who acted: no names, bodies or URLs, and no words of a bank's own.
 */
export interface Timeline {
  about: About[];
  /** Oldest first. */
  steps: TimelineStep[];
  /** Earlier steps exist. */
  cut: boolean;
}

/** A reader of earlier steps asks for a single charge. */
const STEPS_MAX = 1_000;

/** An audit event is on record by the end of the transaction that does it. */
const AUDITED_WITHIN_MS = 1_000;

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
  givenBack: boolean;
}

/**
 * For the operator alone, because a reference of one party may be another's id.
 *
 * @returns undefined where nothing has this reference or id
 */
export async function findTimeline(db: Executor, given: string): Promise<Timeline | undefined> {
  const subject = await findSubject(db, given);
  return subject && readTimeline(db, subject);
}

/** The timeline of a charge alone, with its refunds, reversals and exceptions. */
export const readTimelineOfCharge = (db: Executor, billingRequestId: string): Promise<Timeline | undefined> =>
  readTimeline(db, {
    ids: { charge: [billingRequestId], schedule: [], intent: [], agreement: [], exception: [], delivery: [] },
    cut: false,
  });

async function readTimeline(db: Executor, subject: Subject): Promise<Timeline | undefined> {
  const charges = await readCharges(db, subject.ids.charge);
  const resources: Resource[] = [...charges, ...(await readOthers(db, subject.ids))];
  // A bank's transaction may outlive what it settled, which a restored back-up lacks.
  if (resources.length === 0 && subject.ids.delivery.length === 0) return undefined;
  const ids = resources.map(({ id }) => id);
  const parties = [...new Set(resources.flatMap((one) => one.parties))];
  const certain = [...subject.ids.delivery, ...resources.flatMap(({ asked }) => asked)];
  const limit = STEPS_MAX + 1;

  const billings = charges.filter(({ scheduleId }) => scheduleId !== null && !ids.includes(scheduleId));
  const recorded = await readEvents(db, ids, billings, limit);
  // All steps of a transaction happened at once, at the moment of its first event.
  const moments = new Map(recorded.toReversed().map(({ commitId, at }) => [commitId, at]));
  const atOnce = <One extends { at: Date; commitId: string }>({ commitId, ...one }: One) => ({
    ...one,
    at: moments.get(commitId) ?? one.at,
  });
  const events = recorded.map((event) => ({ ...event, at: moments.get(event.commitId) ?? event.at }));
  const deliveries = await readDeliveries(db, {
    ids: new Set(ids),
    parties,
    commitIds: [...moments.keys()],
    batchIds: new Set(resources.flatMap(({ batchId }) => batchId ?? [])),
    certain,
    limit,
  });
  const deliveryIds = deliveries.map(({ deliveryId }) => deliveryId);
  const forgotten = certain.filter((id) => !deliveryIds.includes(id));
  const [attempts, receipts, ledger, calls] = await Promise.all([
    readAttempts(db, deliveryIds, limit),
    readReceipts(db, forgotten),
    readLedger(db, ids, limit),
    readCalls(db, parties, events),
  ]);
  const firstAt = new Map(
    events.filter(({ sequence }) => sequence === 1).map(({ resourceId, at }) => [resourceId, at]),
  );
  const steps: TimelineStep[] = [
    ...calls,
    ...events.map(eventStep),
    ...charges.flatMap((charge) => limitsOf(charge, firstAt.get(charge.id))),
    ...startsOf(resources, firstAt),
    ...deliveries.map(atOnce),
    ...ledger.map(atOnce),
    ...attempts,
    ...receipts,
  ];
  const times = steps.map(({ at }) => at.getTime());
  const audited = await readAuditEvents(db, parties, {
    from: new Date(Math.min(...times)),
    until: resources.some(({ isOpen }) => isOpen) ? null : new Date(Math.max(...times) + AUDITED_WITHIN_MS),
    exceptionIds: ids,
    commitIds: [...moments.keys()],
    limit,
  });
  const all = inOrder([...steps, ...audited]);
  return {
    about: [...resources.map(aboutOf), ...subject.ids.delivery.map(aboutDelivery)],
    steps: all.slice(-STEPS_MAX),
    cut: subject.cut || all.length > STEPS_MAX,
  };
}

/** At the same moment, causes come before their effects. */
const ORDER: TimelineStep['what'][] = [
  'call',
  'event',
  'limits',
  'workflow',
  'ledger',
  'webhook',
  'attempt',
  'receipt',
  'act',
];

/** Events of a transaction are ordered by business time: a decline before its exception. */
const judgedAt = (step: TimelineStep) => (step.what === 'event' ? step.businessAt.getTime() : 0);

function inOrder(steps: TimelineStep[]): TimelineStep[] {
  return steps.toSorted(
    (a, b) =>
      a.at.getTime() - b.at.getTime() ||
      ORDER.indexOf(a.what) - ORDER.indexOf(b.what) ||
      judgedAt(a) - judgedAt(b),
  );
}

function aboutOf(resource: Resource): About {
  const { id, kind, reference, status, amount, currency, bankId, merchantId, workflowId } = resource;
  return { id, kind, reference, status, amount, currency, bankId, merchantId, workflowId };
}

const aboutDelivery = (id: string): About => ({
  id,
  kind: 'delivery',
  reference: null,
  status: null,
  amount: null,
  currency: null,
  bankId: null,
  merchantId: null,
  workflowId: workflowIds.webhookDelivery(id),
});

const parties = (alias: string) =>
  `array_remove(ARRAY[${alias}.bank_id, ${alias}.merchant_id, ${alias}.provider_id`;

async function readCharges(db: Executor, chargeIds: string[]): Promise<Charge[]> {
  return customPlan(db).rows<Charge>`
    SELECT b.id, 'charge' AS kind, b.reference, b.status, b.amount::bigint, b.currency, b.bank_id,
      b.merchant_id, b.workflow_id, b.batch_id,
      ${raw(parties('b'))}, b.payee_bank_id], NULL) AS parties, b.status = 'pending' AS is_open,
      b.schedule_id, b.billing_n AS n, b.agreement_id,
      b.counted_day::text AS counted_day, b.given_back,
      array_remove(ARRAY[b.bank_delivery_id, b.credit_delivery_id], NULL) AS asked
    FROM billing_requests b WHERE b.id = ANY(${chargeIds}) ORDER BY b.id`;
}

/** Refunds, returns, reversals, exceptions, schedules, intents and agreements read at most. */
const OTHERS_MAX = 1_000;

async function readOthers(db: Executor, ids: Subject['ids']): Promise<Resource[]> {
  return customPlan(db).rows<Resource>`
    SELECT r.id, 'refund' AS kind, r.reference, r.status, r.amount::bigint, r.currency::text, r.bank_id,
      r.merchant_id, '${raw(workflowIds.refund(''))}' || r.id AS workflow_id, NULL AS batch_id,
      ${raw(parties('r'))}], NULL) AS parties, r.status = 'pending' AS is_open, r.bank_delivery_ids AS asked
    FROM refunds r WHERE r.billing_request_id = ANY(${ids.charge})
    UNION ALL SELECT r.return_transaction_id, 'refund_return', r.return_reference, 'completed',
      r.amount::bigint, r.currency::text,
      r.bank_id, r.merchant_id, NULL, NULL, ${raw(parties('r'))}], NULL), false, '{}'
    FROM refunds r WHERE r.billing_request_id = ANY(${ids.charge}) AND r.returned_at IS NOT NULL
    UNION ALL SELECT v.transaction_id, 'reversal', v.reference, 'completed', v.amount::bigint,
      v.currency::text, v.bank_id,
      v.merchant_id, NULL, NULL, ${raw(parties('v'))}, v.payee_bank_id], NULL), false, '{}'
    FROM reversals v WHERE v.billing_request_id = ANY(${ids.charge})
    UNION ALL SELECT x.id, 'exception', x.reference, x.state, x.amount::bigint, x.currency::text, x.bank_id,
      x.merchant_id, NULL, NULL, ${raw(parties('x'))}, x.payee_bank_id], NULL), x.state <> 'resolved', '{}'
    FROM (SELECT * FROM reconciliation_exceptions WHERE billing_request_id = ANY(${ids.charge})
          UNION ALL
          SELECT * FROM reconciliation_exceptions
          WHERE id = ANY(${ids.exception}) AND billing_request_id IS NULL) AS x
    UNION ALL SELECT s.id, 'schedule', NULL, s.status, s.amount::bigint, s.currency::text, s.bank_id,
      s.merchant_id, '${raw(workflowIds.recurring(''))}' || s.id, NULL, ${raw(parties('s'))}], NULL),
      s.acts_at IS NOT NULL, '{}'
    FROM schedules s WHERE s.id = ANY(${ids.schedule})
    UNION ALL SELECT i.id, 'intent', i.reference, i.status, NULL::bigint, i.currency::text, i.bank_id,
      i.merchant_id, i.workflow_id, i.batch_id, ARRAY[i.bank_id, i.merchant_id], i.status = 'pending',
      array_remove(ARRAY[i.bank_delivery_id], NULL)
    FROM intents i WHERE i.id = ANY(${ids.intent})
    UNION ALL SELECT a.id, 'agreement', NULL, a.decision, NULL::bigint, a.currency::text, a.bank_id,
      a.merchant_id, NULL, NULL, ARRAY[a.bank_id, a.merchant_id], false, '{}'
    FROM agreements a WHERE a.id = ANY(${ids.agreement})
    LIMIT ${OTHERS_MAX}`;
}

function limitsOf(
  { id, agreementId, countedDay: day, givenBack: released }: Charge,
  at: Date | undefined,
): TimelineStep[] {
  if (at === undefined || agreementId === null || day === null) return [];
  const month = day.slice(0, 7);
  return [{ at, what: 'limits', resourceId: id, agreementId, day, month, released }];
}

/** The workflow takes over with the first event of its resource. */
function startsOf(resources: Resource[], firstAt: Map<string, Date>): TimelineStep[] {
  const started = new Map<string, TimelineStep>();
  for (const { id, workflowId } of resources) {
    const at = firstAt.get(id);
    if (at && workflowId !== null && !started.has(workflowId)) {
      started.set(workflowId, { at, what: 'workflow', workflowId });
    }
  }
  return [...started.values()];
}
