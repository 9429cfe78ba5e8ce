import { row, rows, type Executor, type Transaction } from '../connection';
import { recordEvents } from '../event';
import { closeAnnouncements, OUTCOME_COLUMNS, type Outcome } from '../billing-request/announce';
import { endAnnouncements, ENDED_COLUMNS, type EndedIntent } from '../intent/outcome';
import type { Keyring } from '../keys/keyring';
import { changeAnnouncements, type AnnouncedSchedule } from '../recurring/announce';
import { exceptionAnnouncements } from '../reconciliation-exception/announce';
import { EXCEPTION_COLUMNS, type ExceptionRecord } from '../reconciliation-exception/read';
import { reversalAnnouncement, type AnnouncedReversal } from '../reconciliation-exception/reversal';
import { refundAnnouncement } from '../refund/outcome';
import { REFUND_COLUMNS, type RefundRecord } from '../refund/refund';
import { announce, type Announcement } from '../webhook/webhook';
import { wasWithdrawn } from '../webhook/withdrawal';
import { ANNOUNCED_THEN, unannouncedOf, type Unannounced } from './books-unannounced';

/**
 * Announces what nobody was told of a charge, a refund, an intent, a schedule or an exception, by
 * the number that the webhook would have had and with what is so now. That it was made up for is on
 * record beside the change, once: its row is locked meanwhile.
 */

/** Of each kind of resource: its table, whose clock it goes by, and what was to be announced. */
const KINDS = new Map<string, Kind>(
  Object.entries({
    brq_: {
      table: 'billing_requests',
      owner: 'owner_id',
      name: 'billing_request',
      announcements: (trx, ring, change) =>
        change.webhookType === 'billing.reversed' ? reversals(trx, change) : closes(trx, ring, change),
    },
    rfd_: {
      table: 'refunds',
      owner: 'merchant_id',
      name: 'refund',
      async announcements(trx, _, { resourceId, type }) {
        const refunds = await rows<RefundRecord>(
          trx,
          `SELECT ${REFUND_COLUMNS} FROM refunds WHERE id = :resourceId`,
          { resourceId },
        );
        return refunds.map((one) => refundAnnouncement(one, type === 'refund.overdue' ? 1 : undefined));
      },
    },
    int_: {
      table: 'intents',
      owner: 'merchant_id',
      name: 'intent',
      async announcements(trx, ring, { resourceId, cause }) {
        const intents = await rows<EndedIntent>(
          trx,
          `SELECT ${ENDED_COLUMNS} FROM intents i WHERE i.id = :resourceId`,
          { resourceId },
        );
        const withdrawn = cause !== 'bank' && (await wasWithdrawn(trx, ring, 'intents', resourceId));
        return endAnnouncements(ring, intents, cause, new Set(withdrawn ? [resourceId] : []));
      },
    },
    sch_: {
      table: 'schedules',
      owner: 'merchant_id',
      name: 'schedule',
      async announcements(trx, _, { resourceId, sequence, type, details }) {
        const schedules = await rows<AnnouncedSchedule>(
          trx,
          // Each webhook but those of today's changes was told before: so many, this one is.
          `SELECT s.id, s.merchant_id AS "merchantId", s.bank_id AS "bankId", s.status,
             -- New terms hold from the first billing after them on.
             coalesce((
               SELECT g.due_at FROM events e JOIN billings g ON g.schedule_id = s.id AND g.n = (e.details->>'n')::int
               WHERE :type = 'schedule.changed' AND e.resource_id = s.id AND e.sequence > :sequence
                 AND e.type = 'schedule.billing_charged' AND e.details->>'attempt' = '1'
               ORDER BY e.sequence LIMIT 1), s.next_due_at) AS "nextDueAt", s.ran, s.amount, s.currency, ${ANNOUNCED_THEN(':sequence')} AS told
           FROM schedules s WHERE s.id = :resourceId`,
          { resourceId, sequence, type },
        );
        const { previousStatus: previous, previousAmount } = details;
        return schedules.flatMap((schedule) =>
          changeAnnouncements({
            ...schedule,
            previousStatus: typeof previous === 'string' ? previous : schedule.status,
            // Where they left the amount as it was, it is not on record.
            ...(type === 'schedule.changed' && {
              previousAmount: typeof previousAmount === 'string' ? BigInt(previousAmount) : schedule.amount,
            }),
          }),
        );
      },
    },
    exc_: {
      table: 'reconciliation_exceptions',
      owner: 'coalesce(merchant_id, payee_bank_id, bank_id)',
      name: 'exception',
      async announcements(trx, _, { resourceId, type }) {
        const exceptions = await rows<ExceptionRecord>(
          trx,
          `SELECT ${EXCEPTION_COLUMNS} FROM reconciliation_exceptions x WHERE x.id = :resourceId`,
          { resourceId },
        );
        if (type !== 'exception.opened') return exceptionAnnouncements('exception.resolved', exceptions);
        const asOpened = exceptions.map((one) => ({ ...one, told: 1 }));
        return exceptionAnnouncements('exception.opened', asOpened);
      },
    },
  }),
);

