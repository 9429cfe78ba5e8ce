import type { TrustLevel } from '../../domain/entity';
import { act, shownUrl, type Actor } from '../record/audit-event';
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
export function admitEntity(
  trx: Transaction,
  by: Actor,
  entity: NewEntity,
): Promise<EntityCredentials | undefined> {
  const { type, providerId = null, webhookUrl = null } = entity;
  return act(trx, by, createEntity(trx, entity), ({ entityId, clientId }) => ({
    action: 'entity.created',
    entityId,
    after: { type, providerId, clientId, url: shownUrl(webhookUrl) },
  }));
}

/** @returns false for an unknown entity */
export async function changeStatus(
  trx: Transaction,
  by: Actor,
  entityId: string,
  status: Entity['status'],
): Promise<boolean> {
  const changed = await act(trx, by, setEntityStatus(trx, entityId, status), (before) => ({
    action: status === 'disabled' ? 'entity.disabled' : 'entity.enabled',
    entityId,
    before: { status: before },
    after: { status },
  }));
  if (changed === undefined) return false;
  await syncSchedulesOf(trx, entityId, by.cause);
  if (status === 'active') await releaseDeliveries(trx, entityId);
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
  const change = setEntityTrust(trx, merchantId, trustLevel, providerId);
  const changed = await act(trx, by, change, (before) => ({
    action: 'entity.trust_set',
    entityId: merchantId,
    before: { trustLevel: before },
    after: { trustLevel },
  }));
  if (changed === undefined) return false;
  await syncSchedulesOf(trx, merchantId, by.cause);
  return true;
}

/** @returns false for an unknown entity */
export async function revokeTokens(trx: Transaction, by: Actor, entityId: string): Promise<boolean> {
  const change = trx.row<object>`
    UPDATE entities SET token_generation = token_generation + 1 WHERE id = ${entityId} RETURNING id`;
  const ended = await act(trx, by, change, () => ({ action: 'entity.tokens_revoked', entityId }));
  return ended !== undefined;
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
  const changed = await act(trx, by, setWebhookUrl(trx, entityId, url), () => ({
    action: url === null ? 'endpoint.cleared' : 'endpoint.changed',
    entityId,
    before: { url: shownUrl(before.url) },
    after: { url: shownUrl(url) },
  }));
  return changed !== undefined;
}
