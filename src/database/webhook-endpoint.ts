import { randomBytes } from 'node:crypto';
import { row, type Executor } from './connection';
import type { Keyring } from './keyring';
import { open, seal, type SealedPlace } from './sealing';

/** Where an entity wants its webhooks, and the secrets that they are signed with. */
export interface WebhookEndpoint {
  /** Null: it takes none. */
  url: string | null;
}

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
    { entityId, url: url ?? null, secret: seal(ring, secret, placeOf(entityId)) },
  );
}

export async function findWebhookEndpoint(
  db: Executor,
  entityId: string,
): Promise<WebhookEndpoint | undefined> {
  return row<WebhookEndpoint>(db, `SELECT url FROM webhook_endpoints WHERE entity_id = :entityId`, {
    entityId,
  });
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
  const secret = open(ring, secretSealed, placeOf(entityId));
  return previousSecretSealed === null
    ? [secret]
    : [open(ring, previousSecretSealed, placeOf(entityId)), secret];
}

/** Current and previous secret share their place: a rotation moves the sealed bytes as they are. */
function placeOf(entityId: string): SealedPlace {
  return `webhook_endpoints.secret:${entityId}`;
}
