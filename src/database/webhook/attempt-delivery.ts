import type { DeliveryStatus } from '../../domain/lifecycle';
import { failureInWords, type Reached, type WebhookType } from '../../domain/webhook/webhook';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { shownPart } from '../shown-name';
import type { Database, Executor } from '../pool/connection';
import { raw, sql, type Fragment } from '../pool/statement';
import type { Keyring } from '../keyring/keyring';
import { enqueueStarts } from '../outbox';
import { decrypt, encrypt } from '../keyring/encrypt';
import { bodyPlace, deliveryStart, ownWorkflow, responseHeadPlace } from './announce-webhooks';
import { GOOD_SECRETS, KNOWN_SECRETS, secretPlace } from './change-endpoint';

/**
 * Attempts at webhooks: which worker makes them, and what became of them.
 *
 * The row says before an attempt's first byte that the webhook may have been sent (`sent`), and
 * until when no other worker sends it (`claimed_until`). So the end of a charge's window knows
 * whether its bank may have it, also where the process that sent it has died.
 *
 * A workflow claims all its webhooks by one statement, before it connects. Ten claims, each with a
 * commit and locks on its receiver, take three times as long. A retry claims once it is connected:
 * for a receiver that is away, or without a slot, it writes no claim.
 *
 * `next_attempt_at` says when the next attempt is due. A workflow that is woken before makes none.
 * A redelivery, or enabling the receiver, puts the present into it.
 */

/** A delivery as stored; `openDelivery` decrypts it. */
export interface DeliveryToAttempt {
  id: string;
  entityId: string;
  entityName: string;
  /** The provider of a provider's merchant, else the entity itself. */
  ownerId: string;
  webhookType: WebhookType;
  status: DeliveryStatus;
  attempts: number;
  /** Attempts before the latest redelivery. */
  earlierAttempts: number;
  /** The receiver's URL now, which may be another one than when it was announced. */
  url: string | null;
  /** The receiver's last attempt, of any delivery, has failed; or the receiver is disabled. */
  failing: boolean;
  disabled: boolean;
  /** It goes to the URL of before a change, and is not tried again. */
  onlyOnce: boolean;
  secretEncrypted: Buffer;
  /** All that sign it; at an old address, all that it may take for the receiver's secret. */
  secretsEncrypted: Buffer[];
  /** Until another worker has to have recorded its attempt; 0 where none makes one. */
  claimedForMs: number;
  notDueForMs: number;
  /** As Postgres writes it, for a Date is less exact. */
  nextAttemptAt: string | null;
  bodyEncrypted: Buffer;
}

interface OpenDelivery {
  body: string;
  /** During a rotation two, the old one first. A notice to an old endpoint may have more. */
  secrets: [string, ...string[]];
}

export interface Unattempted extends DeliveryToAttempt {
  /**
   * It is the caller's to attempt, and counted as sent. Otherwise its receiver is failing, or
   * another worker has it in hand.
   */
  claimed: boolean;
}

/** The result of sending a webhook. */
export interface SendOutcome {
  durationMs: number;
  /** `no` only where not a byte of the body can have left. */
  reached: Reached;
  /** Null without a response. */
  httpStatus: number | null;
  /** Null for a 2xx within the time; otherwise a line without an address: the receiver reads it. */
  error: string | null;
  /** The first 1 KiB of the response's body. */
  responseHead: string | null;
}

export interface Attempt extends SendOutcome {
  deliveryId: string;
  /** Which attempt the sender took it for, counted from 1. */
  n: number;
  /** It was counted as sent. */
  begun: boolean;
  /** As it was read before the attempt; a redelivery has changed it since. */
  nextAttemptAt: string | null;
}

export interface DeliveryState {
  status: DeliveryStatus;
  attempts: number;
  earlierAttempts: number;
  /** Until the next attempt; 0 where it may come at once. */
  retryInMs: number;
}

