import { Failure } from '../../domain/failures';
import { groupBy } from '../../domain/group';
import type { DeliveryStatus } from '../../domain/lifecycle';
import type { WebhookType } from '../../domain/webhook/webhook';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { allOf, listPage, literal, type Listed, type Page } from '../query/list-page';
import { enqueueStarts } from '../outbox';
import { deliveryStart, ownWorkflow } from './announce-webhooks';

/** A delivery as its receiver reads it. */
export interface DeliveryRecord {
  deliveryId: string;
  eventId: string;
  webhookType: WebhookType;
  batchId: string | null;
  status: DeliveryStatus;
  createdAt: Date;
  /** When it was delivered or given up. */
  finishedAt: Date | null;
  /** When what it asks for ended before it was sent. */
  withdrawnAt: Date | null;
  /** Oldest first. */
  attempts: AttemptRecord[];
}

interface AttemptRecord {
  /** When it ended. */
  at: Date;
  /** The receiver's HTTP status; null where no answer came. */
  status: number | null;
  durationMs: number;
  /** Null where it succeeded. */
  error: string | null;
}

/** Most attempts that are shown with a delivery, the latest: the table of retries has twelve. */
const ATTEMPTS_SHOWN = 50;

const COLUMNS = `d.id AS delivery_id, d.event_id, d.webhook_type, d.batch_id, d.status, d.created_at,
  d.finished_at, d.withdrawn_at`;

type Delivery = Omit<DeliveryRecord, 'attempts'>;

/** Undefined where the entity has no such delivery. */
export async function readDelivery(
  db: Executor,
  entityId: string,
  deliveryId: string,
): Promise<DeliveryRecord | undefined> {
  const delivery = await db.row<Delivery>`
    SELECT ${raw(COLUMNS)} FROM webhook_deliveries d WHERE d.id = ${deliveryId} AND d.entity_id = ${entityId}`;
  return delivery && (await withAttempts(db, [delivery]))[0];
}

export const DELIVERY_SORTS = {
  createdAt: { by: 'd.created_at', indexed: true },
  webhookType: { by: 'd.webhook_type', indexed: false },
};

interface DeliveryFilter {
  status?: DeliveryStatus | 'withdrawn' | undefined;
  webhookType?: WebhookType | undefined;
  from?: Date | undefined;
  /** Exclusive. */
  to?: Date | undefined;
}

export async function listDeliveries(
  db: Executor,
  entityId: string,
  filter: DeliveryFilter,
  page: Page<keyof typeof DELIVERY_SORTS>,
): Promise<Listed<DeliveryRecord>> {
  const { status, webhookType, from: since, to: before } = filter;
  const from = sql`webhook_deliveries d WHERE ${allOf(
    sql`d.entity_id = ${entityId}`,
    status === 'withdrawn'
      ? sql`d.withdrawn_at IS NOT NULL`
      : status !== undefined && sql`d.status = ${literal(status)}`,
    status === 'failed' && sql`d.withdrawn_at IS NULL`,
    webhookType !== undefined && sql`d.webhook_type = ${webhookType}`,
    since !== undefined && sql`d.created_at >= ${since}`,
    before !== undefined && sql`d.created_at < ${before}`,
  )}`;
  const listed = await listPage<Delivery>(
    db,
    {
      select: () => sql`SELECT ${raw(COLUMNS)} FROM ${from}`,
      counted: (limit) => sql`${from} ORDER BY d.created_at, d.id ${limit}`,
      id: 'd.id',
      sort: DELIVERY_SORTS[page.sortBy],
      instead:
        'narrow it with status, webhookType, from or to, or read GET /v1/events, which has all in one order',
    },
    page,
  );
  return { ...listed, items: await withAttempts(db, listed.items) };
}

