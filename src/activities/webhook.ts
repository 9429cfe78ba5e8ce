import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config';
import type { Database } from '../database/connection';
import { resolveCredits, settleCredits } from '../database/customer/payment-credit';
import { KeyringError, type Keyring } from '../database/keys/keyring';
import {
  beginAttempt,
  claimUnattempted,
  deliveryToAttempt,
  handOver,
  openDelivery,
  recordAttempt,
  type DeliveryState,
  type DeliveryToAttempt,
  type OpenDelivery,
} from '../database/webhook/attempt';
import { awaitPlace, lastAttempt } from '../database/webhook/waiting';
import type { DeliveryStatus } from '../domain/lifecycle';
import { webhookRetryMs } from '../domain/retry';
import { workflowIds } from '../domain/workflow/workflow-id';
import { failureInWords, type WebhookType } from '../domain/webhook/webhook';
import { serviceSignature, standardWebhookSignature } from '../domain/webhook/webhook-signature';
import type { Relay } from '../temporal/relay';
import type { DeliveryProgress } from '../workflows/messages';
import { eachOf } from '../domain/each-of';
import type { SendOutcome, WebhookConnector } from './webhook-connector';
import { createWebhookLimiter, type AttemptKind } from './webhook-limiter';

/**
 * Sending webhooks.
 *
 * No billing waits for a receiver. What is announced is a committed row already; its first attempt
 * is made in passing, by the workflow whose work it tells of, within seconds that are bounded
 * however many receivers there are and however dead; and what that leaves undone goes on in
 * workflows and on a task queue of its own. Only Postgres being away is an error to the billing,
 * which could do nothing without it either.
 *
 * A body holds personal data and a URL may hold a secret, so the log gets neither: only ids, type
 * and outcome.
 */
export interface WebhookActivities {
  /**
   * Makes the first attempt of everything that this workflow announced, and hands to delivery
   * workflows what failed or would take too long. A local activity: takes 4 s at most, and costs
   * its workflow no wait beyond.
   */
  deliverFirstAttempts(workflowId: string): Promise<FirstAttempts>;
  /** The same, where what was announced is a question to a bank. */
  askBank(workflowId: string): Promise<FirstAttempts>;
  /** The same, where it is how something has ended. */
  tellMerchant(workflowId: string): Promise<FirstAttempts>;
  /**
   * Makes one attempt, unless the delivery has ended already, or its next one is due later. How
   * much later is in the answer.
   */
  attemptDelivery(deliveryId: string): Promise<AttemptResult>;
}

/** Makes the first attempt of each webhook that this workflow's work has announced. */
export type DeliverFirstAttempts = (workflowId: string) => Promise<FirstAttempts>;

interface FirstAttempts {
  delivered: number;
  /** Tried in vain, and gone on in a workflow of their own. */
  failed: number;
  /**
   * Not tried: too many, or their receiver is failing, or it or its owner has no place left. They
   * have a workflow of their own.
   */
  handedOver: number;
  /** The first of them: what went to whom, and at which attempt. */
  told: string[];
}

/** Enough for the banks of a call; of more the numbers say enough. */
const LINES_MAX = 10;

/** An attempt, as it is counted: of whom and to whom it was is nobody's concern there. */
export interface MeasuredAttempt extends Pick<SendOutcome, 'durationMs' | 'httpStatus' | 'error'> {
  webhookType: WebhookType;
  kind: AttemptKind;
  /** Of the delivery, after it. */
  status: DeliveryStatus;
}

export type AttemptResult =
  | { status: 'delivered'; attempts: number }
  | {
      status: 'failed';
      webhookType: WebhookType;
      attempts: number;
      /** Null where it had failed, or was withdrawn, before. */
      why: string | null;
    }
  | ({ status: 'pending' } & DeliveryProgress);