/** Milliseconds until a moment; 0 where it is over, or none. */
const msUntil = (moment: string) =>
  `greatest(coalesce(ceil(extract(epoch FROM ${moment} - clock_timestamp()) * 1000), 0), 0)::float8`;

const TO_ATTEMPT = `d.id, d.entity_id, ${shownPart('e.name')} AS entity_name,
         coalesce(e.provider_id, e.id) AS owner_id, d.webhook_type, d.status, d.attempts,
         d.earlier_attempts, d.body_encrypted,
         coalesce(d.old_url, w.url) AS url, d.old_url IS NOT NULL AS only_once,
         w.failing_since IS NOT NULL OR e.status = 'disabled' AS failing, e.status = 'disabled' AS disabled,
         coalesce(d.old_secret_encrypted, w.secret_encrypted) AS secret_encrypted,
         CASE WHEN d.old_url IS NULL THEN ${GOOD_SECRETS}
              ELSE ARRAY[d.old_secret_encrypted] || ${KNOWN_SECRETS} END AS secrets_encrypted,
         ${msUntil('d.claimed_until')} AS claimed_for_ms,
         ${msUntil('d.next_attempt_at')} AS not_due_for_ms, d.next_attempt_at::text AS next_attempt_at`;
const DELIVERIES = `webhook_deliveries d JOIN webhook_endpoints w ON w.entity_id = d.entity_id
  JOIN entities e ON e.id = d.entity_id`;

const IS_FREE = raw('(claimed_until IS NULL OR claimed_until <= clock_timestamp())');
const claimFor = (leaseMs: number) =>
  sql`sent = sent + 1, claimed_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'`;

const unattempted = (d: Fragment, workflowId: string, types: readonly WebhookType[]) =>
  sql`${d}.workflow_id = ${workflowId} AND ${d}.status = 'pending' AND ${d}.attempts = 0
  AND ${d}.webhook_type = ANY(${types})`;

/**
 * A workflow's announcements of the types without an attempt, oldest first.
 *
 * One statement claims them all and counts them as sent, so that a charge waits for the disk once.
 * Body and URL are read after it. So a change of the receiver either sees the claim
 * (`attemptsUnderWay`), or is seen by the reading.
 */
export async function claimUnattempted(
  db: Executor,
  workflowId: string,
  leaseMs: number,
  types: readonly WebhookType[],
): Promise<Unattempted[]> {
  const claimed = await db.rows<{ id: string }>`
    UPDATE webhook_deliveries c SET ${claimFor(leaseMs)}
    FROM webhook_endpoints w JOIN entities e ON e.id = w.entity_id
    WHERE ${unattempted(sql`c`, workflowId, types)} AND w.entity_id = c.entity_id
      AND w.failing_since IS NULL AND e.status <> 'disabled' AND ${IS_FREE}
    RETURNING c.id`;
  const own = new Set(claimed.map(({ id }) => id));
  const found = await db.rows<DeliveryToAttempt>`
    SELECT ${raw(TO_ATTEMPT)} FROM ${raw(DELIVERIES)} WHERE ${unattempted(sql`d`, workflowId, types)}
    ORDER BY d.event_id`;
  return found.map((one) => ({ ...one, claimed: own.has(one.id) }));
}

/** A receiver that responds, or refuses, within this time holds nothing up. */
const PROMPT_MS = 1_000;

interface DeliveryToRetry extends DeliveryToAttempt {
  /** Its receiver was prompt at the last attempt: at this delivery, if the receiver is failing. */
  prompt: boolean;
  /** The last attempt, where there was one. */
  last: { httpStatus: number | null; error: string | null } | null;
}

