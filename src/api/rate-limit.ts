import type { Response } from 'express';
import type { Config, Rate } from '../config';
import { takeToken } from '../database/rate-limit';
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

/**
 * Takes a token from the owner's bucket, and says in the answer how much is left, in the header fields of
 * the IETF's draft-ietf-httpapi-ratelimit-headers.
 *
 * @throws Failure rate_limited
 */
export async function meter(
  { config, db }: Pick<ApiDeps, 'config' | 'db'>,
  res: Response,
  bucket: Bucket,
  owner: string,
): Promise<void> {
  const rate = rateOf(config, bucket);
  const state = await takeToken(db, `${bucket}:${owner}`, rate);
  const fillS = Math.ceil(rate.burst / rate.perSecond);
  res.set('RateLimit-Policy', `"${bucket}";q=${rate.burst};w=${fillS}`);
  res.set('RateLimit', `"${bucket}";r=${state.remaining};t=${Math.ceil(state.resetS)}`);
  if (!state.admitted) {
    throw new Failure(
      'rate_limited',
      `Too many requests: at most ${rate.perSecond} a second in the long run`,
      {
        retryAfterS: state.retryAfterS,
      },
    );
  }
}
