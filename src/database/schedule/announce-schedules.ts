import { formatAmount } from '../../domain/money';
import type { ScheduleStatus } from '../../domain/recurring/recurring';
import { workflowIds } from '../../domain/workflow/workflow-id';
import type { Executor } from '../pool/connection';
import { recordEvents, type AuditEvent } from '../record/event';
import type { Keyring } from '../keys/keyring';
import { announce, type Announcement } from '../webhook/announce-webhooks';

/** What both sides of a schedule are told of it. */

export interface StatusChange {
  id: string;
  /** What happened, for the record. */
  event: string;
  merchantId: string;
  bankId: string;
  status: ScheduleStatus;
  previousStatus: ScheduleStatus;
  /** Of the schedule, after the change. */
  sequence: number;
  /** How often both sides have been told of it, with this. */
  told: number;
  nextDueAt: Date | null;
  ran: number;
  amount: bigint;
  currency: string;
  /**
   * What it charged before, where its terms have changed: the new ones hold from its next due date
   * on.
   */
  previousAmount?: bigint;
  now: Date;
  /** For the record, beside the status that it has and had. */
  details?: Record<string, unknown>;
}

/** Puts what happened to schedules on record and tells both sides how they stand. */
export async function announceStatus(
  trx: Executor,
  keyring: Keyring,
  changes: StatusChange[],
  cause: AuditEvent['cause'],
): Promise<void> {
  await recordEvents(
    trx,
    changes.map(({ id, sequence, event, details, status, previousStatus, now }) => ({
      resourceId: id,
      sequence,
      type: event,
      cause,
      details: { status, previousStatus, ...details },
      at: now,
    })),
  );
  await announce(
    trx,
    keyring,
    changes.flatMap((change) => changeAnnouncements(change)),
  );
}

/** How a schedule stands, as both sides are told of it. */
type AnnouncedSchedule = Pick<
  StatusChange,
  | 'id'
  | 'merchantId'
  | 'bankId'
  | 'status'
  | 'told'
  | 'nextDueAt'
  | 'ran'
  | 'amount'
  | 'currency'
  | 'previousAmount'
>;

function changeAnnouncements(change: AnnouncedSchedule & { previousStatus: string }): Announcement[] {
  return toBothSides(change, 'recurring.updated', {
    scheduleId: change.id,
    sequence: change.told,
    status: change.status,
    previousStatus: change.previousStatus,
    nextBillingDate: change.nextDueAt?.toISOString() ?? null,
    billingsCompleted: change.ran,
    amount: formatAmount(change.amount, change.currency),
    currency: change.currency,
    ...(change.previousAmount !== undefined && {
      previousAmount: formatAmount(change.previousAmount, change.currency),
      effectiveFrom: change.nextDueAt?.toISOString() ?? null,
    }),
  });
}

export function toBothSides(
  schedule: { id: string; merchantId: string; bankId: string },
  webhookType: Announcement['webhookType'],
  item: object,
): Announcement[] {
  return [schedule.merchantId, schedule.bankId].map((entityId) => ({
    entityId,
    webhookType,
    workflowId: workflowIds.recurring(schedule.id),
    items: [item],
  }));
}
