import { Counter, Histogram, type Registry } from 'prom-client';
import type { CountRecovered } from '../activities/recover';
import type { MeasuredAttempt } from '../activities/webhook';

/** A first attempt ends within 2 s, any other within `WEBHOOK_TIMEOUT_S`, 10 by default. */
const ATTEMPT_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30];

/** @returns takes note of one attempt to send a webhook */
export function measureWebhooks(registry: Registry): (attempt: MeasuredAttempt) => void {
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
export function measureRecover(registry: Registry): CountRecovered {
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
