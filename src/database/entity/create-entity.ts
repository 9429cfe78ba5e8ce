import type { Role, TrustLevel } from '../../domain/entity';
import { SCOPES } from '../../domain/scope';
import { insertClient, newClientSecret } from './client-credential';
import type { Executor, Transaction } from '../pool/connection';
import { raw } from '../pool/statement';
import { newId } from '../identifier/new-id';
import { insertWebhookEndpoint, newWebhookSecret } from '../webhook/change-endpoint';

export interface NewEntity {
  type: Role;
  name: string;
  email?: string | undefined;
  website?: string | undefined;
  icon?: string | undefined;
  webhookUrl?: string | undefined;
  /** For a merchant that a provider created: the provider, and its own name for the merchant. */
  providerId?: string | undefined;
  clientRef?: string | undefined;
}

/** Shown once, when the entity is created; the secrets cannot be read again. */
export interface EntityCredentials {
  entityId: string;
  clientId: string;
  clientSecret: string;
  webhookSecret: string;
}

export interface Entity {
  entityId: string;
  type: Role;
  name: string;
  status: 'active' | 'disabled';
  trustLevel: TrustLevel;
  providerId: string | null;
  createdAt: Date;
}

/** @returns undefined if the provider's `clientRef` is taken */
export async function createEntity(
  trx: Transaction,
  entity: NewEntity,
): Promise<EntityCredentials | undefined> {
  const entityId = newId(entity.type);
  const made = await trx.row`
    INSERT INTO entities (id, type, name, email, website, icon, provider_id, client_ref)
    VALUES (${entityId}, ${entity.type}, ${entity.name}, ${entity.email ?? null}, ${entity.website ?? null},
      ${entity.icon ?? null}, ${entity.providerId ?? null}, ${entity.clientRef ?? null})
    ON CONFLICT (provider_id, client_ref) DO NOTHING RETURNING id`;
  if (made === undefined) return undefined;
  const credentials = {
    entityId,
    clientId: newId('client'),
    clientSecret: newClientSecret(),
    webhookSecret: newWebhookSecret(),
  };
  await insertClient(trx, { ...credentials, name: 'default', scopes: SCOPES });
  await insertWebhookEndpoint(trx, {
    entityId,
    url: entity.webhookUrl,
    secret: credentials.webhookSecret,
  });
  return credentials;
}

const COLUMNS = `id AS entity_id, type, name, status, trust_level, provider_id, created_at`;

export async function findEntity(db: Executor, entityId: string): Promise<Entity | undefined> {
  return db.row<Entity>`SELECT ${raw(COLUMNS)} FROM entities WHERE id = ${entityId}`;
}

/** All entities, oldest first: operators and providers create few enough for one response. */
export async function listEntities(db: Executor): Promise<Entity[]> {
  return db.rows<Entity>`SELECT ${raw(COLUMNS)} FROM entities ORDER BY created_at, id`;
}

/** Names by id; other ids than entities' have none. */
export async function entityNames(db: Executor, ids: string[]): Promise<ReadonlyMap<string, string>> {
  const found = await db.rows<Entity>`SELECT ${raw(COLUMNS)} FROM entities WHERE id = ANY(${ids})`;
  return new Map(found.map(({ entityId, name }) => [entityId, name]));
}

export interface Standing {
  role: Role;
  active: boolean;
  /** Tokens of an earlier generation are invalid. */
  tokenGeneration: number;
  /** The provider that created the merchant. */
  providerId: string | null;
}

/** @param clientId a client of the entity, which must not be disabled either */
export async function readStanding(
  db: Executor,
  entityId: string,
  clientId: string | null = null,
): Promise<Standing | undefined> {
  return db.row<Standing>`
    SELECT e.type AS role, e.status = 'active' AND (${clientId}::text IS NULL OR EXISTS (
        SELECT FROM client_credentials c
        WHERE c.client_id = ${clientId} AND c.entity_id = e.id AND c.disabled_at IS NULL)) AS active,
      e.token_generation, e.provider_id
    FROM entities e WHERE e.id = ${entityId}`;
}

/**
 * Enables or disables an entity. Either change ends its tokens for good.
 *
 * @returns the status before; undefined for an unknown entity
 */
export async function setEntityStatus(
  db: Executor,
  entityId: string,
  status: Entity['status'],
): Promise<Entity['status'] | undefined> {
  const set = await db.row<{ before: Entity['status'] }>`
    WITH before AS (SELECT id, status FROM entities WHERE id = ${entityId} FOR NO KEY UPDATE)
    UPDATE entities e
    SET status = ${status},
      token_generation = e.token_generation + CASE WHEN before.status = ${status}::text THEN 0 ELSE 1 END
    FROM before WHERE e.id = before.id RETURNING before.status AS before`;
  return set?.before;
}

/**
 * Whether an entity is active; if so, it stays active until this transaction ends. Disabling it
 * waits for this transaction, but not for later ones, which a shared lock would let in.
 */
export async function holdActive(trx: Transaction, entityId: string): Promise<boolean> {
  const active = await trx.row`
    SELECT id FROM entities WHERE id = ${entityId} AND status = 'active' FOR NO KEY UPDATE`;
  return active !== undefined;
}

export async function isMerchantOf(db: Executor, providerId: string, merchantId: string): Promise<boolean> {
  const found = await db.row`
    SELECT id FROM entities WHERE id = ${merchantId} AND provider_id = ${providerId}`;
  return found !== undefined;
}

/**
 * @param providerId limits the search to its merchants; the operator gives none
 * @returns the level before; undefined for an unknown merchant
 */
export async function setEntityTrust(
  trx: Executor,
  merchantId: string,
  trustLevel: TrustLevel,
  providerId?: string,
): Promise<TrustLevel | undefined> {
  const provider = providerId ?? null;
  const set = await trx.row<{ before: TrustLevel }>`
    WITH before AS (
      SELECT id, trust_level FROM entities
      WHERE id = ${merchantId} AND type = 'merchant' AND (${provider}::text IS NULL OR provider_id = ${provider})
      FOR NO KEY UPDATE)
    UPDATE entities e SET trust_level = ${trustLevel} FROM before WHERE e.id = before.id
    RETURNING before.trust_level AS before`;
  return set?.before;
}
