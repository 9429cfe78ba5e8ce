import type { TrustLevel } from '../../domain/entity';
import { recordAuditEvent, shownUrl, type Actor } from '../record/audit-event';
import type { Transaction } from '../pool/connection';
import {
  createEntity,
  setEntityStatus,
  setEntityTrust,
  type Entity,
  type EntityCredentials,
  type NewEntity,
} from '../entity/create-entity';
import { syncSchedulesOf } from '../schedule/align-schedules';
import { setWebhookUrl } from '../webhook/change-endpoint';
import { releaseDeliveries, announceToOldEndpoint } from '../webhook/hold-deliveries';

/** Decisions about a party, by an operator or itself, with their audit events. */

/** Creates a party; undefined if the provider's `clientRef` is taken. */
export async function admitEntity(
  trx: Transaction,
  by: Actor,
  entity: NewEntity,
): Promise<EntityCredentials | undefined> {
  const made = await createEntity(trx, entity);
  if (made === undefined) return undefined;
  const { entityId, clientId } = made;
  await recordAuditEvent(trx, by, {
    action: 'entity.created',
    entityId,
    after: {
      type: entity.type,
      providerId: entity.providerId ?? null,
      clientId,
      url: shownUrl(entity.webhookUrl ?? null),
    },
  });
  return made;
}

/** @returns false for an unknown entity */
export async function changeStatus(
  trx: Transaction,
  by: Actor,
  entityId: string,
  status: Entity['status'],
): Promise<boolean> {
  const before = await setEntityStatus(trx, entityId, status);
  if (before === undefined) return false;
  await syncSchedulesOf(trx, entityId, by.cause);
  if (status === 'active') await releaseDeliveries(trx, entityId);
  const action = status === 'disabled' ? 'entity.disabled' : 'entity.enabled';
  await recordAuditEvent(trx, by, { action, entityId, before: { status: before }, after: { status } });
  return true;
}

/**
 * @param providerId limits the search to its merchants; the operator gives none
 * @returns false for an unknown merchant
 */
export async function changeTrust(
  trx: Transaction,
  by: Actor,
  { merchantId, trustLevel, providerId }: { merchantId: string; trustLevel: TrustLevel; providerId?: string },
): Promise<boolean> {
  const before = await setEntityTrust(trx, merchantId, trustLevel, providerId);
  if (before === undefined) return false;
  await syncSchedulesOf(trx, merchantId, by.cause);
  await recordAuditEvent(trx, by, {
    action: 'entity.trust_set',
    entityId: merchantId,
    before: { trustLevel: before },
    after: { trustLevel },
  });
  return true;
}

/** @returns false for an unknown entity */
export async function revokeTokens(trx: Transaction, by: Actor, entityId: string): Promise<boolean> {
  const ended = await trx.row`
    UPDATE entities SET token_generation = token_generation + 1 WHERE id = ${entityId} RETURNING id`;
  if (ended === undefined) return false;
  await recordAuditEvent(trx, by, { action: 'entity.tokens_revoked', entityId });
  return true;
}

/**
 * Moves an entity's webhooks to another URL, or turns them off. The old endpoint is told, or the
 * holder of a stolen token could move them unnoticed.
 *
 * @returns false for an unknown entity
 */
export async function changeEndpoint(
  trx: Transaction,
  by: Actor,
  entityId: string,
  url: string | null,
): Promise<boolean> {
  const before = await trx.row<{ url: string | null }>`
    SELECT url FROM webhook_endpoints WHERE entity_id = ${entityId} FOR NO KEY UPDATE`;
  if (before === undefined) return false;
  if (before.url !== null && before.url !== url) {
    await announceToOldEndpoint(trx, entityId, {
      changedBy: by.cause === 'operator' ? 'operator' : 'api',
      cleared: url === null,
    });
  }
  await setWebhookUrl(trx, entityId, url);
  await recordAuditEvent(trx, by, {
    action: url === null ? 'endpoint.cleared' : 'endpoint.changed',
    entityId,
    before: { url: shownUrl(before.url) },
    after: { url: shownUrl(url) },
  });
  return true;
}
