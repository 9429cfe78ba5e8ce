import { bodyWithSignature } from '../domain/webhook-signature';
import { rows, type Executor } from './connection';
import { newId } from './ids';
import type { Keyring } from './keyring';
import { enqueueStarts, type OutboxStart } from './outbox';
import { open, seal } from './sealing';

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
export type WebhookType =
  | 'billing.intent'
  | 'billing.request'
  | 'billing.intent.response'
  | 'billing.response'
  | 'billing.closed'
  | 'billing.intent.closed'
  | 'decision.updated'
  | 'refund.request'
  | 'refund.response'
  | 'recurring.upcoming'
  | 'recurring.updated'
  | 'billing.credit'
  | 'migration.completed'
  | 'webhook.test';

export interface Announcement {
  /** The recipient. */
  entityId: string;
  webhookType: WebhookType;
  /** The batch of the request behind it; the envelope has no `batchId` where there is none. */
  batchId?: string;
  /** Id of the workflow that makes the first attempt. Without one, the delivery has its own workflow at once. */
  carrier?: string;
  /** As they go out: JSON values only, amounts already in major units, each with its `sequence`. */
  items: object[];
}

interface Recipient {
  entityId: string;
  entityType: 'bank' | 'merchant' | 'provider';
  hasUrl: boolean;
  failing: boolean;
  secretSealed: Buffer;
  /** Only while it is good. */
  previousSecretSealed: Buffer | null;
  now: Date;
}

interface NewDelivery {
  id: string;
  recipient: Recipient;
  announcement: Announcement;
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
  if (announcements.length === 0) return [];
  const recipients = await readRecipients(trx, announcements);
  const deliveries = announcements.map((announcement): NewDelivery => {
    const recipient = recipients.get(announcement.entityId);
    if (!recipient) throw new Error(`${announcement.entityId} has no webhook endpoint row`);
    const id = newId('delivery');
    const body = makeBody(keyring, recipient, announcement);
    return {
      id,
      recipient,
      announcement,
      carrier:
        announcement.carrier === undefined || recipient.failing || !recipient.hasUrl
          ? ownWorkflowId(id)
          : announcement.carrier,
      bodySealed: seal(keyring, body, bodyPlace(id)),
    };
  });
  await insertDeliveries(trx, deliveries);
  await enqueueStarts(
    trx,
    deliveries
      .filter((one) => one.recipient.hasUrl && one.carrier === ownWorkflowId(one.id))
      .map((one) => deliveryStart(one.id, one.recipient.entityId, one.announcement.webhookType)),
  );
  return deliveries.map((one) => one.id);
}

async function readRecipients(trx: Executor, announcements: Announcement[]): Promise<Map<string, Recipient>> {
  const found = await rows<Recipient>(
    trx,
    `SELECT e.id AS "entityId", e.type AS "entityType", w.url IS NOT NULL AS "hasUrl",
            w.failing_since IS NOT NULL AS failing, w.secret_sealed AS "secretSealed",
            CASE WHEN w.previous_secret_until > clock_timestamp() THEN w.previous_secret_sealed END
              AS "previousSecretSealed",
            clock_timestamp() AS now
     FROM webhook_endpoints w JOIN entities e ON e.id = w.entity_id
     WHERE w.entity_id = ANY(:entityIds)`,
    { entityIds: [...new Set(announcements.map((one) => one.entityId))] },
  );
  return new Map(found.map((one) => [one.entityId, one]));
}

function makeBody(keyring: Keyring, recipient: Recipient, announcement: Announcement): string {
  const [signingSecret] = openSecrets(keyring, recipient);
  return bodyWithSignature(
    {
      entityId: recipient.entityId,
      entityType: recipient.entityType,
      webhookType: announcement.webhookType,
      timestamp: recipient.now.toISOString(),
      ...(announcement.batchId !== undefined && { batchId: announcement.batchId }),
      data: announcement.items,
      itemCount: announcement.items.length,
    },
    signingSecret,
  );
}

/**
 * The secrets good now, the oldest first: until a rotation is finished, the network's own signature stays with
 * the old secret, and the standard one is made with both.
 */
function openSecrets(
  keyring: Keyring,
  endpoint: Pick<Recipient, 'entityId' | 'secretSealed' | 'previousSecretSealed'>,
): [string, ...string[]] {
  const { entityId, secretSealed, previousSecretSealed } = endpoint;
  const secret = open(keyring, secretSealed, `webhook_endpoints.secret_sealed:${entityId}`);
  if (previousSecretSealed === null) return [secret];
  const place = `webhook_endpoints.previous_secret_sealed:${entityId}` as const;
  return [open(keyring, previousSecretSealed, place), secret];
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
      batchIds: deliveries.map((one) => one.announcement.batchId ?? null),
      bodies: deliveries.map((one) => one.bodySealed),
      carriers: deliveries.map((one) => one.carrier),
      haveUrl: deliveries.map((one) => one.recipient.hasUrl),
    },
  );
}

function bodyPlace(deliveryId: string) {
  return `webhook_deliveries.body_sealed:${deliveryId}` as const;
}

/** As `workflowId.webhookDelivery` has it, which this layer does not know; a test holds the two together. */
function ownWorkflowId(deliveryId: string): string {
  return `webhook-delivery/${deliveryId}`;
}

function deliveryStart(
  deliveryId: string,
  entityId: string,
  webhookType: WebhookType,
): { workflowId: string } & OutboxStart {
  return {
    workflowId: ownWorkflowId(deliveryId),
    type: 'webhookDelivery',
    args: [deliveryId],
    attributes: {
      status: 'pending',
      ...(entityId.startsWith('bnk_') && { bankId: entityId }),
      ...(entityId.startsWith('mch_') && { merchantId: entityId }),
    },
    summary: `${webhookType} to ${entityId}`,
  };
}
