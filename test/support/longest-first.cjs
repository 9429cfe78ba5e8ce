'use strict';

const { default: Sequencer } = require('@jest/test-sequencer');

/*
 * The order of test files. The longest come first, so that no processor waits in the end while
 * another has minutes to go. jest knows by itself how long each file took the last time; on a fresh
 * machine it goes by their size, which says little.
 */

/** From three minutes down to one, on two cores. */
const LONGEST = [
  'journeys/on-one-engine',
  'journeys/operator-acts',
  'browser/console',
  'browser/sandbox',
  'crash/replicas',
  'readme',
  'crash/process-death',
  'start/main',
  'crash/reconcile',
  'crash/outage',
  'cli/doctor',
  'operations',
  'api/bank-statement/statement',
  'journeys/webhook',
  'workflows/recurring',
  'workflows/on-one-server',
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
