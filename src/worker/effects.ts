import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { createAnswerPatience } from '../activities/answer-patience';
import { createBankStatementActivities } from '../activities/bank-statement';
import { createBillingRequestActivities } from '../activities/billing-request';
import { createBooksActivities } from '../activities/books';
import { createCustomerMigrationActivities } from '../activities/customer-migration';
import { createIntentActivities } from '../activities/intent';
import { createReconcileActivities } from '../activities/reconcile';
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
import { beating } from './activity-heartbeat';
import { BILLING, SCHEDULES } from './capacity';
import { measureReconcile, measureWebhooks } from './metrics';
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
  const patienceOf = ({ maxConcurrentWorkflowTaskExecutions: slots }: typeof BILLING) =>
    createAnswerPatience(slots, (ids) => endedOf(db, ids), log);
  const patience = { calls: patienceOf(BILLING), schedules: patienceOf(SCHEDULES) };
  const connector = createWebhookConnector({ allowPrivate: config.ALLOW_PRIVATE_WEBHOOKS });
  const measure = measureWebhooks(registry);
  const webhooks = createWebhookActivities({ db, config, connector, log, measure, trace: traces?.attempt });
  const count = measureReconcile(registry);
  return {
    activities: {
      ...createBillingRequestActivities(db, patience.calls),
      ...createBankStatementActivities(db, config.BOOKING_DAYS, log),
      ...createCustomerMigrationActivities(db),
      ...createBooksActivities(db, WHOLE_MAX, log),
      ...createIntentActivities(db),
      ...createRecurringActivities(
        db,
        recurringRules(config),
        patience.schedules,
        webhooks.deliverFirstAttempts,
      ),
      ...createRefundActivities(db),
      ...createSandboxClockActivities({ db, client, clockWaitS: config.CLOCK_WAIT_S, log }),
      ...createReconcileActivities({ db, client, afterS: config.RECONCILE_AFTER_S, log, count }),
      ...createSweepActivities(db, config.WEBHOOK_KEPT_DAYS),
      ...webhooks,
      attemptDelivery: beating((deliveryId: string) => webhooks.attemptDelivery(deliveryId)),
    },
    /** A stop waits for no bank. */
    stopWaiting() {
      patience.calls.stop();
      patience.schedules.stop();
    },
    close: () => connector.close(),
  };
}
