import type { WebhookType } from '../../domain/webhook/webhook';
import type { Transaction } from '../pool/connection';
import { raw } from '../pool/statement';
import { enqueueStarts } from '../outbox';
import { announce, deliveryStart, ownWorkflow } from './announce-webhooks';
import { KNOWN_SECRETS } from './change-endpoint';

/**
 * Webhooks of a disabled party. A sender reads with the delivery whether its receiver is disabled,
 * and then makes no attempt: the delivery's workflow sleeps, and no retry is lost.
 */

/** Deliveries signalled by one statement, so that none runs into the time limit. */
const AT_ONCE = 1_000;

/** Has all that waits for an entity sent, in the transaction that enables it. */
export async function releaseDeliveries(trx: Transaction, entityId: string): Promise<void> {
  let last = '';
  for (;;) {
    // The workflow that announced the rest attempts it, or hands it over.
    const waiting = await trx.rows<{ id: string; entityId: string; webhookType: WebhookType }>`
      WITH waiting AS MATERIALIZED (
        SELECT id, entity_id, webhook_type, next_attempt_at FROM webhook_deliveries
        WHERE entity_id = ${entityId} AND status = 'pending' AND id > ${last}
          AND workflow_id = ${raw(ownWorkflow('id'))}
        ORDER BY id LIMIT ${raw(AT_ONCE)} FOR NO KEY UPDATE
      ), due AS (
        UPDATE webhook_deliveries d SET next_attempt_at = clock_timestamp()
        FROM waiting w WHERE d.id = w.id AND w.next_attempt_at > clock_timestamp()
      )
      SELECT id, entity_id, webhook_type FROM waiting ORDER BY id`;
    await enqueueStarts(
      trx,
      waiting.map((one) => ({ ...deliveryStart([one.id], one), again: 'redeliveryRequested' as const })),
    );
    const lastOfPage = waiting[AT_ONCE - 1];
    if (!lastOfPage) return;
    last = lastOfPage.id;
  }
}

/**
 * Tells the old URL that webhooks will go elsewhere, without naming the new one: either may be a
 * thief's. The caller changes the URL after it.
 *
 * A thief may have changed the secret first. So the message is signed with the secret that the
 * endpoint has known longest. A header that takes several signatures has one by each secret that it
 * may know.
 */
export async function announceToOldEndpoint(
  trx: Transaction,
  entityId: string,
  change: { changedBy: 'api' | 'operator'; cleared: boolean },
): Promise<void> {
  const { signedWith } = await trx.oneRow<{ signedWith: Buffer }>`
    SELECT (${raw(KNOWN_SECRETS)})[1] AS signed_with FROM webhook_endpoints w WHERE w.entity_id = ${entityId}`;
  const [deliveryId] = await announce(trx, [
    {
      entityId,
      webhookType: 'webhook.endpoint_changed',
      signedWith,
      items: [{ sequence: 1, ...change }],
    },
  ]);
  await trx.rows`
    UPDATE webhook_deliveries d SET old_url = w.url, old_secret_encrypted = ${signedWith}
    FROM webhook_endpoints w WHERE d.id = ${deliveryId} AND w.entity_id = d.entity_id`;
}
