import type { Role } from '../domain/entity';
import type { DeliveryStatus } from '../domain/lifecycle';
import type { WebhookType } from '../domain/webhook';
import { bodyWithSignature } from '../domain/webhook-signature';
import { workflowId } from '../domain/workflow-id';
import { row, rows, type Database, type Executor } from './connection';
import { newId } from './ids';
import type { Keyring } from './keyring';
import { enqueueStarts, type OutboxStart } from './outbox';
import { open, seal } from './sealing';
import { openWebhookSecrets, SEALED_SECRETS, type SealedSecrets } from './webhook-endpoint';

/**
 * Webhooks as rows: what was announced to whom, and what became of it.
 *
 * An announcement is written by the transaction that changes the state it speaks of, so neither exists without
 * the other; the row is also the recipient's entry in its events feed. The body is made, signed and sealed once,
 * and every attempt sends those bytes. No transaction waits for a receiver: sending comes after the commit, and
 * nothing of a charge depends on how it ends.
 *
 * The first attempt belongs to the delivery's carrier, the workflow whose work is announced, which makes it in
 * passing. Whatever that attempt leaves undone, and all that has no carrier, goes to the workflow
 * `webhook-delivery/<id>`.
 */

export interface Announcement {
  /** The recipient. */
  entityId: string;
  webhookType: WebhookType;
  /** The batch of the request behind it; where there is none, the webhook is a batch of its own. */
  batchId?: string;
  /** Id of the workflow that makes the first attempt. Without one, the delivery has its own workflow at once. */
  carrier?: string;
  /** As they go out: JSON values only, amounts already in major units, each with its `sequence`. */
  items: object[];
}

/** What one attempt needs to know, as stored; `openDelivery` gives the rest. */
export interface DeliveryToAttempt extends SealedSecrets {
  id: string;
  entityId: string;
  webhookType: WebhookType;
  status: DeliveryStatus;
  /** How many attempts are behind it. */
  attempts: number;
  /** How many of them were made before it was last asked for again. */
  earlierAttempts: number;
  /** The recipient's URL now, which may be another one than when it was announced. */
  url: string | null;
  /** The recipient's last attempt, of whatever delivery, has failed; or it is held. */
  failing: boolean;
  /** The recipient is disabled: nothing is sent to it until it is enabled. */
  held: boolean;
  /** It goes to the URL of before a change, and is not tried again. */
  onlyOnce: boolean;
  bodySealed: Buffer;
}

/** What of an attempt is secret. */
export interface OpenDelivery {
  body: string;
  /** One or, during a rotation, two: the old one first. */
  secrets: [string, ...string[]];
}

/** What became of one attempt. */
export interface Attempt {
  deliveryId: string;
  /** Which attempt the sender took it for, counted from 1. */
  n: number;
  durationMs: number;
  /** Null where no answer came. */
  httpStatus: number | null;
  /** Null where it succeeded. */
  error: string | null;
  /** The beginning of the answer's body. */
  responseHead: string | null;
}

export interface DeliveryState {
  status: DeliveryStatus;
  attempts: number;
  /** Made before it was last asked for again; they do not count for its end. */
  earlierAttempts: number;
}

interface Recipient extends SealedSecrets {
  entityId: string;
  entityType: Role;
  hasUrl: boolean;
  /** Its last attempt has failed, or it is disabled: no carrier is to wait for it. */
  failing: boolean;
  now: Date;
}

/** A webhook that is ready to be written. */
export interface NewDelivery {
  id: string;
  recipient: Recipient;
  announcement: Announcement;
  batchId: string;
  carrier: string;
  bodySealed: Buffer;
}

/**
 * Writes the announcements of a transaction; returns their delivery ids, in the order given.
 *
 * A recipient without a URL gets its row as `failed`, never attempted: the events feed has it, and once a URL
 * is set it can be sent by hand. A recipient known to be failing gets no first attempt by the carrier, which
 * would only wait for it: its delivery starts as a workflow.
 */
