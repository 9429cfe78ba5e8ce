import type { Role } from '../../domain/entity';
import type { WebhookType } from '../../domain/webhook/webhook';
import { itemOnWire, type Webhook } from '../../domain/webhook/webhook-item';
import { bodyWithSignature } from '../../domain/webhook/webhook-signature';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { newId } from '../identifier/new-id';
import type { Keyring } from '../keyring/keyring';
import { enqueueStarts, type WorkflowStart } from '../outbox';
import { decrypt, encrypt } from '../keyring/encrypt';
import { GOOD_SECRETS, secretPlace } from './change-endpoint';

/**
 * Webhooks as rows: what was announced to whom, and what became of it.
 *
 * The transaction that changes a state writes its announcement, so neither exists without the
 * other. The row is also the entry of the receiver's events feed. The body is made, signed and
 * encrypted once. Every attempt sends the same bytes, after the commit.
 *
 * The workflow whose work is announced makes the first attempt. The workflow
 * `webhook-delivery/<id>` makes the later ones, and all that no workflow announced.
 */

export type Announcement = Webhook & {
  entityId: string;
  /** The batch of the request behind it; without one, the webhook is a batch of its own. */
  batchId?: string;
  /** Chosen by a caller whose row names the delivery. */
  deliveryId?: string;
  /** Makes the first attempt; without it, the delivery has its own workflow at once. */
  workflowId?: string;
  /** The ids of the events that its items tell of. */
  tells?: string[];
  /** A secret of the receiver's, encrypted, that signs in place of the current secret. */
  signedWith?: Buffer;
};

interface Receiver {
  entityId: string;
  entityType: Role;
  hasUrl: boolean;
  /** No billing is to wait for it: its last attempt has failed, or it is disabled. */
  failing: boolean;
  now: Date;
  secretEncrypted: Buffer;
}

interface NewDelivery {
  id: string;
  receiver: Receiver;
  announcement: Announcement;
  batchId: string;
  workflowId: string;
  bodyEncrypted: Buffer;
}

/**
 * Writes the announcements of a transaction; returns their delivery ids, in the order given.
 *
 * A receiver without a URL gets a row that is `failed`, without an attempt. The events feed has it,
 * and it can be sent by hand once a URL is set. For a receiver known to be failing the delivery
 * starts as a workflow.
 */
export async function announce(trx: Executor, announcements: Announcement[]): Promise<string[]> {
  if (announcements.length === 0) return [];
  const receivers = await readReceivers(trx, announcements);
  const deliveries = announcements.map((announcement): NewDelivery => {
    const receiver = receivers.get(announcement.entityId);
    if (!receiver) throw new Error(`${announcement.entityId} has no webhook endpoint row`);
    const id = announcement.deliveryId ?? newId('delivery');
    const batchId = announcement.batchId ?? newId('batch');
    const body = makeBody(trx.keyring, receiver, announcement, batchId);
    return {
      id,
      receiver,
      announcement,
      batchId,
      workflowId:
        announcement.workflowId === undefined || receiver.failing || !receiver.hasUrl
          ? workflowIds.webhookDelivery(id)
          : announcement.workflowId,
      bodyEncrypted: encrypt(trx.keyring, body, bodyPlace(id)),
    };
  });
  await Promise.all([
    insertDeliveries(trx, deliveries),
    enqueueStarts(
      trx,
      deliveries
        .filter((one) => one.receiver.hasUrl && one.workflowId === workflowIds.webhookDelivery(one.id))
        .map((one) => deliveryStart([one.id], one.announcement)),
    ),
  ]);
  return deliveries.map((one) => one.id);
}

async function readReceivers(trx: Executor, announcements: Announcement[]): Promise<Map<string, Receiver>> {
  const entityIds = [...new Set(announcements.map((one) => one.entityId))];
  const found = await trx.rows<Receiver>`
    SELECT e.id AS entity_id, e.type AS entity_type, w.url IS NOT NULL AS has_url,
           w.failing_since IS NOT NULL OR e.status = 'disabled' AS failing, clock_timestamp() AS now,
           (${raw(GOOD_SECRETS)})[1] AS secret_encrypted
    FROM webhook_endpoints w JOIN entities e ON e.id = w.entity_id
    WHERE w.entity_id = ANY(${entityIds})`;
  return new Map(found.map((one) => [one.entityId, one]));
}

