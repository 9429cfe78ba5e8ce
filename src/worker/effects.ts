import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { createAnswerTimeout } from '../activities/answer-timeout';
import { createBankFileActivities } from '../activities/bank-file';
import { createBillingRequestActivities } from '../activities/billing-request';
import { createBooksActivities } from '../activities/books';
import { createCustomerMigrationActivities } from '../activities/customer-migration';
import { createIntentActivities } from '../activities/intent';
import { createRecoverActivities } from '../activities/recover';
import { createRecurringActivities } from '../activities/recurring';
import { createRefundActivities } from '../activities/refund';
import { createSandboxClockActivities } from '../activities/sandbox-clock';
import { createSweepActivities } from '../activities/sweep';
import { createWebhookActivities } from '../activities/webhook';
import { createWebhookConnector } from '../activities/webhook-connector';
import { endedOf } from '../database/billing-request/read-billing-request';
import type { Database } from '../database/pool/connection';
import { WHOLE_MAX } from '../database/verify/nightly-result';
import { recurringRules, type Config } from '../settings/config';
import { withHeartbeats } from './activity-heartbeat';
import { BILLING, SCHEDULES } from './capacity';
import { measureRecover, measureWebhooks } from './metrics';
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
