import type { ScheduleStatus } from '../../domain/recurring/recurring';
import type { Webhook, WebhookItem } from '../../domain/webhook/webhook-item';
import { workflowIds } from '../../domain/workflow/workflow-id';
import type { Executor } from '../pool/connection';
import { recordEvents, type AuditEvent } from '../record/event';
import { announce, type Announcement } from '../webhook/announce-webhooks';

/** Announcements of a schedule to its merchant and its customer's bank. */

export interface StatusChange {
  id: string;
  /** The event's type, for the record. */
  event: string;
  merchantId: string;
  bankId: string;
  status: ScheduleStatus;
  previousStatus: ScheduleStatus;
  /** The schedule's sequence after the change. */
  sequence: number;
  /** Announcements to both sides so far, with this one. */
  told: number;
  nextDueAt: Date | null;
  ran: number;
  amount: bigint;
  currency: string;
  /** The amount before a change of terms: the new amount holds from the next due date on. */
  previousAmount?: bigint;
  now: Date;
  /** For the record, beside the new and the former status. */
  details?: Record<string, unknown>;
}

/** Records schedules' events, and announces their new state to both sides. */
export async function announceStatus(
  trx: Executor,
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
  await announce(trx, changes.flatMap(changeAnnouncements));
}

function changeAnnouncements(change: StatusChange): Announcement[] {
  const item: WebhookItem<'recurring.updated'> = {
    scheduleId: change.id,
    sequence: change.told,
    status: change.status,
    previousStatus: change.previousStatus,
    nextBillingDate: change.nextDueAt,
    billingsCompleted: change.ran,
    amount: change.amount,
    currency: change.currency,
    previousAmount: change.previousAmount,
    effectiveFrom: change.previousAmount === undefined ? undefined : change.nextDueAt,
  };
  return toBothSides(change, { webhookType: 'recurring.updated', items: [item] });
}

export function toBothSides(
  schedule: { id: string; merchantId: string; bankId: string },
  webhook: Webhook,
): Announcement[] {
  const workflowId = workflowIds.recurring(schedule.id);
  return [schedule.merchantId, schedule.bankId].map((entityId) => ({ entityId, workflowId, ...webhook }));
}
