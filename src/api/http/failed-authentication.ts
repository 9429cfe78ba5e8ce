import type { Request, Response } from 'express';
import type { Config } from '../../settings/config';
import { bucketState } from '../../database/call/rate-limit';
import { remember } from '../../domain/remember';
import { countedAddress } from './client-address';
import { showRateLimit, tooManyRequests } from './rate-limit';

/**
 * Addresses remembered at once, of some 150 bytes each. The address that failed longest ago is
 * forgotten first.
 */
const ADDRESSES_MAX = 20_000;

export type FailedAuthentication = ReturnType<typeof createFailedAuthentication>;

/**
 * Counts, by address, the requests that did not prove who sends them.
 *
 * Failures alone are counted, once they are known: a good token is not refused for the bad tokens
 * of its address. Each process counts in its own memory, so a flood of bad tokens reaches no
 * database. Two processes let through twice as many.
 */
export function createFailedAuthentication({
  RATE_LIMIT_FAILED_AUTH: rate,
}: Pick<Config, 'RATE_LIMIT_FAILED_AUTH'>) {
  /** The moment at which the bucket of each address is full again, in milliseconds. */
  const fullAt = new Map<string, number>();
  const costS = 1 / rate.perSecond;

  const fullIn = (address: string) => Math.max(0, (fullAt.get(address) ?? 0) - nowMs()) / 1000;
  const showLeft = (res: Response, fullInS: number) =>
    showRateLimit(res, 'failedAuth', rate, bucketState(rate, fullInS));

  return {
    /** Counts one, and says in the answer how many are left. @throws Failure rate_limited */
    count(req: Request, res: Response): void {
      const address = countedAddress(req);
      const before = bucketState(rate, fullIn(address));
      const fullInS = before.admitted ? before.resetS + costS : before.resetS;
      remember(fullAt, ADDRESSES_MAX, address, nowMs() + fullInS * 1000);
      showLeft(res, fullInS);
      if (!before.admitted) throw tooManyRequests(rate, before.retryAfterS);
    },
    /**
     * Refuses before the work, where a wrong one costs more than its count.
     *
     * @throws Failure rate_limited
     */
    refuseSpent(req: Request): void {
      const { admitted, retryAfterS } = bucketState(rate, fullIn(countedAddress(req)));
      if (!admitted) throw tooManyRequests(rate, retryAfterS);
    },
    /** Says how many are left, where nothing else is known of who asks. */
    show(req: Request, res: Response): void {
      showLeft(res, fullIn(countedAddress(req)));
    },
  };
}

/** In whole milliseconds: a sum of fractions would ask for a second more. */
const nowMs = () => Math.round(performance.now());
