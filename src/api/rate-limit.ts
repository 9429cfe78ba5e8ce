import type { Response } from 'express';
import type { Config, Rate } from '../config';
import type { Database } from '../database/connection';
import { takeTokens, type BucketState, type TokenWish } from '../database/rate-limit';
import { Failure } from '../domain/failures';
import type { ApiDeps } from './deps';

/** The token buckets that requests are paid from. */
export type Bucket = 'caller' | 'answer' | 'lookup' | 'merchantBatch' | 'token' | 'tokenAddress';

function rateOf(config: Config, bucket: Bucket): Rate {
  return {
    caller: config.RATE_LIMIT_CALLER,
    answer: config.RATE_LIMIT_ANSWER,
    lookup: config.RATE_LIMIT_LOOKUP,
    merchantBatch: config.RATE_LIMIT_MERCHANT_BATCH,
    token: config.RATE_LIMIT_TOKEN,
    tokenAddress: config.RATE_LIMIT_TOKEN_ADDRESS,
  }[bucket];
}

export interface TokenBuckets {
  /** Takes a token out of a bucket that all processes share, if it holds one. */
  take(wish: TokenWish): Promise<BucketState>;
}

/** Most wishes of one statement; more wait for the next. */
const WISHES_MAX = 200;

/**
 * Asks Postgres for the tokens of all requests that came while it was last being asked: under load one statement
 * serves many requests, and a request that comes alone waits for nobody.
 */
export function createTokenBuckets(db: Database): TokenBuckets {
  let last: Promise<unknown> = Promise.resolve();
  let gathering: { wishes: TokenWish[]; states: Promise<BucketState[]> } | undefined;

  function gather() {
    const wishes: TokenWish[] = [];
    const states = last.then(() => {
      if (gathering?.wishes === wishes) gathering = undefined;
      return takeTokens(db, wishes);
    });
    last = states.catch(() => undefined);
    return { wishes, states };
  }

  return {
    async take(wish) {
      if (gathering === undefined || gathering.wishes.length >= WISHES_MAX) gathering = gather();
      const { wishes, states } = gathering;
      const place = wishes.push(wish) - 1;
      const state = (await states)[place];
      if (state === undefined) throw new Error('a wish for a token was left unanswered');
      return state;
    },
  };
}

/**
 * Takes a token from the owner's bucket, and says in the answer how much is left.
 *
 * @throws Failure rate_limited
 */
export async function meter(
  { config, buckets }: Pick<ApiDeps, 'config' | 'buckets'>,
  res: Response,
  bucket: Bucket,
  owner: string,
): Promise<void> {
  const rate = rateOf(config, bucket);
  const state = await buckets.take({ key: `${bucket}:${owner}`, rate });
  showRateLimit(res, bucket, rate, state);
  if (!state.admitted) throw tooManyRequests(rate, state.retryAfterS);
}

/** The header fields of the IETF's draft-ietf-httpapi-ratelimit-headers. */
export function showRateLimit(
  res: Response,
  name: string,
  rate: Rate,
  { remaining, resetS }: Pick<BucketState, 'remaining' | 'resetS'>,
): void {
  const fillS = Math.ceil(rate.burst / rate.perSecond);
  res.set('RateLimit-Policy', `"${name}";q=${rate.burst};w=${fillS}`);
  res.set('RateLimit', `"${name}";r=${remaining};t=${Math.ceil(resetS)}`);
}

export function tooManyRequests({ perSecond }: Rate, retryAfterS: number): Failure {
  return new Failure('rate_limited', `Too many requests: at most ${perSecond} a second in the long run`, {
    retryAfterS,
  });
}
