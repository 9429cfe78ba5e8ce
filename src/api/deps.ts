import type { Logger } from 'pino';
import type { Config } from '../config';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keyring';
import type { Problem } from '../domain/failures';
import type { CallerTurns } from './caller-turns';
import type { TokenBuckets } from './rate-limit';
import type { MeasureUnknown } from './unknown-identifier';

/** What the API works with; the entry point composes it. */
export interface ApiDeps {
  config: Config;
  db: Database;
  ring: Keyring;
  buckets: TokenBuckets;
  turns: CallerTurns;
  measureUnknown: MeasureUnknown;
  log: Logger;
  /** What keeps the service from doing its work; empty when it is ready. */
  readiness: () => Promise<Problem[]>;
}