export async function deliveryToAttempt(
  db: Executor,
  deliveryId: string,
): Promise<DeliveryToRetry | undefined> {
  return db.row<DeliveryToRetry>`
    SELECT ${raw(TO_ATTEMPT)},
      CASE WHEN a.n IS NOT NULL THEN jsonb_build_object('httpStatus', a.http_status, 'error',
      a.error) END AS last,
      d.old_url IS NULL AND (w.failing_since IS NULL
        OR coalesce(a.duration_ms < ${raw(PROMPT_MS)}, false)) AS prompt
    FROM ${raw(DELIVERIES)} LEFT JOIN webhook_attempts a ON a.delivery_id = d.id AND a.n = d.attempts
    WHERE d.id = ${deliveryId}`;
}

/**
 * Notes when a webhook without a slot is to have its first attempt. A redelivery that came
 * meanwhile stands; so does an attempt that another worker makes.
 *
 * A retry without a slot keeps its row, so that its delay shows.
 */
export async function awaitSlot(
  db: Executor,
  { id, nextAttemptAt }: Pick<DeliveryToAttempt, 'id' | 'nextAttemptAt'>,
  inMs: number,
): Promise<void> {
  await db.rows`
    UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp() + ${inMs} * interval '1 millisecond'
    WHERE id = ${id} AND status = 'pending' AND attempts = 0
      AND next_attempt_at::text IS NOT DISTINCT FROM ${nextAttemptAt}::text AND ${IS_FREE}`;
}

/**
 * Counts an attempt as sent, just before it is. False where it is not to be made: the delivery has
 * ended or is another worker's, its receiver is disabled, or its URL, secret or body is no longer
 * as it was read.
 *
 * Receiver and endpoint are locked with it. So a change of them comes before, and is seen here, or
 * comes after, and sees the attempt (`attemptsUnderWay`).
 */
export async function beginDeliveryAttempt(
  db: Executor,
  delivery: Pick<DeliveryToAttempt, 'id' | 'attempts' | 'url' | 'bodyEncrypted' | 'secretEncrypted'>,
  leaseMs: number,
): Promise<boolean> {
  const { id, attempts, url, bodyEncrypted, secretEncrypted } = delivery;
  const begun = await db.rows`
    WITH open AS MATERIALIZED (
      SELECT d.id FROM ${raw(DELIVERIES)}
      WHERE d.id = ${id} AND d.status = 'pending' AND d.attempts = ${attempts}::int
        AND ${IS_FREE} AND e.status <> 'disabled'
        AND coalesce(d.old_url, w.url) = ${url} AND d.body_encrypted = ${bodyEncrypted}
        AND coalesce(d.old_secret_encrypted, w.secret_encrypted) = ${secretEncrypted}
      FOR SHARE OF e FOR NO KEY UPDATE OF d FOR SHARE OF w
    )
    UPDATE webhook_deliveries d SET ${claimFor(leaseMs)}
    FROM open WHERE d.id = open.id RETURNING d.id`;
  return begun.length > 0;
}

interface AttemptUnderWay {
  deliveryId: string;
  /** When it is recorded or given up; Postgres' text, for a Date is less exact. */
  until: string;
}

/**
 * The attempts at an entity's webhooks that were begun and are not recorded. A caller that has
 * committed what keeps attempts from beginning finds here all that began before.
 */
export async function attemptsUnderWay(db: Executor, entityId: string): Promise<AttemptUnderWay[]> {
  return db.rows<AttemptUnderWay>`
    SELECT id AS delivery_id, claimed_until::text AS until FROM webhook_deliveries
    WHERE entity_id = ${entityId} AND status = 'pending' AND claimed_until > clock_timestamp()`;
}

export async function stillUnderWay(db: Executor, attempts: AttemptUnderWay[]): Promise<number> {
  const deliveryIds = attempts.map(({ deliveryId }) => deliveryId);
  const ends = attempts.map(({ until }) => until);
  const { count } = await db.oneRow<{ count: number }>`
    SELECT count(*)::int AS count
    FROM unnest(${deliveryIds}::text[], ${ends}::timestamptz[]) AS a (id, until)
    JOIN webhook_deliveries d ON d.id = a.id
    WHERE d.claimed_until = a.until AND a.until > clock_timestamp()`;
  return count;
}

