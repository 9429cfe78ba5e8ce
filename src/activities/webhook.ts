import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../settings/config';
import type { Database } from '../database/pool/connection';
import { resolveCredits, settleCredits } from '../database/credit/follow-credit';
import { KeyringError } from '../database/keyring/keyring';
import {
  awaitSlot,
  beginDeliveryAttempt,
  claimUnattempted,
  deliveryToAttempt,
  handOver,
  openDelivery,
  recordAttempt,
  type DeliveryState,
  type DeliveryToAttempt,
  type SendOutcome,
  type Unattempted,
} from '../database/webhook/attempt-delivery';
import type { DeliveryStatus } from '../domain/lifecycle';
import { webhookRetryMs } from '../domain/webhook/webhook-retry';
import { workflowIds } from '../domain/workflow/workflow-id';
import { failureInWords, type WebhookType } from '../domain/webhook/webhook';
import { webhookHeaders } from '../domain/webhook/webhook-signature';
import type { DeliveryProgress } from '../domain/workflow/messages';
import { eachOf } from '../domain/each-of';
import type { WebhookConnector } from './webhook-connector';
import { createWebhookLimiter, type AttemptKind } from './webhook-limiter';

/**
 * Sending webhooks.
 *
 * No billing waits for a receiver. The workflow whose work a webhook tells of makes its first
 * attempt, within seconds that are bounded however many receivers are dead. The rest goes on in
 * workflows and on a task queue of its own.
 *
 * A body holds personal data and a URL may hold a secret, so the log gets neither.
 */
export interface WebhookActivities {
  /**
   * Makes the first attempts of this workflow's webhooks of the given types. Delivery workflows get
   * the webhooks that failed or would take too long. A local activity: takes 4 s at most.
   */
  deliverFirstAttempts: DeliverFirstAttempts;
  /** The same, for a question to a bank. */
  askBank: DeliverFirstAttempts;
  /** The same for an end, which the merchant and other parties must know. */
  tellMerchant: DeliverFirstAttempts;
  /** Makes one attempt, unless the delivery has ended, or its next attempt is due later. */
  attemptDelivery(deliveryId: string): Promise<AttemptResult>;
}

export type DeliverFirstAttempts = (
  workflowId: string,
  types: readonly WebhookType[],
) => Promise<FirstAttempts>;

interface FirstAttempts {
  delivered: number;
  /** Attempted in vain, and gone on in a workflow of their own. */
  failed: number;
  /** Not attempted, and gone on in a workflow of their own. */
  handedOver: number;
  /** The first of them: what went to which receiver, and at which attempt. */
  told: string[];
}

/** Enough for the banks of a call; the counts say the rest. */
const LINES_MAX = 10;

