import type { TrustLevel } from '../../domain/entity';
import { recordAct, shownUrl, type Actor } from '../audit';
import { isAway } from '../availability';
import type { Database, Transaction } from '../connection';
import {
  createEntity,
  endTokens,
  merchantsMadeSince,
  setEntityStatus,
  setEntityTrust,
  type Entity,
  type EntityCredentials,
  type NewEntity,
} from './entity';
import type { Keyring } from '../keys/keyring';
import { syncSchedulesOf } from '../recurring/schedule';
import { lockWebhookUrl, setWebhookUrl } from '../webhook/endpoint';
import { releaseDeliveries, announceToOldEndpoint } from '../webhook/hold';

/**
 * What an operator, or a party itself, decides about a party: each with what follows from it, and
 * with its record.
 */

/** Lets a new party in; undefined if the provider's `clientRef` is taken. */
export async function admitEntity(
  trx: Transaction,
  ring: Keyring,
  by: Actor,
  entity: NewEntity,
): Promise<EntityCredentials | undefined> {
  const made = await createEntity(trx, ring, entity);
  if (made === undefined) return undefined;
  const { entityId, clientId } = made;
  await recordAct(trx, by, {
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
  ring: Keyring,
  by: Actor,
  entityId: string,
  status: Entity['status'],
): Promise<boolean> {
  const before = await setEntityStatus(trx, entityId, status);
  if (before === undefined) return false;
  await syncSchedulesOf(trx, ring, entityId, by.cause);
  if (status === 'active') await releaseDeliveries(trx, entityId);
  const action = status === 'disabled' ? 'entity.disabled' : 'entity.enabled';
  await recordAct(trx, by, { action, entityId, before: { status: before }, after: { status } });
  return true;
}

/**
 * Disables the merchants that a provider has made from a moment on, and that are active: each in a
 * transaction with its record, for the schedules of all of them are too much for one. One that
 * fails, as where its row is locked, keeps none that comes after it in. Whoever is stopped in the
 * middle, or is told of such a one, does it again, for the rest.
 *
 * @param providerId of one that is disabled already, and so makes no more
 * @throws what it failed with where Postgres is away
 */
export async function* disableMerchantsMadeSince(
  db: Database,
  ring: Keyring,
  by: Actor,
  providerId: string,
  since: Date,
): AsyncGenerator<{ merchantId: string; error?: Error }, void, undefined> {
  for await (const page of merchantsMadeSince(db, providerId, since)) {
    for (const { id } of page) {
      try {
        await db.transaction((trx) => changeStatus(trx, ring, by, id, 'disabled'));
      } catch (error) {
        if (!(error instanceof Error) || isAway(error)) throw error;
        yield { merchantId: id, error };
        continue;
      }
      yield { merchantId: id };
    }
  }
}

/**
 * @param providerId only a merchant of this provider is found; any for the operator, who names none
 * @returns false for an unknown merchant
 */
export async function changeTrust(
  trx: Transaction,
  ring: Keyring,
  by: Actor,
  { merchantId, trustLevel, providerId }: { merchantId: string; trustLevel: TrustLevel; providerId?: string },
): Promise<boolean> {
  const before = await setEntityTrust(trx, merchantId, trustLevel, providerId);
  if (before === undefined) return false;
  await syncSchedulesOf(trx, ring, merchantId, by.cause);
  await recordAct(trx, by, {
    action: 'entity.trust_set',
    entityId: merchantId,
    before: { trustLevel: before },
    after: { trustLevel },
  });
  return true;
}

/**
 * Ends all access tokens of an entity; it may get new ones.
 *
 * @returns false for an unknown entity
 */
export async function revokeTokens(trx: Transaction, by: Actor, entityId: string): Promise<boolean> {
  if (!(await endTokens(trx, entityId))) return false;
  await recordAct(trx, by, { action: 'entity.tokens_revoked', entityId });
  return true;
}

/**
 * Sends an entity's webhooks elsewhere, or nowhere. The old endpoint is told: whoever has a stolen
 * token could have it moved otherwise without anybody's noticing.
 *
 * @returns false for an unknown entity
 */
export async function changeEndpoint(
  trx: Transaction,
  ring: Keyring,
  by: Actor,
  entityId: string,
  url: string | null,
): Promise<boolean> {
  const before = await lockWebhookUrl(trx, entityId);
  if (before === undefined) return false;
  if (before.url !== null && before.url !== url) {
    await announceToOldEndpoint(trx, ring, entityId, {
      changedBy: by.cause === 'operator' ? 'operator' : 'api',
      cleared: url === null,
    });
  }
  await setWebhookUrl(trx, entityId, url);
  await recordAct(trx, by, {
    action: url === null ? 'endpoint.cleared' : 'endpoint.changed',
    entityId,
    before: { url: shownUrl(before.url) },
    after: { url: shownUrl(url) },
  });
  return true;
}
