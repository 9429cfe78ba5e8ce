import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { type Registry, Counter, Histogram } from 'prom-client';
import { createAnswerTimeout } from '../activities/answer-timeout';
import { createBankFileActivities } from '../activities/bank-file';
import { createBillingRequestActivities } from '../activities/billing-request';
import { createBooksActivities } from '../activities/books';
import { createConsentActivities } from '../activities/consent';
import { createCustomerMigrationActivities } from '../activities/customer-migration';
import { withHeartbeats } from '../activities/heartbeat';
import { createIntentActivities } from '../activities/intent';
import { createRecoverActivities, type CountRecovered } from '../activities/recover';
import { createRecurringActivities } from '../activities/recurring';
import { createRefundActivities } from '../activities/refund';
import { createSandboxClockActivities } from '../activities/sandbox-clock';
import { createSweepActivities } from '../activities/sweep';
import { createWebhookActivities, type MeasuredAttempt } from '../activities/webhook';
import { createWebhookConnector } from '../activities/webhook-connector';
import { endedOf } from '../database/billing-request/read-billing-request';
import type { Database } from '../database/pool/connection';
import { WHOLE_MAX } from '../database/verify/nightly-result';
import { recurringRules, type Config } from '../settings/config';
import { BILLING, SCHEDULES } from './capacity';
import type { WorkerTraces } from './tracing';

interface WorkerMeans {
  config: Config;
  log: Logger;
  registry: Registry;
  db: Database;
  client: Client;
  /** Left out without tracing. */
  traces: WorkerTraces | undefined;
}

/** The effects of all workflows, and what they keep open. */
export function createEffects({ config, log, registry, db, client, traces }: WorkerMeans) {
  const answerTimeoutOf = ({ maxConcurrentWorkflowTaskExecutions: slots }: typeof BILLING) =>
    createAnswerTimeout(slots, (ids) => endedOf(db, ids), log);
  const answerTimeout = { calls: answerTimeoutOf(BILLING), schedules: answerTimeoutOf(SCHEDULES) };
  const connector = createWebhookConnector({ allowPrivate: config.ALLOW_PRIVATE_WEBHOOKS });
  const measure = measureWebhooks(registry);
  const webhooks = createWebhookActivities({ db, config, connector, log, measure, trace: traces?.attempt });
  const count = measureRecover(registry);
  return {
    activities: {
      ...createBillingRequestActivities(db, answerTimeout.calls),
      ...createBankFileActivities(db, config.BOOKING_DAYS, log),
      ...createConsentActivities(db),
      ...createCustomerMigrationActivities(db),
      ...createBooksActivities(db, WHOLE_MAX, log),
      ...createIntentActivities(db),
      ...createRecurringActivities(
        db,
        recurringRules(config),
        answerTimeout.schedules,
        webhooks.deliverFirstAttempts,
      ),
      ...createRefundActivities(db),
      ...createSandboxClockActivities({ db, client, clockWaitS: config.CLOCK_WAIT_S, log }),
      ...createRecoverActivities({ db, client, afterS: config.RECONCILE_AFTER_S, log, count }),
      ...createSweepActivities(db, config.WEBHOOK_KEPT_DAYS),
      ...webhooks,
      attemptDelivery: withHeartbeats((deliveryId: string) => webhooks.attemptDelivery(deliveryId)),
    },
    /** A stop waits for no bank. */
    stopWaiting() {
      answerTimeout.calls.stop();
      answerTimeout.schedules.stop();
    },
    close: () => connector.close(),
  };
}

/** A first attempt ends within 2 s, any other within `WEBHOOK_TIMEOUT_S`, 10 by default. */
const ATTEMPT_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30];

/** @returns takes note of one attempt to send a webhook */
function measureWebhooks(registry: Registry): (attempt: MeasuredAttempt) => void {
  const registers = [registry];
  const attempts = new Counter({
    name: 'assent_webhook_attempts_total',
    help: 'Attempts to send a webhook: "delivered" (a 2xx in time), "refused" (any other status) or "unanswered".',
    labelNames: ['type', 'attempt', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'assent_webhook_attempt_duration_seconds',
    help: 'Time until the receiver had answered, or was not waited for any longer.',
    labelNames: ['attempt'],
    buckets: ATTEMPT_BUCKETS_S,
    registers,
  });
  const givenUp = new Counter({
    name: 'assent_webhook_deliveries_failed_total',
    help: 'Webhooks given up after their last attempt.',
    labelNames: ['type'],
    registers,
  });
  return ({ webhookType: type, kind: attempt, httpStatus, error, durationMs, status }) => {
    const outcome = error === null ? 'delivered' : httpStatus === null ? 'unanswered' : 'refused';
    attempts.inc({ type, attempt, outcome });
    durations.observe({ attempt }, durationMs / 1000);
    if (status === 'failed') givenUp.inc({ type });
  };
}

/** @returns counts what `reconcile` found, and what of it is started again */
function measureRecover(registry: Registry): CountRecovered {
  const counter = new Counter({
    name: 'assent_reconciled_total',
    help: 'Open work that was overdue or without its workflow: "found", and "restarted" where its workflow is started again.',
    labelNames: ['kind', 'outcome'],
    registers: [registry],
  });
  return (kind, found, restarted) => {
    counter.inc({ kind, outcome: 'found' }, found);
    counter.inc({ kind, outcome: 'restarted' }, restarted);
  };
}
