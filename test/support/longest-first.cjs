'use strict';

const { default: Sequencer } = require('@jest/test-sequencer');

/*
 * The order of test files. The longest come first, so that no processor waits in the end while
 * another has minutes to go. jest knows by itself how long each file took the last time; on a fresh
 * machine it goes by their size, which says little.
 */

/** From three minutes down to twenty seconds, on two cores. */
const LONGEST = [
  'journeys/on-one-engine',
  'journeys/operator-acts',
  'crash/replicas',
  'browser/console',
  'browser/sandbox',
  'start/main',
  'readme',
  'crash/process-death',
  'crash/outage',
  'crash/reconcile',
  'workflows/on-one-server',
  'cli/doctor',
  'api/main',
  'workflows/recurring',
  'api/http/every-route',
  'cli/conformance',
  'browser/pages',
  'api/bank-statement/statement',
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
