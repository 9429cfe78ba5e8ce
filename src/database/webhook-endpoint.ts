import { randomBytes } from 'node:crypto';
import { row, type Executor } from './connection';
import type { Keyring } from './keyring';
import { open, seal, type SealedPlace } from './sealing';

/** Where an entity wants its webhooks, and the secrets that they are signed with. */
export interface WebhookEndpoint {
  /** Null: it takes none. */
  url: string | null;
}

export interface WebhookSecrets {
  current: string;
  /** The one before the last rotation, while it is still good. */
  previous?: string;
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

export async function findWebhookSecrets(
  db: Executor,
  ring: Keyring,
  entityId: string,
): Promise<WebhookSecrets | undefined> {
  const sealed = await row<{ current: Buffer; previous: Buffer | null }>(
    db,
    `SELECT secret_sealed AS current,
            CASE WHEN previous_secret_until > clock_timestamp() THEN previous_secret_sealed END AS previous
     FROM webhook_endpoints WHERE entity_id = :entityId`,
    { entityId },
  );
  if (sealed === undefined) return undefined;
  return {
    current: open(ring, sealed.current, placeOf(entityId)),
    ...(sealed.previous && { previous: open(ring, sealed.previous, placeOf(entityId)) }),
  };
}

/** Current and previous secret share their place: a rotation moves the sealed bytes as they are. */
function placeOf(entityId: string): SealedPlace {
  return `webhook_endpoints.secret:${entityId}`;
}
