import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role } from '../../domain/entity';
import { OperatorError } from '../../domain/failures';
import type { Scope } from '../../domain/scope';
import { act, type Actor } from '../record/audit-event';
import { newId } from '../identifier/new-id';
import type { Executor, Transaction } from '../pool/connection';
import { raw } from '../pool/statement';
import { KeyringError, type Keyring } from '../keyring/keyring';
import { keyIdIn, keyIdOf, keyPrefix } from '../keyring/encrypt';
import { lockEntity } from './lock-entity';

/**
 * The client ids and secrets by which an entity gets its access tokens. It has one for each of its
 * systems, with the scopes that the system needs.
 *
 * A secret is 32 random bytes, so a fast hash is as safe as a slow one: there is nothing to guess.
 * The HMAC-SHA-256 key comes from the keyring, so that write access to the table cannot make a
 * secret valid. The hash covers client and entity, so it is worthless in another row.
 *
 * A stored hash begins with the id of its key, as an encrypted value does. After a rotation of the
 * keyring the next token call hashes the secret with the current key.
 */
export interface Client {
  clientId: string;
  entityId: string;
  role: Role;
  /** The provider that created the merchant. */
  providerId: string | null;
  scopes: Scope[];
  /** The generation that its tokens are issued with. */
  tokenGeneration: number;
  /** The stored hash of the secret that was sent, if an older key of the keyring made it. */
  olderHash?: Buffer | undefined;
}

/** A client as operators see it. */
interface ListedClient {
  clientId: string;
  entityId: string;
  name: string;
  scopes: readonly Scope[];
  disabled: boolean;
}

const LISTED = 'client_id, entity_id, name, scopes, disabled_at IS NOT NULL AS disabled';

/** Systems of one party; each that is forgotten is a secret that may leak. */
const CLIENTS_MAX = 20;

/**
 * Time for which a process remembers that a client and its entity are not disabled. The command
 * that disables a client waits as long.
 */
export const STANDING_TTL_MS = 1_000;

/** The time that the previous secret stays valid after a rotation. */
const PREVIOUS_SECRET = '24 hours';

export function newClientSecret(): string {
  return `sec_${randomBytes(32).toString('base64url')}`;
}

/** A text that does not have the form of a secret is refused without a query. */
export function isClientSecret(text: string): boolean {
  return /^sec_[\w-]{43}$/.test(text);
}

/** @returns undefined where another client of the entity has the name, or it has too many */
export async function insertClient(
  trx: Executor,
  client: Omit<ListedClient, 'disabled'> & { clientSecret: string },
): Promise<ListedClient | undefined> {
  const { clientId, entityId, name, scopes } = client;
  return trx.row<ListedClient>`
    INSERT INTO client_credentials (client_id, entity_id, name, scopes, secret_hash)
    SELECT ${clientId}, ${entityId}, ${name}, ${scopes}, ${hashOf(trx.keyring, client)}
    WHERE (SELECT count(*) FROM client_credentials
           WHERE entity_id = ${entityId} AND disabled_at IS NULL) < ${CLIENTS_MAX}
    ON CONFLICT DO NOTHING RETURNING ${raw(LISTED)}`;
}

/**
 * Gives an entity one more client; undefined for an unknown entity.
 *
 * @throws OperatorError where the name is taken, or there are too many
 */
export async function addClient(
  trx: Transaction,
  by: Actor,
  wanted: Pick<ListedClient, 'entityId' | 'name' | 'scopes'>,
): Promise<(ListedClient & { clientSecret: string }) | undefined> {
  const { entityId, name, scopes } = wanted;
  // The second of two at the same time counts the first.
  if (!(await lockEntity(trx, entityId))) return undefined;
  const clientSecret = newClientSecret();
  const adding = insertClient(trx, { ...wanted, clientId: newId('client'), clientSecret });
  const added = await act(trx, by, adding, ({ clientId }) => ({
    action: 'client.added',
    entityId,
    after: { clientId, name, scopes },
  }));
  if (added) return { ...added, clientSecret };
  throw new OperatorError(
    `${entityId} has a client "${name}", or ${CLIENTS_MAX}, the most there may be: give another name, or disable one`,
  );
}

/** Oldest first: the first came with the entity. */
export async function listClients(db: Executor, entityId: string): Promise<ListedClient[]> {
  return db.rows<ListedClient>`
    SELECT ${raw(LISTED)} FROM client_credentials WHERE entity_id = ${entityId} ORDER BY created_at, client_id`;
}

export async function findClient(db: Executor, clientId: string): Promise<ListedClient | undefined> {
  return db.row<ListedClient>`SELECT ${raw(LISTED)} FROM client_credentials WHERE client_id = ${clientId}`;
}

/** Ends a client for good, once; undefined for an unknown one. */
export async function disableClient(
  trx: Transaction,
  by: Actor,
  clientId: string,
): Promise<ListedClient | undefined> {
  const change = trx.row<ListedClient>`
    UPDATE client_credentials SET disabled_at = clock_timestamp()
    WHERE client_id = ${clientId} AND disabled_at IS NULL RETURNING ${raw(LISTED)}`;
  const ended = await act(trx, by, change, ({ entityId }) => ({
    action: 'client.disabled',
    entityId,
    after: { clientId },
  }));
  return ended ?? findClient(trx, clientId);
}

/** An unproved client id and secret. */
export interface Claim {
  clientId: string;
  clientSecret: string;
}

/**
 * Returns the active entity of each valid claim, undefined for any other. One statement serves any
 * number of claims. An unknown client takes the same query, hash and comparisons as a wrong secret,
 * so the time tells nothing.
 */
