import { randomBytes } from 'node:crypto';
import { act, type Actor } from '../record/audit-event';
import type { Executor, Transaction } from '../pool/connection';
import { sql } from '../pool/statement';
import { encrypt, type EncryptedPlace } from '../keyring/encrypt';

/** An entity's webhook URL, and the secrets that sign its webhooks. */

/** `whsec_` and 32 random bytes in base64, the form that Standard Webhooks libraries take. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

export async function insertWebhookEndpoint(
  trx: Executor,
  endpoint: { entityId: string; url: string | undefined; secret: string },
): Promise<void> {
  const { entityId, url, secret } = endpoint;
  await trx.row`
    INSERT INTO webhook_endpoints (entity_id, url, secret_encrypted)
    VALUES (${entityId}, ${url ?? null}, ${encrypt(trx.keyring, secret, secretPlace(entityId))})`;
}

/** Null where the entity takes no webhooks. */
export async function findWebhookUrl(db: Executor, entityId: string): Promise<string | null> {
  const endpoint = await db.row<{
    url: string | null;
  }>`SELECT url FROM webhook_endpoints WHERE entity_id = ${entityId}`;
  return endpoint?.url ?? null;
}

/** A new address starts in good standing. */
export function setWebhookUrl(
  db: Executor,
  entityId: string,
  url: string | null,
): Promise<object | undefined> {
  return db.row<object>`
    UPDATE webhook_endpoints SET failing_since = CASE WHEN url IS NOT DISTINCT
    FROM ${url} THEN failing_since END,
      url = ${url}
    WHERE entity_id = ${entityId} RETURNING entity_id`;
}

/** The old secret stays good for this long after a rotation. */
const ROTATION = '24 hours';
/**
 * A retired secret still signs the notice of a changed endpoint for this long: the receiver would
 * not believe a notice with a thief's secret alone. By then it has refused every webhook for three
 * days, which the receiver notices.
 */
const KEPT = '72 hours';
/**
 * Most that are kept of one entity, so that a notice stays short. The oldest stay: a thief that
 * rotates drives out none of the receiver's.
 */
const KEPT_MAX = 10;

const shownUntil =
  (action: `webhook_secret.${string}`, entityId: string) => (row: { until: Date | null }) => ({
    action,
    entityId,
    after: { previousSecretValidUntil: row.until },
  });

/**
 * Changes the secrets of an entity, and keeps the retired ones.
 *
 * The previous secret counts among the kept: a rotation may retire ten younger ones before it.
 *
 * @param set the assignments of an UPDATE, from the locked row `before`: the UPDATE's own row may
 *   be older
 */
function changeSecrets(
  trx: Transaction,
  entityId: string,
  set: ReturnType<typeof sql>,
): Promise<{ until: Date | null }> {
  return trx.oneRow<{ until: Date | null }>`
    WITH before AS MATERIALIZED (
      SELECT secret_encrypted AS secret, previous_secret_encrypted AS previous, previous_secret_until AS until,
        previous_secret_since AS since, previous_secret_until > clock_timestamp() AS is_rotating
      FROM webhook_endpoints WHERE entity_id = ${entityId} FOR NO KEY UPDATE
    ), after AS (
      UPDATE webhook_endpoints w SET ${set} FROM before WHERE w.entity_id = ${entityId}
      RETURNING w.secret_encrypted AS secret, w.previous_secret_encrypted AS previous,
        w.previous_secret_until AS until, w.previous_secret_since AS since
    ), retired AS (
      INSERT INTO retired_webhook_secrets (entity_id, secret_encrypted, replaced_at, retired_at)
      SELECT ${entityId}, old.secret, old.replaced_at, old.retired_at
      FROM before, after, LATERAL (VALUES
        (before.secret, clock_timestamp(), clock_timestamp()),
        (before.previous, before.since, least(before.until, clock_timestamp()))
      ) AS old (secret, replaced_at, retired_at)
      WHERE old.secret NOT IN (after.secret, coalesce(after.previous, after.secret))
        AND old.retired_at > clock_timestamp() - ${KEPT}::interval
        AND (SELECT count(*) FROM (
          SELECT r.replaced_at FROM retired_webhook_secrets r
          WHERE r.entity_id = ${entityId} AND r.retired_at > clock_timestamp() - ${KEPT}::interval
          UNION ALL SELECT after.since
        ) AS known WHERE known.replaced_at < old.replaced_at) < ${KEPT_MAX}
    )
    SELECT until FROM after`;
}

