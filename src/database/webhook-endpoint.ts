import { randomBytes } from 'node:crypto';
import { recordAct, type Actor } from './audit';
import { row, type Executor, type Transaction } from './connection';
import type { Keyring } from './keyring';
import { open, seal, type SealedPlace } from './sealing';

/** Where an entity wants its webhooks, and the secrets that they are signed with. */

/** `whsec_` and 32 random bytes in base64, the form that Standard Webhooks libraries take. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

export async function insertWebhookEndpoint(
  trx: Executor,
  ring: Keyring,
  endpoint: { entityId: string; url: string | undefined; secret: string },
): Promise<void> {
  const { entityId, url, secret } = endpoint;
  await row(
    trx,
    `INSERT INTO webhook_endpoints (entity_id, url, secret_sealed) VALUES (:entityId, :url, :secret)`,
    { entityId, url: url ?? null, secret: seal(ring, secret, secretPlace(entityId)) },
  );
}

/** @returns null where it takes none */
export async function findWebhookUrl(db: Executor, entityId: string): Promise<string | null> {
  const endpoint = await row<{ url: string | null }>(
    db,
    `SELECT url FROM webhook_endpoints WHERE entity_id = :entityId`,
    { entityId },
  );
  return endpoint?.url ?? null;
}

/** The same, until the transaction ends nobody else's to change; undefined for an unknown entity. */
export async function lockWebhookUrl(
  trx: Transaction,
  entityId: string,
): Promise<{ url: string | null } | undefined> {
  return row<{ url: string | null }>(
    trx,
    `SELECT url FROM webhook_endpoints WHERE entity_id = :entityId FOR NO KEY UPDATE`,
    { entityId },
  );
}

/** A new address starts in good standing. */
export async function setWebhookUrl(db: Executor, entityId: string, url: string | null): Promise<void> {
  await row(
    db,
    `UPDATE webhook_endpoints SET failing_since = CASE WHEN url IS NOT DISTINCT FROM :url THEN failing_since END,
       url = :url
     WHERE entity_id = :entityId`,
    { entityId, url },
  );
}

/** How long the old secret stays good after a rotation, so that a receiver can be given the new one meanwhile. */
const ROTATION = '24 hours';

/**
 * Puts a new secret beside the one in use, which stays good for 24 h from now; returns until when.
 *
 * During a rotation the secret that it began with stays the old one, and the new one is replaced: whoever asks
 * again has most likely not got the answer, and their receiver knows nothing but the old one.
 */
export async function rotateWebhookSecret(
  trx: Transaction,
  ring: Keyring,
  by: Actor,
  entityId: string,
  secret: string,
): Promise<Date> {
  const rotated = await row<{ until: Date }>(
    trx,
    `UPDATE webhook_endpoints
     SET previous_secret_sealed = CASE WHEN previous_secret_until > clock_timestamp()
                                       THEN previous_secret_sealed ELSE secret_sealed END,
         previous_secret_until = clock_timestamp() + :rotation::interval,
         secret_sealed = :secret
     WHERE entity_id = :entityId RETURNING previous_secret_until AS until`,
    { entityId, rotation: ROTATION, secret: seal(ring, secret, secretPlace(entityId)) },
  );
  if (!rotated) throw new Error(`${entityId} has no webhook endpoint row`);
  await recordAct(trx, by, {
    action: 'webhook_secret.rotated',
    entityId,
    before: null,
    after: { previousSecretValidUntil: rotated.until },
  });
  return rotated.until;
}

/** Puts a new secret in the place of all others, which are good no more. */
export async function replaceWebhookSecret(
  trx: Transaction,
  ring: Keyring,
  by: Actor,
  entityId: string,
  secret: string,
): Promise<null> {
  await row(
    trx,
    `UPDATE webhook_endpoints
     SET secret_sealed = :secret, previous_secret_sealed = NULL, previous_secret_until = NULL
     WHERE entity_id = :entityId`,
    { entityId, secret: seal(ring, secret, secretPlace(entityId)) },
  );
  await recordAct(trx, by, {
    action: 'webhook_secret.rotated',
    entityId,
    before: null,
    after: { previousSecretValidUntil: null },
  });
  return null;
}

/** From now on the new secret is good alone; without a rotation nothing changes. */
export async function finishSecretRotation(trx: Transaction, by: Actor, entityId: string): Promise<void> {
  await row(
    trx,
    `UPDATE webhook_endpoints SET previous_secret_sealed = NULL, previous_secret_until = NULL
     WHERE entity_id = :entityId`,
    { entityId },
  );
  await recordAct(trx, by, {
    action: 'webhook_secret.rotation_finished',
    entityId,
    before: null,
    after: { previousSecretValidUntil: null },
  });
}

/** The columns of `webhook_endpoints w` that `openWebhookSecrets` takes. */
export const SEALED_SECRETS = `w.secret_sealed AS "secretSealed",
  CASE WHEN w.previous_secret_until > clock_timestamp() THEN w.previous_secret_sealed END AS "previousSecretSealed"`;

export interface SealedSecrets {
  secretSealed: Buffer;
  /** The one before the last rotation, while it is still good. */
  previousSecretSealed: Buffer | null;
}

/**
 * The secrets good now, the old one first: until a rotation is finished, the network's own signature stays with
 * the old secret, and the standard one is made with both.
 */
export function openWebhookSecrets(
  ring: Keyring,
  entityId: string,
  { secretSealed, previousSecretSealed }: SealedSecrets,
): [string, ...string[]] {
  const secret = open(ring, secretSealed, secretPlace(entityId));
  return previousSecretSealed === null
    ? [secret]
    : [open(ring, previousSecretSealed, secretPlace(entityId)), secret];
}

/** Current and previous secret share their place: a rotation moves the sealed bytes as they are. */
export function secretPlace(entityId: string): SealedPlace {
  return `webhook_endpoints.secret:${entityId}`;
}