async function withAttempts(db: Executor, deliveries: Delivery[]): Promise<DeliveryRecord[]> {
  if (deliveries.length === 0) return [];
  const deliveryIds = deliveries.map(({ deliveryId }) => deliveryId);
  const attempts = await db.rows<{ deliveryId: string } & AttemptRecord>`
    SELECT a.delivery_id, a.at, a.http_status AS status, a.duration_ms, a.error
    FROM webhook_attempts a JOIN webhook_deliveries d ON d.id = a.delivery_id
    WHERE a.delivery_id = ANY(${deliveryIds})
      AND a.n > d.attempts - ${ATTEMPTS_SHOWN}::int ORDER BY a.delivery_id, a.n`;
  const byDelivery = groupBy(attempts, ({ deliveryId }) => deliveryId);
  return deliveries.map((delivery) => ({
    ...delivery,
    attempts: byDelivery.get(delivery.deliveryId) ?? [],
  }));
}

/**
 * Sends a delivery once more, in any state: the same bytes under the same id, with a new delivery's
 * retries, to the present URL. A withdrawn webhook is not sent again, for its charge or intent has
 * ended. Without a URL each attempt would fail, and a delivery that has arrived would end as
 * failed.
 *
 * Its workflow is signalled where it runs, and runs again where it has ended. Several requests at
 * once are answered by one attempt, which begins after them.
 *
 * @throws Failure not_found; delivery_withdrawn; no_webhook_url
 */
export async function redeliver(trx: Executor, entityId: string, deliveryId: string): Promise<void> {
  const again = await trx.row<{ entityId: string; webhookType: WebhookType }>`
    UPDATE webhook_deliveries d
    SET status = 'pending', finished_at = NULL, earlier_attempts = attempts,
      next_attempt_at = clock_timestamp(),
      old_url = NULL, old_secret_encrypted = NULL,
      workflow_id = ${raw(ownWorkflow('id'))}
    WHERE id = ${deliveryId} AND entity_id = ${entityId} AND withdrawn_at IS NULL
      AND EXISTS (SELECT FROM webhook_endpoints w WHERE w.entity_id = d.entity_id AND w.url IS NOT NULL)
    RETURNING entity_id, webhook_type`;
  if (!again) throw await notAgain(trx, entityId, deliveryId);
  await enqueueStarts(trx, [{ ...deliveryStart([deliveryId], again), again: 'redeliveryRequested' }]);
}

/** A row that is not withdrawn had no URL to go to, also where it has one by now. */
async function notAgain(trx: Executor, entityId: string, deliveryId: string): Promise<Failure> {
  const found = await trx.row<{ status: DeliveryStatus; withdrawn: boolean }>`
    SELECT status, withdrawn_at IS NOT NULL AS withdrawn FROM webhook_deliveries
    WHERE id = ${deliveryId} AND entity_id = ${entityId}`;
  if (!found) return new Failure('not_found', 'You have no such delivery');
  return new Failure(
    found.withdrawn ? 'delivery_withdrawn' : 'no_webhook_url',
    found.withdrawn
      ? 'What this webhook asks for ended before it was sent, so it is not sent any more. How it ended is in your events.'
      : 'You have no webhook URL: set one first. What the webhook says is in your events feed.',
    { data: { deliveryId, status: found.status } },
  );
}

/**
 * Test events, and notices of a changed endpoint, that may wait for their first attempt: no other
 * call writes a webhook without work behind it.
 */
const UNSENT_MAX = 10;
/** The time-out of an attempt, after which one that hangs waits no more. */
const UNSENT_RETRY_S = 10;

/** @throws Failure rate_limited where the latest of this type were all not attempted yet */
export async function refuseUnsent(
  trx: Executor,
  entityId: string,
  webhookType: 'webhook.test' | 'webhook.endpoint_changed',
): Promise<void> {
  const { count } = await trx.oneRow<{ count: number }>`
    SELECT count(*)::int AS count FROM (
      SELECT status, attempts FROM webhook_deliveries
      WHERE entity_id = ${entityId} AND webhook_type = ${webhookType}
      ORDER BY created_at DESC, id DESC LIMIT ${raw(UNSENT_MAX)}) AS latest
    WHERE status = 'pending' AND attempts = 0`;
  if (count !== UNSENT_MAX) return;
  throw new Failure(
    'rate_limited',
    `${UNSENT_MAX} webhooks of type ${webhookType} still wait for their first attempt: try again in some seconds.`,
    { retryAfterS: UNSENT_RETRY_S },
  );
}
