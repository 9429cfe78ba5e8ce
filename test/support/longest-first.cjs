'use strict';

const { default: Sequencer } = require('@jest/test-sequencer');

/*
 * The order of test files. The longest come first, so that no processor waits in the end while
 * another has minutes to go. jest knows by itself how long each file took the last time; on a fresh
 * machine it goes by their size, which says little.
 */

/** From a minute down to twenty seconds, on two cores. */
const LONGEST = [
  'journeys/schedules',
  'journeys/worker-death',
  'journeys/history',
  'crash/replicas',
  'journeys/operator-acts',
  'browser/console/keyboard',
  'browser/console/payment-views',
  'browser/console/views',
  'api/http/hostile-text',
  'readers',
  'api/crowd-behind-balancer',
  'api/crowd',
  'start/main',
  'browser/sandbox',
  'readme',
  'journeys/operator-resets',
  'browser/console/daily-work',
  'journeys/on-one-engine',
  'crash/races',
  'crash/outage',
  'crash/process-death',
  'browser/payments',
  'browser/books',
  'crash/recover',
  'workflows/on-one-server',
  'workflows/billing-request',
  'cli/doctor',
  'api/main',
  'workflows/recurring',
  'api/http/every-route',
  'cli/conformance',
  'browser/pages',
  'api/bank-file/bank-file',
  'process/open-database',
  'temporal/relay',
  'api/billing/reconciliation-exception',
  'journeys/webhook',
];

const rank = ({ path }) => {
  const at = LONGEST.findIndex((name) => path.replaceAll('\\', '/').endsWith(`/test/${name}.test.ts`));
  return at < 0 ? LONGEST.length : at;
};

module.exports = class extends Sequencer {
  sort(tests) {
    return super.sort(tests).toSorted((a, b) => rank(a) - rank(b));
  }
};