/** An attempt as it is counted: without its receiver. */
export interface MeasuredAttempt extends Pick<SendOutcome, 'durationMs' | 'httpStatus' | 'error'> {
  webhookType: WebhookType;
  kind: AttemptKind;
  /** The delivery's, after the attempt. */
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

/** No attempt was made: no slot was left, or the row was no longer as it had been read. */
type Unmade = 'no slot' | 'not begun';

const UNMADE_WHY = 'no attempt could be begun';

/** A delivery after an attempt; pending, though it arrived, where it was asked for again. */
type Attempted = DeliveryState & { arrived: boolean; why: string };

/** Longest first attempt: no billing is to notice a slow receiver. */
const FIRST_ATTEMPT_MS = 2_000;
/** After this long no first attempt is begun, so that all of them end within 4 s. */
const FIRST_ATTEMPTS_MS = 2_000;
/** Enabling a receiver signals its deliveries. This is for a signal that was lost. */
const DISABLED_POLL_MS = 86_400_000;
/** Beyond its attempt, a worker's time to record it before another may attempt the same. */
const RECORD_MS = 4_000;
const IN_HAND_POLL_MS = 50;
/** First attempts of a workflow at once: 100 healthy receivers take a fraction of a second. */
const AT_ONCE = 10;

interface Sending {
  db: Database;
  config: Pick<Config, 'WEBHOOK_RETRY_S' | 'WEBHOOK_TIMEOUT_S'>;
  connector: WebhookConnector;
  log: Pick<Logger, 'info' | 'warn'>;
  measure: (attempt: MeasuredAttempt) => void;
  trace?: TraceAttempt | undefined;
}

/** Sends a delivery, if there is a slot for it and its attempt can be begun. */
function createSend(
  { db, connector, trace = (_delivery, sendWith) => sendWith({}) }: Sending,
  limiter: ReturnType<typeof createWebhookLimiter>,
) {
  return async (
    delivery: DeliveryToAttempt & { prompt?: boolean },
    kind: AttemptKind,
    options: { timeoutMs: number; begin?: () => Promise<boolean> },
  ): Promise<SendOutcome | Unmade> => {
    if (delivery.url === null) {
      return { durationMs: 0, reached: 'no', httpStatus: null, error: 'no URL is set', responseHead: null };
    }
    const { url } = delivery;
    const slot = limiter.enter(kind, { ...delivery, url });
    if (!slot) return 'no slot';
    try {
      const opened = openDelivery(db.keyring, delivery);
      const sentAtS = Math.floor(Date.now() / 1000);
      const headers = webhookHeaders('Assent/1', delivery.webhookType, delivery.id, sentAtS, opened);
      const outcome = await trace(delivery, (traced) =>
        connector.send({ url, headers: { ...headers, ...traced }, body: opened.body, ...options }),
      );
      return outcome ?? 'not begun';
    } finally {
      slot.leave();
    }
  };
}

/** Makes attempts, and records what came of them. */
function createAttempts(sending: Sending) {
  const { db, config, log, measure } = sending;
  const limiter = createWebhookLimiter(() => performance.now());
  const send = createSend(sending, limiter);
  const timeoutMs = config.WEBHOOK_TIMEOUT_S * 1000;
  const firstAttemptMs = Math.min(FIRST_ATTEMPT_MS, timeoutMs);
  const maxAttempts = config.WEBHOOK_RETRY_S.length + 1;

  async function attempt(
    delivery: DeliveryToAttempt & { prompt?: boolean },
    kind: AttemptKind,
    withinMs: number,
  ): Promise<Attempted | Unmade> {
    const n = delivery.attempts + 1;
    // A redelivery begins the table of retries again.
    const sinceAsked = n - delivery.earlierAttempts;
    // A workflow's claim has counted its attempts as sent.
    let begun = kind === 'first';
    const outcome = await send(delivery, kind, {
      timeoutMs: withinMs,
      ...(kind === 'retry' && {
        begin: async () => {
          begun = await beginDeliveryAttempt(db, delivery, withinMs + RECORD_MS);
          return begun;
        },
      }),
    });
    if (typeof outcome === 'string') return outcome;
    const state = await recordAttempt(
      db,
      { deliveryId: delivery.id, n, begun, nextAttemptAt: delivery.nextAttemptAt, ...outcome },
      {
        maxAttempts: delivery.onlyOnce ? 1 : maxAttempts,
        retryInMs: webhookRetryMs(config.WEBHOOK_RETRY_S, sinceAsked, Math.random()) ?? 0,
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
    const arrived = outcome.error === null;
    if (arrived) await settleIfCredit(delivery, kind);
    measure({ ...outcome, webhookType: delivery.webhookType, kind, status: state.status });
    return { ...state, arrived, why: arrived ? 'it was asked for again' : failureInWords(outcome) };
  }

  /** The payee's bank of a payment between customers has been told at last. */
  async function settleIfCredit({ id, webhookType }: DeliveryToAttempt, kind: AttemptKind): Promise<void> {
    if (webhookType !== 'billing.credit') return;
    // After a first attempt the workflow reads what became of it, and needs no signal.
    const settle = kind === 'first' ? resolveCredits : settleCredits;
    await db.transaction<unknown>((trx) => settle(trx, [id]));
  }

  return { attempt, settleIfCredit, limiter, timeoutMs, firstAttemptMs, maxAttempts };
}

type Attempts = ReturnType<typeof createAttempts>;

function createFirstAttempts(
  { db, log }: Sending,
  { attempt, firstAttemptMs }: Attempts,
): DeliverFirstAttempts {
  async function firstAttempt(delivery: Unattempted): Promise<Attempted | 'unsent' | 'in doubt'> {
    try {
      const state = await attempt(delivery, 'first', firstAttemptMs);
      return typeof state === 'string' ? 'unsent' : state;
    } catch (error) {
      // Thrown on, the fault of one delivery would hold a billing.
      log.warn({ err: error, deliveryId: delivery.id }, 'a first attempt could not be made');
      return error instanceof KeyringError ? 'unsent' : 'in doubt';
    }
  }

  return async (workflowId, types) => {
    const startedAt = performance.now();
    const late = () => performance.now() - startedAt >= FIRST_ATTEMPTS_MS;
    const leaseMs = FIRST_ATTEMPTS_MS + firstAttemptMs + RECORD_MS;
    const counts: FirstAttempts = { delivered: 0, failed: 0, handedOver: 0, told: [] };
    const note = (line: string) => counts.told.length < LINES_MAX && counts.told.push(line);
    /** By id, whether it was claimed here and surely not sent. */
    const left = new Map<string, boolean>();

    for (let waitMs = IN_HAND_POLL_MS; ; waitMs *= 2) {
      const deliveries = await claimUnattempted(db, workflowId, leaseMs, types);
      await eachOf(deliveries, AT_ONCE, async (delivery) => {
        const { id, claimed, failing, disabled, webhookType, entityName } = delivery;
        if (!claimed) {
          if (failing && !left.has(id)) left.set(id, false);
          return;
        }
        // Disabled between the claim and the reading.
        const state = disabled || late() ? 'unsent' : await firstAttempt(delivery);
        if (typeof state === 'string') {
          left.set(id, state === 'unsent');
        } else if (state.arrived) {
          counts.delivered++;
          note(`${webhookType} delivered at attempt ${state.attempts} to ${entityName}.`);
        } else {
          counts.failed++;
          const how = `failed at attempt ${state.attempts} (${state.why})`;
          note(`${webhookType} ${how} to ${entityName}: see ${workflowIds.webhookDelivery(id)}.`);
        }
      });
      const inHand = deliveries.filter(({ id, claimed }) => !claimed && !left.has(id));
      if (inHand.length === 0) break;
      // Another worker records its attempt in a moment, or has died.
      if (late()) {
        for (const { id } of inHand) left.set(id, false);
        break;
      }
      await sleep(waitMs);
    }
    if (left.size > 0) {
      for (const id of left.keys()) note(`Not attempted yet: see ${workflowIds.webhookDelivery(id)}.`);
      counts.handedOver = await db.transaction((trx) => handOver(trx, left, workflowId));
    }
    return counts;
  };
}

export function createWebhookActivities(sending: Sending): WebhookActivities {
  const { db } = sending;
  const made = createAttempts(sending);
  const { attempt, settleIfCredit, limiter, timeoutMs, firstAttemptMs, maxAttempts } = made;
  const deliverFirstAttempts = createFirstAttempts(sending, made);
  return {
    deliverFirstAttempts,
    askBank: deliverFirstAttempts,
    tellMerchant: deliverFirstAttempts,

    async attemptDelivery(deliveryId) {
      const delivery = await deliveryToAttempt(db, deliveryId);
      if (!delivery) throw new Error(`there is no delivery ${deliveryId}`);
      const { webhookType } = delivery;
      if (delivery.status !== 'pending') {
        const { status, attempts } = delivery;
        if (status === 'failed') return { status, webhookType, attempts, why: null };
        // A process may have died between the record and this.
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
      const { claimedForMs, notDueForMs, last } = delivery;
      if (claimedForMs > 0) return later(delivery, 'another worker attempts it', claimedForMs);
      if (notDueForMs > 0) return later(delivery, last ? failureInWords(last) : UNMADE_WHY, notDueForMs);
      // An old URL has no second attempt, so its first one has the full time.
      const isQuick = delivery.attempts === 0 && !delivery.failing && !delivery.onlyOnce;
      const state = await attempt(delivery, 'retry', isQuick ? firstAttemptMs : timeoutMs);
      if (typeof state === 'string') {
        const inMs = limiter.comeBackInMs({ ...delivery, url: delivery.url ?? '' }, timeoutMs);
        if (state === 'no slot' && delivery.attempts === 0) await awaitSlot(db, delivery, inMs);
        return later(delivery, UNMADE_WHY, inMs);
      }
      const { status, attempts, why } = state;
      if (status === 'pending') return later(state, why, state.retryInMs);
      return status === 'failed' ? { status, webhookType, attempts, why } : { status, attempts };
    },
  };
}
