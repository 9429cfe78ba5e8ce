import type { Response } from 'express';
import type { Config } from '../../config';
import type { Database } from '../../database/connection';
import {
  takeTokens,
  type Bucket as SharedBucket,
  type BucketRate,
  type BucketState,
  type TokenWish,
} from '../../database/rate-limit';
import { Failure } from '../../domain/failures';
import type { ApiDeps } from '../deps';
import { answered } from './deadline';
import { gathered } from './gathered';

/** The token buckets that requests are paid from. */
export type Bucket =
  'caller' | 'answer' | 'lookup' | 'merchantBatch' | 'token' | 'tokenAddress' | 'tokenGuess';

function rateOf(config: Config, bucket: Bucket): BucketRate {
  return {
    caller: config.RATE_LIMIT_CALLER,
    answer: config.RATE_LIMIT_ANSWER,
    lookup: config.RATE_LIMIT_LOOKUP,
    merchantBatch: config.RATE_LIMIT_MERCHANT_BATCH,
    token: config.RATE_LIMIT_TOKEN,
    tokenAddress: config.RATE_LIMIT_TOKEN_ADDRESS,
    tokenGuess: config.RATE_LIMIT_TOKEN,
  }[bucket];
}

export interface TokenBuckets {
  /** Takes a token out of a bucket that all processes share, if it holds one. */
  take(wish: TokenWish): Promise<BucketState>;
}

/** Most wishes of one statement; more wait for the next. */
const WISHES_MAX = 200;

export function createTokenBuckets(db: Database): TokenBuckets {
  const take = gathered(WISHES_MAX, (wishes: TokenWish[]) => takeTokens(db, wishes));
  // Those who wait for the next statement wait no longer than the others.
  return { take: (wish) => answered(take(wish)) };
}

/**
 * How many times a merchant's own limit all merchants of one provider have together. A provider
 * makes as many merchants as it likes: without this each of them would add to its limits.
 */
const PROVIDER_SHARE = 10;

/** The rate that all merchants of a provider share. */
export function togetherRate({ perSecond, burst }: BucketRate): BucketRate {
  return { perSecond: perSecond * PROVIDER_SHARE, burst: burst * PROVIDER_SHARE };
}

/**
 * Takes a token from the bucket that a caller's provider has for all its merchants.
 *
 * It comes after the caller's own: what a merchant is refused is not taken from the others.
 *
 * @throws Failure rate_limited
 */
export async function meterProvider(
  { config, buckets }: Pick<ApiDeps, 'config' | 'buckets'>,
  res: Response,
  bucket: Bucket,
  providerId: string,
): Promise<void> {
  const rate = togetherRate(rateOf(config, bucket));
  const state = await buckets.take({ key: `${bucket}:merchants-of:${providerId}`, rate });
  if (state.admitted) return;
  showRateLimit(res, 'provider', rate, state);
  throw tooManyRequests(rate, state.retryAfterS, 'requests of all merchants of your provider');
}

/**
 * Takes a token from the owner's bucket, and says in the answer how much is left.
 *
 * @param unknown buckets of unknown identifiers, none of which may be empty; looked at in the same
 *   statement
 * @throws Failure rate_limited
 */
export async function meter(
  { config, buckets }: Pick<ApiDeps, 'config' | 'buckets'>,
  res: Response,
  bucket: Bucket,
  owner: string,
  unknown: SharedBucket[] = [],
): Promise<void> {
  const rate = rateOf(config, bucket);
  const [state, ...unknownStates] = await Promise.all([
    buckets.take({ key: `${bucket}:${owner}`, rate }),
    ...unknown.map((one) => buckets.take({ ...one, readOnly: true })),
  ]);
  showRateLimit(res, bucket, rate, state);
  if (!state.admitted) throw tooManyRequests(rate, state.retryAfterS);
  for (const [i, one] of unknown.entries()) {
    const unknownState = unknownStates[i];
    if (!unknownState || unknownState.admitted) continue;
    showRateLimit(res, 'unknown', one.rate, unknownState);
    throw tooManyRequests(one.rate, unknownState.retryAfterS, 'unknown identifiers');
  }
}

/** The header fields of the IETF's draft-ietf-httpapi-ratelimit-headers. */
export function showRateLimit(
  res: Response,
  name: string,
  rate: BucketRate,
  { remaining, resetS }: Pick<BucketState, 'remaining' | 'resetS'>,
): void {
  const fillS = Math.ceil(rate.burst / rate.perSecond);
  res.set('RateLimit-Policy', `"${name}";q=${rate.burst};w=${fillS}`);
  res.set('RateLimit', `"${name}";r=${remaining};t=${Math.ceil(resetS)}`);
}

export function tooManyRequests({ perSecond }: BucketRate, retryAfterS: number, what = 'requests'): Failure {
  return new Failure('rate_limited', `Too many ${what}: at most ${perSecond} a second in the long run`, {
    retryAfterS,
  });
}