function makeBody(keyring: Keyring, receiver: Receiver, announcement: Announcement, batchId: string): string {
  const { entityId } = receiver;
  const signedWith = announcement.signedWith ?? receiver.secretEncrypted;
  return bodyWithSignature(
    {
      entityId,
      entityType: receiver.entityType,
      webhookType: announcement.webhookType,
      timestamp: receiver.now.toISOString(),
      batchId,
      data: announcement.items.map(itemOnWire),
      itemCount: announcement.items.length,
    },
    decrypt(keyring, signedWith, secretPlace(entityId)),
  );
}

/**
 * Bodies without some of their items, signed and encrypted again.
 *
 * @param item the member by which an item names its resource
 * @param left the resources to leave out, by delivery
 */
export async function bodiesWithout(trx: Executor, item: string, left: ReadonlyMap<string, string[]>) {
  const found = await trx.rows<{ id: string; entityId: string; body: Buffer; signedWith: Buffer }>`
    SELECT d.id, d.entity_id, d.body_encrypted AS body, (${raw(GOOD_SECRETS)})[1] AS signed_with
    FROM webhook_deliveries d JOIN webhook_endpoints w ON w.entity_id = d.entity_id
    WHERE d.id = ANY(${[...left.keys()]})`;
  return found.map(({ id, entityId, body, signedWith }) => {
    const { signature: _, ...envelope } = JSON.parse(decrypt(trx.keyring, body, bodyPlace(id))) as {
      data: Record<string, unknown>[];
      signature: string;
    };
    const ids = new Set(left.get(id));
    const data = envelope.data.filter((one) => !ids.has(String(one[item])));
    const secret = decrypt(trx.keyring, signedWith, secretPlace(entityId));
    const shorter = bodyWithSignature({ ...envelope, data, itemCount: data.length }, secret);
    return { id, body: encrypt(trx.keyring, shorter, bodyPlace(id)) };
  });
}

async function insertDeliveries(trx: Executor, deliveries: NewDelivery[]): Promise<void> {
  const ids = deliveries.map((one) => one.id);
  const entityIds = deliveries.map((one) => one.receiver.entityId);
  const types = deliveries.map((one) => one.announcement.webhookType);
  const batchIds = deliveries.map((one) => one.batchId);
  const bodies = deliveries.map((one) => one.bodyEncrypted);
  const ofWorkflows = deliveries.map((one) => one.workflowId);
  const told = deliveries.map((one) => (one.announcement.tells ?? []).join(' '));
  const haveUrl = deliveries.map((one) => one.receiver.hasUrl);
  await trx.rows`
    INSERT INTO webhook_deliveries (id, entity_id, webhook_type, batch_id, body_encrypted, workflow_id,
      commit_id, tells, status, finished_at)
    SELECT id, entity_id, webhook_type, batch_id, body_encrypted, workflow_id, ${trx.commitId},
      string_to_array(tells, ' '),
      CASE WHEN has_url THEN 'pending' ELSE 'failed' END, CASE WHEN NOT has_url THEN clock_timestamp() END
    FROM unnest(${ids}::text[], ${entityIds}::text[], ${types}::text[], ${batchIds}::text[],
      ${bodies}::bytea[], ${ofWorkflows}::text[], ${told}::text[],
      ${haveUrl}::boolean[])
      AS d (id, entity_id, webhook_type, batch_id, body_encrypted, workflow_id, tells, has_url)`;
}

export function bodyPlace(deliveryId: string) {
  return `webhook_deliveries.body_encrypted:${deliveryId}` as const;
}

export function responseHeadPlace(deliveryId: string, n: number) {
  return `webhook_attempts.response_head_encrypted:${deliveryId}/${n}` as const;
}

/** SQL: the id of the workflow that a delivery has for itself. */
export const ownWorkflow = (id: string) => `'${workflowIds.webhookDelivery('')}' || ${id}`;

/** @param args those of the workflow `webhookDelivery` */
export function deliveryStart(
  args: [deliveryId: string, progress?: object],
  { entityId, webhookType }: { entityId: string; webhookType: WebhookType },
): WorkflowStart {
  return {
    workflowId: workflowIds.webhookDelivery(args[0]),
    args,
    partyId: entityId,
    attributes: {
      status: 'pending',
      ...(entityId.startsWith('bnk_') && { bankId: entityId }),
      ...(entityId.startsWith('mch_') && { merchantId: entityId }),
    },
    summary: workflowSummary.webhookDelivery({ webhookType, entityId }),
  };
}
