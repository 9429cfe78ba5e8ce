import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../../settings/config';
import type { Database } from '../../database/pool/connection';
import type { Problem } from '../../domain/failures';
import type { Tracing } from '../../process/span';
import type { CallerLimiter } from './slots';
import type { TokenBuckets } from './rate-limit';
import type { MeasureUnknown } from './request-metrics';

export interface ApiDeps {
  config: Config;
  db: Database;
  buckets: TokenBuckets;
  limiter: CallerLimiter;
  measureUnknown: MeasureUnknown;
  log: Logger;
  tracing?: Tracing | undefined;
  /** The sandbox's parties, below `/sandbox`. */
  sandbox?: {
    url: string;
    /** For the page's own calls, and the parties' webhooks. */
    routes: RequestHandler;
  };
  /** Problems that keep the service from its work; empty when it is ready. */
  readiness: () => Promise<Problem[]>;
}