/** @throws KeyringError where the ring lacks a key that the body or a secret was encrypted with */
export function openDelivery(keyring: Keyring, delivery: DeliveryToAttempt): OpenDelivery {
  const { id, entityId, bodyEncrypted, secretsEncrypted } = delivery;
  const secrets = secretsEncrypted.map((one) => decrypt(keyring, one, secretPlace(entityId)));
  return {
    body: decrypt(keyring, bodyEncrypted, bodyPlace(id)),
    secrets: [...new Set(secrets)] as OpenDelivery['secrets'],
  };
}

/**
 * Records an attempt and what follows from it: the delivery's status, and whether the receiver
 * counts as failing. Returns how the delivery stands then.
 *
 * A lease may end before its worker has recorded the attempt, and another worker attempts the same.
 * The first failure of an n-th attempt counts. A success always counts, as does an attempt that
 * sent nothing.
 *
 * A delivery asked for again meanwhile, with all attempts earlier ones, stays pending and due.
 * After a failed first attempt the same transaction starts a workflow of the delivery's own.
 *
 * @param policy.maxAttempts the failed attempt with this number ends the delivery, as does a 410;
 *   counted from when it was announced or last asked for again
 */
export async function recordAttempt(
  db: Database,
  attempt: Attempt,
  policy: { maxAttempts: number; retryInMs: number },
): Promise<DeliveryState> {
  const { deliveryId, n } = attempt;
  // A success, as most attempts are, needs no transaction's round trips.
  if (attempt.error === null) return insertAttempt(db, attempt, policy);
  return db.transaction(async (trx) => {
    const recorded = await insertAttempt(trx, attempt, policy);
    const { entityId, webhookType, workflowId, counted, ...state } = recorded;
    if (
      counted &&
      n === 1 &&
      state.status === 'pending' &&
      workflowId !== workflowIds.webhookDelivery(deliveryId)
    ) {
      const why = failureInWords(attempt);
      const { maxAttempts } = policy;
      const { attempts, retryInMs } = state;
      const progress = { webhookType, why, attempts, maxAttempts, retryInMs };
      await enqueueStarts(trx, [deliveryStart([deliveryId, progress], { entityId, webhookType })]);
    }
    return state;
  });
}

interface Recorded extends DeliveryState {
  entityId: string;
  webhookType: WebhookType;
  workflowId: string;
  counted: boolean;
}