/**
 * Puts a new secret beside the current secret, which stays good for 24 h; returns until when.
 *
 * The secret that a rotation began with stays the previous secret. A caller that asks again has
 * most likely lost the response, and its receiver knows that secret alone.
 */
export async function rotateWebhookSecret(
  trx: Transaction,
  by: Actor,
  entityId: string,
  secret: string,
): Promise<Date> {
  const set = sql`
     previous_secret_encrypted = CASE WHEN before.is_rotating THEN before.previous ELSE before.secret END,
     previous_secret_since = CASE WHEN before.is_rotating THEN before.since ELSE clock_timestamp() END,
     previous_secret_until = clock_timestamp() + ${ROTATION}::interval,
     secret_encrypted = ${encrypt(trx.keyring, secret, secretPlace(entityId))}`;
  const change = changeSecrets(trx, entityId, set);
  const rotated = await act(trx, by, change, shownUntil('webhook_secret.rotated', entityId));
  if (!rotated?.until) throw new Error(`the rotation of ${entityId} has no end`);
  return rotated.until;
}

/** Puts a new secret in the place of all others, which have leaked and are good for nothing. */
export async function replaceWebhookSecret(
  trx: Transaction,
  by: Actor,
  entityId: string,
  secret: string,
): Promise<null> {
  const change = trx.row<{ until: null }>`
    WITH forgotten AS (DELETE FROM retired_webhook_secrets WHERE entity_id = ${entityId})
    UPDATE webhook_endpoints
    SET secret_encrypted = ${encrypt(trx.keyring, secret, secretPlace(entityId))},
      previous_secret_encrypted = NULL, previous_secret_since = NULL, previous_secret_until = NULL
    WHERE entity_id = ${entityId} RETURNING previous_secret_until AS until`;
  await act(trx, by, change, shownUntil('webhook_secret.rotated', entityId));
  return null;
}

/** Makes the new secret good alone; without a rotation nothing changes. */
export async function finishSecretRotation(trx: Transaction, by: Actor, entityId: string): Promise<void> {
  const set = sql`
    previous_secret_encrypted = NULL, previous_secret_since = NULL, previous_secret_until = NULL`;
  const change = changeSecrets(trx, entityId, set);
  await act(trx, by, change, shownUntil('webhook_secret.rotation_finished', entityId));
}

/** Few rows: an entity retires at most ten secrets in three days. */
export async function forgetRetiredSecrets(db: Executor): Promise<void> {
  await db.row`
    DELETE FROM retired_webhook_secrets WHERE retired_at <= clock_timestamp() - ${KEPT}::interval`;
}

/**
 * SQL: the secrets of `webhook_endpoints w` that are good now, the old one first: it signs until a
 * rotation is finished.
 */
export const GOOD_SECRETS = `array_remove(ARRAY[
    CASE WHEN w.previous_secret_until > clock_timestamp() THEN w.previous_secret_encrypted END,
    w.secret_encrypted], NULL)`;

/** SQL: all kept secrets of `webhook_endpoints w`; its receiver has known the first longest. */
export const KNOWN_SECRETS = `(ARRAY(
    SELECT secret FROM (
      SELECT r.secret_encrypted, r.replaced_at FROM retired_webhook_secrets r
      WHERE r.entity_id = w.entity_id AND r.retired_at > clock_timestamp() - interval '${KEPT}'
      UNION ALL SELECT w.previous_secret_encrypted, w.previous_secret_since
      WHERE w.previous_secret_until > clock_timestamp() - interval '${KEPT}'
    ) AS replaced (secret, at) ORDER BY at) || w.secret_encrypted)`;

/** Current and previous secret share their place: a rotation moves the encrypted bytes. */
export function secretPlace(entityId: string): EncryptedPlace {
  return `webhook_endpoints.secret:${entityId}`;
}