export async function announce(
  trx: Executor,
  keyring: Keyring,
  announcements: Announcement[],
): Promise<string[]> {
  const deliveries = await drawUp(trx, keyring, announcements);
  await post(trx, deliveries);
  return deliveries.map((one) => one.id);
}

/** The first half of `announce`: reads who the recipients are, and makes the bodies. Nothing is written. */
export async function drawUp(
  trx: Executor,
  keyring: Keyring,
  announcements: Announcement[],
): Promise<NewDelivery[]> {
  if (announcements.length === 0) return [];
  const recipients = await readRecipients(trx, announcements);
  return announcements.map((announcement): NewDelivery => {
    const recipient = recipients.get(announcement.entityId);
    if (!recipient) throw new Error(`${announcement.entityId} has no webhook endpoint row`);
    const id = newId('delivery');
    const batchId = announcement.batchId ?? newId('batch');
    const body = makeBody(keyring, recipient, announcement, batchId);
    return {
      id,
      recipient,
      announcement,
      batchId,
      carrier:
        announcement.carrier === undefined || recipient.failing || !recipient.hasUrl
          ? workflowId.webhookDelivery(id)
          : announcement.carrier,
      bodySealed: seal(keyring, body, bodyPlace(id)),
    };
  });
}

/** The second half of `announce`: writes them. What else a transaction writes can be sent along with it. */
export async function post(trx: Executor, deliveries: NewDelivery[]): Promise<void> {
  if (deliveries.length === 0) return;
  await Promise.all([
    insertDeliveries(trx, deliveries),
    enqueueStarts(
      trx,
      deliveries
        .filter((one) => one.recipient.hasUrl && one.carrier === workflowId.webhookDelivery(one.id))
        .map((one) =>
          deliveryStart([one.id], {
            entityId: one.recipient.entityId,
            webhookType: one.announcement.webhookType,
          }),
        ),
    ),
  ]);
}

async function readRecipients(trx: Executor, announcements: Announcement[]): Promise<Map<string, Recipient>> {
  const found = await rows<Recipient>(
    trx,
    `SELECT e.id AS "entityId", e.type AS "entityType", w.url IS NOT NULL AS "hasUrl",
            w.failing_since IS NOT NULL OR e.status = 'disabled' AS failing, clock_timestamp() AS now, ${SEALED_SECRETS}
     FROM webhook_endpoints w JOIN entities e ON e.id = w.entity_id
     WHERE w.entity_id = ANY(:entityIds)`,
    { entityIds: [...new Set(announcements.map((one) => one.entityId))] },
  );
  return new Map(found.map((one) => [one.entityId, one]));
}

function makeBody(
  keyring: Keyring,
  recipient: Recipient,
  announcement: Announcement,
  batchId: string,
): string {
  const [signingSecret] = openWebhookSecrets(keyring, recipient.entityId, recipient);
  return bodyWithSignature(
    {
      entityId: recipient.entityId,
      entityType: recipient.entityType,
      webhookType: announcement.webhookType,
      timestamp: recipient.now.toISOString(),
      batchId,
      data: announcement.items,
      itemCount: announcement.items.length,
    },
    signingSecret,
  );
}

async function insertDeliveries(trx: Executor, deliveries: NewDelivery[]): Promise<void> {
  await rows(
    trx,
    `INSERT INTO webhook_deliveries (id, event_id, entity_id, webhook_type, batch_id, body_sealed, carrier,
       status, finished_at)
     SELECT id, event_id, entity_id, webhook_type, batch_id, body_sealed, carrier,
       CASE WHEN has_url THEN 'pending' ELSE 'failed' END, CASE WHEN NOT has_url THEN clock_timestamp() END
     FROM unnest(:ids::text[], :eventIds::text[], :entityIds::text[], :webhookTypes::text[], :batchIds::text[],
                 :bodies::bytea[], :carriers::text[], :haveUrl::boolean[])
       AS d (id, event_id, entity_id, webhook_type, batch_id, body_sealed, carrier, has_url)`,
    {
      ids: deliveries.map((one) => one.id),
      eventIds: deliveries.map(() => newId('event')),
      entityIds: deliveries.map((one) => one.recipient.entityId),
      webhookTypes: deliveries.map((one) => one.announcement.webhookType),
      batchIds: deliveries.map((one) => one.batchId),
      bodies: deliveries.map((one) => one.bodySealed),
      carriers: deliveries.map((one) => one.carrier),
      haveUrl: deliveries.map((one) => one.recipient.hasUrl),
    },
  );
}