/** Makes an attempt as part of the trace at hand, whose headers it brings the receiver. */
export type TraceAttempt = (
  delivery: Pick<DeliveryToAttempt, 'id' | 'webhookType' | 'entityId' | 'attempts'>,
  send: (headers: Record<string, string>) => Promise<SendOutcome | undefined>,
) => Promise<SendOutcome | undefined>;

/**
 * Why no attempt was made: its receiver or owner has no place left, or the delivery is to be looked
 * at anew.
 */
type Unmade = 'no place' | 'not begun';

/** The same for whoever reads of its workflow. */
const UNMADE_WHY = 'no attempt could be begun';

/** A delivery after an attempt. */
interface Attempted extends DeliveryState {
  /** Why the attempt has failed; says nothing where it has not. */
  why: string;
}

/**
 * Longest first attempt: a receiver in good standing answers within it, and nobody notices
 * another's being slow.
 */
const FIRST_ATTEMPT_MS = 2_000;
/** After this long no first attempt is begun any more, so that all of them end within 4 s. */
const FIRST_ATTEMPTS_MS = 2_000;
/** Enabling a receiver signals its deliveries. This is for a signal that never came. */
const DISABLED_POLL_MS = 86_400_000;
/**
 * Beyond its attempt, what a worker has to write down what became of it, until another may make the
 * attempt.
 */
const RECORD_MS = 4_000;
/** How often it is asked whether what another worker has in hand is done. */
const IN_HAND_POLL_MS = 50;
/**
 * How many of a workflow's first attempts run at once: 100 healthy receivers are done in a fraction
 * of a second.
 */
const AT_ONCE = 10;