function insertAttempt(
  db: Executor,
  { responseHead, ...attempt }: Attempt,
  policy: { maxAttempts: number; retryInMs: number },
): Promise<Recorded> {
  const place = responseHeadPlace(attempt.deliveryId, attempt.n);
  const headEncrypted = responseHead === null ? null : encrypt(db.keyring, responseHead, place);
  const bound = { ...attempt, ...policy, headEncrypted, delivered: attempt.error === null };
  return db.oneRow<Recorded>`
    WITH delivery AS MATERIALIZED (
      SELECT *, status = 'pending' AND earlier_attempts = attempts AND next_attempt_at <= clock_timestamp()
          AND next_attempt_at::text IS DISTINCT FROM ${bound.nextAttemptAt}::text AS asked
      FROM webhook_deliveries WHERE id = ${bound.deliveryId} FOR UPDATE
    ), attempt AS (
      INSERT INTO webhook_attempts (delivery_id, n, duration_ms, http_status, error, response_head_encrypted,
      reached)
      SELECT id, attempts + 1, ${bound.durationMs}, ${bound.httpStatus}, ${bound.error},
        -- Under another number it would not open.
        CASE WHEN attempts = ${bound.n}::int - 1 THEN ${bound.headEncrypted}::bytea END, ${bound.reached}
        FROM delivery
      WHERE ${bound.delivered}::boolean OR (status = 'pending' AND attempts = ${bound.n}::int - 1)
      RETURNING delivery_id, n
    ), outcome AS (
      SELECT id, n, CASE WHEN asked THEN 'pending'
                         WHEN ${bound.delivered}::boolean THEN 'delivered'
                         WHEN ${bound.httpStatus}::int IS NOT DISTINCT FROM 410
                           OR n - earlier_attempts >= ${bound.maxAttempts}::int THEN 'failed'
                         ELSE 'pending' END AS status
      FROM delivery, attempt
    ), advanced AS (
      UPDATE webhook_deliveries d
      SET attempts = coalesce(o.n, d.attempts), status = coalesce(o.status, d.status), claimed_until = NULL,
          finished_at = CASE WHEN coalesce(o.status, d.status) = d.status THEN d.finished_at
            ELSE clock_timestamp() END,
          workflow_id = CASE WHEN o.status = 'pending' THEN ${raw(ownWorkflow('d.id'))}
            ELSE d.workflow_id END,
          sent = d.sent - CASE WHEN ${bound.begun}::boolean AND ${bound.reached}::text = 'no' THEN 1
            ELSE 0 END,
          earlier_attempts = CASE WHEN asked THEN coalesce(o.n, d.attempts) ELSE d.earlier_attempts END,
          next_attempt_at = CASE WHEN o.status = 'pending' AND NOT asked
                                 THEN clock_timestamp() + ${bound.retryInMs} * interval '1 millisecond'
                                   ELSE d.next_attempt_at END
      FROM delivery LEFT JOIN outcome o ON true WHERE d.id = delivery.id
      RETURNING d.earlier_attempts, d.next_attempt_at
    ), endpoint AS (
      UPDATE webhook_endpoints w
      SET failing_since = CASE WHEN NOT ${bound.delivered}::boolean THEN clock_timestamp() END
      FROM delivery, attempt
      WHERE w.entity_id = delivery.entity_id AND (w.failing_since IS NULL) <> ${bound.delivered}::boolean
        -- How the old endpoint fares says nothing of the new one.
        AND delivery.old_url IS NULL
    )
    SELECT d.entity_id, d.webhook_type, d.workflow_id, o.id IS NOT NULL AS counted,
           coalesce(o.status, d.status) AS status, coalesce(o.n, d.attempts) AS attempts,
           a.earlier_attempts, ${raw(msUntil('a.next_attempt_at'))} AS retry_in_ms
    FROM delivery d CROSS JOIN advanced a LEFT JOIN outcome o ON true`;
}

/**
 * Gives deliveries without an attempt a workflow of their own; returns how many there were.
 *
 * @param left by id, whether the caller had claimed it and has not sent it
 */
export async function handOver(
  trx: Executor,
  left: ReadonlyMap<string, boolean>,
  workflowId: string,
): Promise<number> {
  const deliveryIds = [...left.keys()];
  const unsent = deliveryIds.filter((id) => left.get(id));
  const handed = await trx.rows<{ id: string; entityId: string; webhookType: WebhookType }>`
    UPDATE webhook_deliveries SET workflow_id = ${raw(ownWorkflow('id'))},
      sent = sent - CASE WHEN id = ANY(${unsent}) THEN 1 ELSE 0 END,
      claimed_until = CASE WHEN id = ANY(${unsent}) THEN NULL ELSE claimed_until END
    WHERE id IN (SELECT id FROM webhook_deliveries
                 WHERE id = ANY(${deliveryIds}) AND workflow_id = ${workflowId} AND status = 'pending'
                   AND attempts = 0
                 ORDER BY id FOR UPDATE)
    RETURNING id, entity_id, webhook_type`;
  await enqueueStarts(
    trx,
    handed.map((one) => deliveryStart([one.id], one)),
  );
  return handed.length;
}
