import { row, type Executor, type Transaction } from '../connection';
import { recordEvents } from '../event';
import { endAnnouncements, ENDED_COLUMNS, type EndedIntent } from '../intent/outcome';
import type { Keyring } from '../keys/keyring';
import { changeAnnouncements, type ToldSchedule } from '../recurring/announce';
import { exceptionAnnouncements } from '../reconciliation-exception/announce';
import { EXCEPTION_COLUMNS, type ExceptionRecord } from '../reconciliation-exception/read';
import { refundAnnouncement } from '../refund/outcome';
import { REFUND_COLUMNS, type RefundRecord } from '../refund/refund';
import { announce, type Announcement } from '../webhook/webhook';
import { untoldOf, type Untold } from './books-told';

/**
 * Tells what nobody was told of a refund, an intent, a schedule or an exception, by the number that
 * the webhook would have had and with what is so now. That it was made up for is on record beside
 * the change, once: its row is locked meanwhile.
 */

/** Of each kind of resource: its table, whose clock it goes by, and what was to be announced. */
const KINDS = new Map<string, Kind>([
  [
    'rfd_',
    {
      table: 'refunds',
      owner: 'merchant_id',
      name: 'refund',
      async announcements(trx, _, { resourceId, type }) {
        const refund = await row<RefundRecord>(
          trx,
          `SELECT ${REFUND_COLUMNS} FROM refunds WHERE id = :resourceId`,
          { resourceId },
        );
        if (!refund) return [];
        return [refundAnnouncement(refund, type === 'refund.overdue' ? 1 : undefined)];
      },
    },
  ],
  [
    'int_',
    {
      table: 'intents',
      owner: 'merchant_id',
      name: 'intent',
      async announcements(trx, ring, { resourceId, cause }) {
        const intent = await row<EndedIntent>(
          trx,
          `SELECT ${ENDED_COLUMNS} FROM intents i WHERE i.id = :resourceId`,
          { resourceId },
        );
        return intent ? endAnnouncements(trx, ring, [intent], cause) : [];
      },
    },
  ],
  [
    'sch_',
    {
      table: 'schedules',
      owner: 'merchant_id',
      name: 'schedule',
      async announcements(trx, _, { resourceId, sequence, details }) {
        const schedule = await row<ToldSchedule>(
          trx,
          // Each webhook but those of today's changes was told before: so many, this one is.
          `SELECT s.id, s.merchant_id AS "merchantId", s.bank_id AS "bankId", s.status, s.next_due_at AS "nextDueAt",
             s.ran, s.amount, s.currency, s.told - (
               SELECT count(*)::int FROM events e WHERE e.resource_id = s.id AND e.sequence > :sequence
                 AND e.type NOT IN ('schedule.created', 'schedule.announced') AND e.type NOT LIKE 'schedule.billing%') AS told
           FROM schedules s WHERE s.id = :resourceId`,
          { resourceId, sequence },
        );
        const previous = details['previousStatus'];
        if (!schedule) return [];
        return changeAnnouncements({
          ...schedule,
          previousStatus: typeof previous === 'string' ? previous : schedule.status,
        });
      },
    },
  ],
  [
    'exc_',
    {
      table: 'reconciliation_exceptions',
      owner: 'coalesce(merchant_id, payee_bank_id, bank_id)',
      name: 'exception',
      async announcements(trx, _, { resourceId, type }) {
        const exception = await row<ExceptionRecord>(
          trx,
          `SELECT ${EXCEPTION_COLUMNS} FROM reconciliation_exceptions x WHERE x.id = :resourceId`,
          { resourceId },
        );
        if (!exception) return [];
        return type === 'exception.opened'
          ? exceptionAnnouncements('exception.opened', [{ ...exception, told: 1 }])
          : exceptionAnnouncements('exception.resolved', [exception]);
      },
    },
  ],
]);

interface Kind {
  table: string;
  owner: string;
  name: string;
  announcements(trx: Executor, ring: Keyring, change: Untold): Promise<Announcement[]>;
}

export async function tellUntold(trx: Transaction, ring: Keyring, resourceId: string): Promise<void> {
  const kind = KINDS.get(resourceId.slice(0, 4));
  if (!kind) return;
  const { table, owner, name } = kind;
  await row(trx, `SELECT FROM ${table} WHERE id = :resourceId FOR NO KEY UPDATE`, { resourceId });
  for (const change of await untoldOf(trx, ring, resourceId)) {
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
