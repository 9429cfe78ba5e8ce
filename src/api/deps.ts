import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keys/keyring';
import type { Problem } from '../domain/failures';
import type { Tracing } from '../tracing/tracing';
import type { CallerLimiter } from './http/places';
import type { TokenBuckets } from './http/rate-limit';
import type { MeasureUnknown } from './http/unknown-identifier';

/** What the API works with; the entry point composes it. */
export interface ApiDeps {
  config: Config;
  db: Database;
  ring: Keyring;
  buckets: TokenBuckets;
  limiter: CallerLimiter;
  measureUnknown: MeasureUnknown;
  log: Logger;
  /** Where calls are traced. */
  tracing?: Tracing | undefined;
  /** The parties that play in a sandbox, where it has any: what is below `/sandbox`. */
  sandbox?: {
    /** Where its page is served. */
    url: string;
    /** For calls of its own page alone, but for the parties' webhooks. */
    routes: RequestHandler;
  };
  /** What keeps the service from doing its work; empty when it is ready. */
  readiness: () => Promise<Problem[]>;
}