export async function authenticateClients(db: Executor, claims: Claim[]): Promise<(Client | undefined)[]> {
  const clientIds = [...new Set(claims.map(({ clientId }) => clientId))];
  const found = await db.rows<
    Omit<Client, 'olderHash'> & { active: boolean; hash: Buffer; previousHash: Buffer | null }
  >`
    SELECT c.client_id, e.id AS entity_id, e.type AS role, e.provider_id, c.scopes,
           e.status = 'active' AND c.disabled_at IS NULL AS active, c.secret_hash AS hash, e.token_generation,
           CASE WHEN c.previous_secret_until > clock_timestamp() THEN c.previous_secret_hash END AS previous_hash
    FROM client_credentials c JOIN entities e ON e.id = c.entity_id
    WHERE c.client_id = ANY(${clientIds})`;
  const byId = new Map(found.map((client) => [client.clientId, client]));
  return claims.map(({ clientId, clientSecret }) => {
    const client = byId.get(clientId);
    const claimed = { clientId, clientSecret, entityId: client?.entityId ?? '' };
    const isHashed = (stored: Buffer | null | undefined) => isHashOf(db.keyring, claimed, stored);
    const [current, previous] = [isHashed(client?.hash), isHashed(client?.previousHash)];
    if (!client?.active || !(current || previous)) return undefined;
    const { active: _, hash, previousHash, ...proven } = client;
    const used = current ? hash : previousHash;
    const olderHash = used && keyIdOf(used) !== db.keyring.current ? used : undefined;
    return { ...proven, olderHash };
  });
}

/** Hashes a valid secret with the current key, with an audit event. */
export async function renewHash(
  trx: Transaction,
  by: Actor,
  { entityId, olderHash }: Client,
  claim: Claim,
): Promise<void> {
  const { clientId } = claim;
  // Two calls at the same time renew the hash once.
  const hash = hashOf(trx.keyring, { ...claim, entityId });
  const change = trx.row<object>`
    UPDATE client_credentials SET
      secret_hash = CASE secret_hash WHEN ${olderHash} THEN ${hash} ELSE secret_hash END,
      previous_secret_hash = CASE previous_secret_hash WHEN ${olderHash} THEN ${hash}
        ELSE previous_secret_hash END
    WHERE client_id = ${clientId} AND ${olderHash} IN (secret_hash, previous_secret_hash) RETURNING client_id`;
  const after = { clientId, kid: trx.keyring.current };
  await act(trx, by, change, () => ({ action: 'client_secret.rehashed', entityId, after }));
}

/** SQL: the key id of each hash of a secret that is still valid. A disabled client renews none. */
export const SECRET_KEYS = `
  SELECT ${keyIdIn('hash')} AS kid FROM client_credentials, LATERAL unnest(ARRAY[
    secret_hash, CASE WHEN previous_secret_until > clock_timestamp() THEN previous_secret_hash END]) AS hash
  WHERE hash IS NOT NULL AND disabled_at IS NULL`;

export async function olderSecrets(db: Executor): Promise<number> {
  const { count } = await db.oneRow<{ count: number }>`
    SELECT count(*)::int AS count FROM (${raw(SECRET_KEYS)}) AS keys WHERE kid <> ${db.keyring.current}`;
  return count;
}

/**
 * Puts a new secret in force. The previous secret stays valid for 24 h, or ends at once with
 * `endOld`.
 *
 * @throws OperatorError where the client is disabled
 */
export async function rotateClientSecret(
  trx: Transaction,
  by: Actor,
  { clientId, entityId }: Pick<ListedClient, 'clientId' | 'entityId'>,
  { endOld }: { endOld: boolean },
): Promise<string> {
  const clientSecret = newClientSecret();
  const change = trx.row<{ until: Date | null }>`
    UPDATE client_credentials SET secret_hash = ${hashOf(trx.keyring, { clientId, entityId, clientSecret })},
      previous_secret_hash = CASE WHEN NOT ${endOld}::boolean THEN secret_hash END,
      previous_secret_until = CASE
        WHEN NOT ${endOld}::boolean THEN clock_timestamp() + ${PREVIOUS_SECRET}::interval END
    WHERE client_id = ${clientId} AND disabled_at IS NULL RETURNING previous_secret_until AS until`;
  const rotated = await act(trx, by, change, ({ until }) => ({
    action: 'client_secret.rotated',
    entityId,
    after: { clientId, previousSecretValidUntil: until },
  }));
  if (rotated) return clientSecret;
  throw new OperatorError(`${clientId} is disabled for good: "assent client add" makes another`);
}

interface Secret extends Claim {
  entityId: string;
}

/** @param kid of a key that the keyring holds */
function hashOf(ring: Keyring, { clientId, entityId, clientSecret }: Secret, kid = ring.current): Buffer {
  const key = ring.derive(kid, 'client-secret', 32);
  if (key === undefined) throw new KeyringError(`ASSENT_KEYS lacks the key "${kid}"`);
  const mac = createHmac('sha256', key).update(`${entityId}:${clientId}:${clientSecret}`).digest();
  return Buffer.concat([keyPrefix(ring, kid), mac]);
}

/** Takes as long without a stored hash, or if the keyring lacks its key. */
function isHashOf(ring: Keyring, secret: Secret, stored: Buffer | null | undefined): boolean {
  const named = stored ? keyIdOf(stored) : ring.current;
  const kid = ring.keys.some((one) => one.kid === named && one.full) ? named : ring.current;
  const hash = hashOf(ring, secret, kid);
  return timingSafeEqual(hash, stored?.length === hash.length ? stored : Buffer.alloc(hash.length));
}
