import { ownEngine, type StoryEngine } from '../demo/engine';
import { readConfig, SETTING_NAMES, type Rate } from '../src/config';

/** Settings of the engine under load. Its limits are for callers one by one; here one merchant is all of them. */
const SETTINGS = {
  RATE_LIMIT_CALLER: '100000/100000',
  RATE_LIMIT_ANSWER: '100000/100000',
};

/** Nothing of the operator's own settings, which may name servers that hold real data. */
export function benchEnvironment(): NodeJS.ProcessEnv {
  const own = new Set(SETTING_NAMES.filter((name) => name !== 'TEMPORAL_CLI_PATH'));
  const inherited = Object.entries(process.env).filter(([name]) => !own.has(name));
  return { ...Object.fromEntries(inherited), ...SETTINGS };
}

/** What decides how fast it may go and how long it waits, as it runs. */
export function settingsInForce(): Record<string, string> {
  const config = readConfig(benchEnvironment());
  return {
    RATE_LIMIT_CALLER: rate(config.RATE_LIMIT_CALLER),
    RATE_LIMIT_ANSWER: rate(config.RATE_LIMIT_ANSWER),
    APPROVAL_WINDOW_S: String(config.APPROVAL_WINDOW_S),
    SETTLEMENT_WINDOW_S: String(config.SETTLEMENT_WINDOW_S),
    DATABASE_POOL: String(config.DATABASE_POOL),
    LOG_LEVEL: config.LOG_LEVEL,
  };
}

const rate = ({ perSecond, burst }: Rate) => `${perSecond}/s, burst ${burst}`;

/** An engine of the benchmark's own in a temporary folder: Postgres as it comes (fsync on), each part a process. */
export function startEngine(say: (line: string) => void, signal: AbortSignal): Promise<StoryEngine> {
  return ownEngine(benchEnvironment(), say, signal);
}