const TO_ATTEMPT = `
  SELECT d.id, d.entity_id AS "entityId", d.webhook_type AS "webhookType", d.status, d.attempts,
         d.earlier_attempts AS "earlierAttempts", d.body_sealed AS "bodySealed",
         coalesce(d.old_url, w.url) AS url, d.old_url IS NOT NULL AS "onlyOnce",
         w.failing_since IS NOT NULL OR e.status = 'disabled' AS failing, e.status = 'disabled' AS held,
         coalesce(d.old_secret_sealed, w.secret_sealed) AS "secretSealed",
         CASE WHEN d.old_url IS NULL AND w.previous_secret_until > clock_timestamp()
              THEN w.previous_secret_sealed END AS "previousSecretSealed"
  FROM webhook_deliveries d JOIN webhook_endpoints w ON w.entity_id = d.entity_id
    JOIN entities e ON e.id = d.entity_id`;

/**
 * What a carrier announced and nobody has attempted yet, oldest first. One call announces at most 100 items,
 * so there are hardly more than 101 of these: one for each bank and one for the merchant.
 */
export async function unattempted(db: Executor, carrier: string): Promise<DeliveryToAttempt[]> {
  return rows<DeliveryToAttempt>(
    db,
    `${TO_ATTEMPT} WHERE d.carrier = :carrier AND d.status = 'pending' AND d.attempts = 0 ORDER BY d.event_id`,
    { carrier },
  );
}

export async function deliveryToAttempt(
  db: Executor,
  deliveryId: string,
): Promise<DeliveryToAttempt | undefined> {
  return row<DeliveryToAttempt>(db, `${TO_ATTEMPT} WHERE d.id = :deliveryId`, { deliveryId });
}

/** @throws KeyringError where the ring lacks a key that the body or a secret was sealed with */
export function openDelivery(keyring: Keyring, delivery: DeliveryToAttempt): OpenDelivery {
  return {
    body: open(keyring, delivery.bodySealed, bodyPlace(delivery.id)),
    secrets: openWebhookSecrets(keyring, delivery.entityId, delivery),
  };
}

/**
 * Writes down an attempt and what follows from it: the delivery's status, and whether the recipient counts as
 * failing. Returns how the delivery stands then.
 *
 * Two workers may attempt one delivery at once, when Temporal takes a slow one for dead. A failure counts only
 * if no other n-th attempt has been recorded; a success always does, for the recipient has the message.
 *
 * After a failed first attempt the delivery leaves its carrier: the same transaction starts its own workflow,
 * which waits `retryInMs` before the second.
 *
 * @param maxAttempts the failed attempt with this number ends the delivery, as does a 410; counted from when it
 *   was announced or last asked for again
 */
export async function recordAttempt(
  db: Database,
  attempt: Attempt,
  { maxAttempts, retryInMs }: { maxAttempts: number; retryInMs: number },
): Promise<DeliveryState> {
  const { deliveryId, n } = attempt;
  // One statement does for a success, without the round trips of a transaction: most deliveries are one.
  if (attempt.error === null) return insertAttempt(db, attempt, maxAttempts);
  return db.transaction(async (trx) => {
    const { entityId, webhookType, carrier, counted, ...state } = await insertAttempt(
      trx,
      attempt,
      maxAttempts,
    );
    if (
      counted &&
      n === 1 &&
      state.status === 'pending' &&
      carrier !== workflowId.webhookDelivery(deliveryId)
    ) {
      const progress = { attempts: state.attempts, maxAttempts, retryInMs };
      await enqueueStarts(trx, [deliveryStart([deliveryId, progress], { entityId, webhookType })]);
    }
    return state;
  });
}