interface Kind {
  table: string;
  owner: string;
  name: string;
  announcements(trx: Executor, ring: Keyring, change: Unannounced): Promise<Announcement[]>;
}

async function reversals(trx: Executor, { resourceId, details }: Unannounced): Promise<Announcement[]> {
  const reversed = await rows<AnnouncedReversal>(
    trx,
    `SELECT b.id AS "billingRequestId", b.owner_id AS "ownerId", b.bank_id AS "bankId", b.reference,
       v.reference AS "reversalReference", v.amount, v.currency,
       (SELECT count(*)::int FROM reversals o WHERE o.billing_request_id = b.id
          AND (o.created_at, o.transaction_id) < (v.created_at, v.transaction_id)) AS earlier,
       b.merchant_id IS NULL AND EXISTS (
         SELECT FROM webhook_deliveries d WHERE d.id = b.credit_delivery_id AND d.withdrawn_at IS NOT NULL) AS "creditWithdrawn"
     FROM billing_requests b JOIN reversals v ON v.billing_request_id = b.id
     WHERE b.id = :resourceId AND v.reference = :reversalReference`,
    { resourceId, reversalReference: String(details['reversalReference']) },
  );
  return reversed.map(reversalAnnouncement);
}

async function closes(trx: Executor, ring: Keyring, { resourceId }: Unannounced): Promise<Announcement[]> {
  const closed = await rows<Outcome>(
    trx,
    `SELECT ${OUTCOME_COLUMNS} FROM billing_requests b WHERE b.id = :resourceId`,
    { resourceId },
  );
  const withdrawn =
    closed.some(({ declineReason }) => declineReason === 'not_delivered') ||
    (await wasWithdrawn(trx, ring, 'billing_requests', resourceId));
  return closeAnnouncements(closed, new Set(withdrawn ? [resourceId] : []));
}

export async function announceMissing(trx: Transaction, ring: Keyring, resourceId: string): Promise<void> {
  const kind = KINDS.get(resourceId.slice(0, 4));
  if (!kind) return;
  const { table, owner, name } = kind;
  await row(trx, `SELECT FROM ${table} WHERE id = :resourceId FOR NO KEY UPDATE`, { resourceId });
  for (const change of await unannouncedOf(trx, ring, resourceId)) {
    const { receiverId, webhookType } = change;
    const [lacking] = (await kind.announcements(trx, ring, change)).filter(
      (one) => one.entityId === receiverId && one.webhookType === webhookType,
    );
    if (!lacking) continue;
    const noted = await row<{ sequence: number; at: Date }>(
      trx,
      `UPDATE ${table} SET sequence = sequence + 1 WHERE id = :resourceId
       RETURNING sequence, business_now(${owner}) AS at`,
      { resourceId },
    );
    if (!noted) throw new Error(`there is no ${resourceId}`);
    await recordEvents(trx, [
      {
        resourceId,
        ...noted,
        type: `${name}.announced`,
        cause: 'network',
        details: { of: change.sequence, to: receiverId, webhookType },
      },
    ]);
    // Without a workflow: that of the change has ended, or waits for something else.
    const { workflowId: _, ...byItself } = lacking;
    await announce(trx, ring, [byItself]);
  }
}
