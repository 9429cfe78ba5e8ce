import { makeKeyring } from '../../src/database/keyring/keyring';
import { SETTING_NAMES } from '../../src/settings/config';

const LOOSE = '100000/100000';

/** For an engine where one caller is all of them: its limits are for callers one by one. */
export const WITHOUT_LIMITS = {
  RATE_LIMIT_CALLER: LOOSE,
  RATE_LIMIT_ANSWER: LOOSE,
  RATE_LIMIT_ITEMS: LOOSE,
  RATE_LIMIT_LOOKUP: LOOSE,
  RATE_LIMIT_MERCHANT_BATCH: LOOSE,
  RATE_LIMIT_TOKEN: LOOSE,
  RATE_LIMIT_TOKEN_ADDRESS: LOOSE,
  RATE_LIMIT_FAILED_AUTH: LOOSE,
  RATE_LIMIT_UNKNOWN: LOOSE,
  INTENTS_PER_CUSTOMER_DAY: '1000000',
  APPROVALS_PER_CUSTOMER_DAY: '1000000',
};

/** Settings that an operator's shell may hold: they may name servers that hold real data. */
export const OF_THE_SHELL = SETTING_NAMES.filter((name) => name !== 'TEMPORAL_CLI_PATH');

function withoutSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !OF_THE_SHELL.includes(name)));
}

/** @param more settings of this run */
export function engineEnvironment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  return { ...withoutSettings(), ASSENT_KEYS: makeKeyring(), ...WITHOUT_LIMITS, ...more };
}