interface Recorded extends DeliveryState {
  entityId: string;
  webhookType: WebhookType;
  carrier: string;
  counted: boolean;
}

async function insertAttempt(db: Executor, attempt: Attempt, maxAttempts: number): Promise<Recorded> {
  const recorded = await row<Recorded>(
    db,
    `WITH delivery AS MATERIALIZED (
       SELECT * FROM webhook_deliveries WHERE id = :deliveryId FOR UPDATE
     ), attempt AS (
       INSERT INTO webhook_attempts (delivery_id, n, duration_ms, http_status, error, response_head)
       SELECT id, attempts + 1, :durationMs, :httpStatus, :error, :responseHead FROM delivery
       WHERE :delivered::boolean OR (status = 'pending' AND attempts = :n::int - 1)
       RETURNING delivery_id, n
     ), outcome AS (
       SELECT id, n, CASE WHEN :delivered::boolean THEN 'delivered'
                          WHEN :httpStatus::int IS NOT DISTINCT FROM 410
                            OR n - earlier_attempts >= :maxAttempts::int THEN 'failed'
                          ELSE 'pending' END AS status
       FROM delivery, attempt
     ), advanced AS (
       UPDATE webhook_deliveries d
       SET attempts = o.n, status = o.status,
           finished_at = CASE WHEN o.status = d.status THEN d.finished_at ELSE clock_timestamp() END
       FROM outcome o WHERE d.id = o.id
     ), endpoint AS (
       UPDATE webhook_endpoints w
       SET failing_since = CASE WHEN NOT :delivered::boolean THEN clock_timestamp() END
       FROM delivery, attempt
       WHERE w.entity_id = delivery.entity_id AND (w.failing_since IS NULL) <> :delivered::boolean
         -- How the old endpoint fares says nothing of the new one.
         AND delivery.old_url IS NULL
     )
     SELECT d.entity_id AS "entityId", d.webhook_type AS "webhookType", d.carrier, o.id IS NOT NULL AS counted,
            coalesce(o.status, d.status) AS status, coalesce(o.n, d.attempts) AS attempts,
            d.earlier_attempts AS "earlierAttempts"
     FROM delivery d LEFT JOIN outcome o ON true`,
    { ...attempt, delivered: attempt.error === null, maxAttempts },
  );
  if (!recorded) throw new Error(`there is no delivery ${attempt.deliveryId}`);
  return recorded;
}

/**
 * Takes deliveries that nobody has attempted yet off their carrier: each gets a workflow of its own, which
 * makes the first attempt. Those attempted or handed over meanwhile are passed over; returns how many were not.
 */
export async function handOver(trx: Executor, deliveryIds: string[], carrier: string): Promise<number> {
  const handed = await rows<{ id: string; entityId: string; webhookType: WebhookType }>(
    trx,
    `UPDATE webhook_deliveries SET carrier = '${workflowId.webhookDelivery('')}' || id
     WHERE id = ANY(:deliveryIds) AND carrier = :carrier AND status = 'pending' AND attempts = 0
     RETURNING id, entity_id AS "entityId", webhook_type AS "webhookType"`,
    { deliveryIds, carrier },
  );
  await enqueueStarts(
    trx,
    handed.map((one) => deliveryStart([one.id], one)),
  );
  return handed.length;
}

/** What a delivery's body is sealed for. */
export function bodyPlace(deliveryId: string) {
  return `webhook_deliveries.body_sealed:${deliveryId}` as const;
}

/** @param args those of the workflow `webhookDelivery`: the delivery, and its progress where there is any */
export function deliveryStart(
  args: [deliveryId: string, progress?: object],
  { entityId, webhookType }: { entityId: string; webhookType: WebhookType },
): { workflowId: string } & OutboxStart {
  return {
    workflowId: workflowId.webhookDelivery(args[0]),
    type: 'webhookDelivery',
    args,
    attributes: {
      status: 'pending',
      ...(entityId.startsWith('bnk_') && { bankId: entityId }),
      ...(entityId.startsWith('mch_') && { merchantId: entityId }),
    },
    summary: `${webhookType} to ${entityId}`,
  };
}
