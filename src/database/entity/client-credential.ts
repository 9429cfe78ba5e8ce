import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role } from '../../domain/entity';
import { recordAct, type Actor } from '../audit';
import { row, rows, type Executor, type Transaction } from '../connection';

/**
 * The client id and secret by which an entity gets its access tokens.
 *
 * Secrets are 32 random bytes, not something that a person chose, so one round of SHA-256 keeps
 * them as safe as a slow hash would: there is nothing to guess. The client id goes into the hash,
 * so that a hash is worth nothing in another row.
 */
export interface Client {
  clientId: string;
  entityId: string;
  role: Role;
  /** Of a merchant that a provider made. */
  providerId?: string | undefined;
  /** What its tokens are issued as. */
  tokenGeneration: number;
}

/** How long the secret before the last rotation stays good. */
const PREVIOUS_SECRET = '24 hours';

export function newClientSecret(): string {
  return `sec_${randomBytes(32).toString('base64url')}`;
}

/**
 * Whether the text has the form of a secret: what has not can be refused without looking anything
 * up.
 */
export function isClientSecret(text: string): boolean {
  return /^sec_[\w-]{43}$/.test(text);
}

export async function insertClient(
  trx: Executor,
  client: { clientId: string; entityId: string; clientSecret: string },
): Promise<void> {
  await row(
    trx,
    `INSERT INTO client_credentials (client_id, entity_id, secret_hash) VALUES (:clientId, :entityId, :hash)`,
    {
      clientId: client.clientId,
      entityId: client.entityId,
      hash: hashOf(client.clientId, client.clientSecret),
    },
  );
}

/** What somebody sends who says that it is a client. */
export interface Claim {
  clientId: string;
  clientSecret: string;
}

/**
 * The active entity of each claim whose client id and secret belong together, undefined for any
 * other; one statement, whatever their number. An unknown client takes the same query, hash and
 * comparisons as a wrong secret, so the time says nothing either.
 */
export async function authenticateClients(db: Executor, claims: Claim[]): Promise<(Client | undefined)[]> {
  const found = await rows<{
    clientId: string;
    entityId: string;
    role: Role;
    providerId: string | null;
    active: boolean;
    tokenGeneration: number;
    hash: Buffer;
    previousHash: Buffer | null;
  }>(
    db,
    `SELECT c.client_id AS "clientId", e.id AS "entityId", e.type AS role, e.provider_id AS "providerId", e.status = 'active' AS active,
            c.secret_hash AS hash,
            e.token_generation AS "tokenGeneration",
            CASE WHEN c.previous_secret_until > clock_timestamp() THEN c.previous_secret_hash END AS "previousHash"
     FROM client_credentials c JOIN entities e ON e.id = c.entity_id WHERE c.client_id = ANY(:clientIds)`,
    { clientIds: [...new Set(claims.map(({ clientId }) => clientId))] },
  );
  const byId = new Map(found.map((client) => [client.clientId, client]));
  return claims.map(({ clientId, clientSecret }) => {
    const client = byId.get(clientId);
    const given = hashOf(clientId, clientSecret);
    const nothing = Buffer.alloc(given.length);
    const current = timingSafeEqual(given, client?.hash ?? nothing);
    const previous = timingSafeEqual(given, client?.previousHash ?? nothing);
    if (!client?.active || !(current || previous)) return undefined;
    const { entityId, role, providerId, tokenGeneration } = client;
    return { clientId, entityId, role, providerId: providerId ?? undefined, tokenGeneration };
  });
}

/**
 * Puts a new secret in force. The one before stays good for 24 h; or, where `endOld` says so, none
 * but the new one is good from now on. Undefined for an unknown entity.
 */
export async function rotateClientSecret(
  trx: Transaction,
  by: Actor,
  entityId: string,
  { endOld }: { endOld: boolean },
): Promise<{ clientId: string; clientSecret: string } | undefined> {
  const clientSecret = newClientSecret();
  const client = await row<{ clientId: string }>(
    trx,
    `SELECT client_id AS "clientId" FROM client_credentials WHERE entity_id = :entityId`,
    { entityId },
  );
  if (client === undefined) return undefined;
  const { clientId } = client;
  const rotated = await row<{ until: Date | null }>(
    trx,
    `UPDATE client_credentials SET secret_hash = :hash,
       previous_secret_hash = CASE WHEN NOT :endOld::boolean THEN secret_hash END,
       previous_secret_until = CASE WHEN NOT :endOld::boolean THEN clock_timestamp() + :kept::interval END
     WHERE client_id = :clientId RETURNING previous_secret_until AS until`,
    { clientId, hash: hashOf(clientId, clientSecret), endOld, kept: PREVIOUS_SECRET },
  );
  await recordAct(trx, by, {
    action: 'client_secret.rotated',
    entityId,
    after: { clientId, previousSecretValidUntil: rotated?.until ?? null },
  });
  return { clientId, clientSecret };
}

function hashOf(clientId: string, clientSecret: string): Buffer {
  return createHash('sha256').update(`${clientId}:${clientSecret}`).digest();
}