export function createWebhookActivities({
  db,
  keyring,
  config,
  connector,
  relay,
  log,
  measure,
  trace = (_delivery, sendWith) => sendWith({}),
}: {
  db: Database;
  keyring: Keyring;
  config: Pick<Config, 'NETWORK_TIMEZONE' | 'WEBHOOK_RETRY_S' | 'WEBHOOK_TIMEOUT_S'>;
  connector: WebhookConnector;
  relay: Pick<Relay, 'kick'>;
  log: Pick<Logger, 'info' | 'warn'>;
  measure: (attempt: MeasuredAttempt) => void;
  /** Left out where nothing is traced. */
  trace?: TraceAttempt | undefined;
}): WebhookActivities {
  const limiter = createWebhookLimiter(() => performance.now());
  const timeoutMs = config.WEBHOOK_TIMEOUT_S * 1000;
  const firstAttemptMs = Math.min(FIRST_ATTEMPT_MS, timeoutMs);
  const maxAttempts = config.WEBHOOK_RETRY_S.length + 1;

  /** The table of retries begins anew with each wish to have the delivery once more. */
  function retryInMs({
    attempts,
    earlierAttempts,
  }: Pick<DeliveryState, 'attempts' | 'earlierAttempts'>): number {
    return webhookRetryMs(config.WEBHOOK_RETRY_S, attempts - earlierAttempts, Math.random()) ?? 0;
  }

  /** One request and its record. */
  async function attempt(
    delivery: DeliveryToAttempt & { prompt?: boolean },
    kind: AttemptKind,
    withinMs: number,
  ): Promise<Attempted | Unmade> {
    const n = delivery.attempts + 1;
    // What a workflow sends was counted as sent when it was claimed.
    let begun = kind === 'first';
    const outcome = await send(delivery, kind, {
      timeoutMs: withinMs,
      ...(kind === 'retry' && {
        begin: async () => {
          begun = await beginAttempt(db, delivery, withinMs + RECORD_MS);
          return begun;
        },
      }),
    });
    if (typeof outcome === 'string') return outcome;
    const state = await recordAttempt(
      db,
      keyring,
      { deliveryId: delivery.id, n, begun, nextAttemptAt: delivery.nextAttemptAt, ...outcome },
      {
        maxAttempts: delivery.onlyOnce ? 1 : maxAttempts,
        retryInMs: retryInMs({ ...delivery, attempts: n }),
      },
    );
    log.info(
      {
        deliveryId: delivery.id,
        webhookType: delivery.webhookType,
        entityId: delivery.entityId,
        attempts: state.attempts,
        httpStatus: outcome.httpStatus,
        reached: outcome.reached,
        error: outcome.error,
        durationMs: outcome.durationMs,
        status: state.status,
      },
      'webhook attempt',
    );
    if (state.status === 'delivered') await settleIfCredit(delivery, kind);
    const { webhookType } = delivery;
    measure({ ...outcome, webhookType, kind, status: state.status });
    return { ...state, why: failureInWords(outcome) };
  }

  /** Of a payment between customers, the payee's bank has been told at last. */
  async function settleIfCredit({ id, webhookType }: DeliveryToAttempt, kind: AttemptKind): Promise<void> {
    if (webhookType !== 'billing.credit') return;
    const zone = config.NETWORK_TIMEZONE;
    if (kind === 'first') {
      // It may be late as well: nobody attempted anything while the workers were down. The workflow
      // reads what became of it.
      await db.transaction((trx) => resolveCredits(trx, keyring, zone, { deliveryIds: [id] }));
      return;
    }
    await db.transaction((trx) => settleCredits(trx, keyring, zone, { deliveryIds: [id] }));
    relay.kick();
  }

  async function send(
    delivery: DeliveryToAttempt & { prompt?: boolean },
    kind: AttemptKind,
    options: { timeoutMs: number; begin?: () => Promise<boolean> },
  ): Promise<SendOutcome | Unmade> {
    if (delivery.url === null) {
      return { durationMs: 0, reached: 'no', httpStatus: null, error: 'no URL is set', responseHead: null };
    }
    const { url } = delivery;
    const place = limiter.enter(kind, { ...delivery, url });
    if (!place) return 'no place';
    try {
      const opened = openDelivery(keyring, delivery);
      const headers = webhookHeaders(delivery, opened, Math.floor(Date.now() / 1000));
      const outcome = await trace(delivery, (traced) =>
        connector.send(url, { ...headers, ...traced }, opened.body, options),
      );
      return outcome ?? 'not begun';
    } finally {
      place.leave();
    }
  }

  async function deliverFirstAttempts(workflowId: string): Promise<FirstAttempts> {
    const startedAt = performance.now();
    const late = () => performance.now() - startedAt >= FIRST_ATTEMPTS_MS;
    const leaseMs = FIRST_ATTEMPTS_MS + firstAttemptMs + RECORD_MS;
    const counts: FirstAttempts = { delivered: 0, failed: 0, handedOver: 0, told: [] };
    const note = (line: string) => counts.told.length < LINES_MAX && counts.told.push(line);
    const left = new Set<string>();
    const unsent = new Set<string>();

    for (let waitMs = IN_HAND_POLL_MS; ; waitMs *= 2) {
      const deliveries = await claimUnattempted(db, workflowId, leaseMs);
      for (const { id, failing, claimed, disabled } of deliveries) {
        // It was disabled between the claim and the reading.
        if (claimed && disabled) unsent.add(id);
        else if (failing && !claimed) left.add(id);
      }
      await eachOf(deliveries, AT_ONCE, async (delivery) => {
        if (!delivery.claimed || delivery.disabled) return;
        try {
          const state = late() ? 'not begun' : await attempt(delivery, 'first', firstAttemptMs);
          if (typeof state === 'string') {
            unsent.add(delivery.id);
            return;
          }
          const { webhookType, entityId } = delivery;
          if (state.status === 'delivered') {
            counts.delivered++;
            note(`${webhookType} delivered at attempt ${state.attempts} to ${entityId}.`);
          } else {
            counts.failed++;
            note(
              `${webhookType} failed at attempt ${state.attempts} (${state.why}) to ${entityId}: see ${workflowIds.webhookDelivery(delivery.id)}.`,
            );
          }
        } catch (error) {
          // Whatever is wrong with one delivery, its own workflow shows: here it would hold a
          // billing.
          log.warn({ err: error, deliveryId: delivery.id }, 'a first attempt could not be made');
          (error instanceof KeyringError ? unsent : left).add(delivery.id);
        }
      });
      const inHand = deliveries.filter(({ id, claimed }) => !claimed && !left.has(id) && !unsent.has(id));
      if (inHand.length === 0) break;
      // What another worker has in hand is recorded in a moment. If not, it may have died, and a
      // workflow takes over.
      if (late()) {
        for (const { id } of inHand) left.add(id);
        break;
      }
      await sleep(waitMs);
    }
    if (left.size + unsent.size > 0) {
      for (const id of [...left, ...unsent])
        note(`Not attempted yet: see ${workflowIds.webhookDelivery(id)}.`);
      counts.handedOver = await db.transaction((trx) =>
        handOver(trx, [...left, ...unsent], [...unsent], workflowId),
      );
    }
    if (counts.failed + counts.handedOver > 0) relay.kick();
    return counts;
  }

  return {
    deliverFirstAttempts,
    askBank: deliverFirstAttempts,
    tellMerchant: deliverFirstAttempts,

    async attemptDelivery(deliveryId) {
      const delivery = await deliveryToAttempt(db, deliveryId);
      if (!delivery) throw new Error(`there is no delivery ${deliveryId}`);
      const { webhookType } = delivery;
      if (delivery.status !== 'pending') {
        // Its process may have died between the record and this.
        const { status, attempts } = delivery;
        if (status === 'failed') return { status, webhookType, attempts, why: null };
        await settleIfCredit(delivery, 'retry');
        return { status, attempts };
      }
      const later = (
        { attempts, earlierAttempts }: Pick<DeliveryState, 'attempts' | 'earlierAttempts'>,
        why: string,
        inMs: number,
      ) => ({
        status: 'pending' as const,
        webhookType,
        why,
        maxAttempts: earlierAttempts + maxAttempts,
        attempts,
        retryInMs: inMs,
      });
      if (delivery.disabled) return later(delivery, 'its receiver is disabled', DISABLED_POLL_MS);
      const { claimedForMs, notDueForMs } = delivery;
      if (claimedForMs > 0) return later(delivery, 'another worker attempts it', claimedForMs);
      if (notDueForMs > 0) {
        // Whatever woke its workflow, nobody has asked for an attempt.
        const why = delivery.attempts === 0 ? UNMADE_WHY : failureInWords(await lastAttempt(db, deliveryId));
        return later(delivery, why, notDueForMs);
      }
      // A first one that no workflow has made before is as quick; to an old URL there is no second.
      const isQuick = delivery.attempts === 0 && !delivery.failing && !delivery.onlyOnce;
      const state = await attempt(delivery, 'retry', isQuick ? firstAttemptMs : timeoutMs);
      if (typeof state === 'string') {
        const inMs = limiter.comeBackInMs({ ...delivery, url: delivery.url ?? '' }, timeoutMs);
        if (state === 'no place' && delivery.attempts === 0) await awaitPlace(db, delivery, inMs);
        return later(delivery, UNMADE_WHY, inMs);
      }
      const { status, attempts, why } = state;
      if (status === 'pending') return later(state, why, state.retryInMs);
      return status === 'failed' ? { status, webhookType, attempts, why } : { status, attempts };
    },
  };
}

/** @param sentAtS seconds since 1970 */
function webhookHeaders(
  { id, webhookType }: DeliveryToAttempt,
  { body, secrets }: OpenDelivery,
  sentAtS: number,
): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Assent/1',
    'X-Service-Signature': serviceSignature(secrets[0], body),
    'X-Service-Event': webhookType,
    'X-Service-Delivery': id,
    'webhook-id': id,
    'webhook-timestamp': String(sentAtS),
    'webhook-signature': standardWebhookSignature(secrets, id, sentAtS, body),
  };
}
