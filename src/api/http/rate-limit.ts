import type { Response } from 'express';
import type { Database } from '../../database/pool/connection';
import type { Config } from '../../settings/config';
import {
  takeTokens,
  type Bucket as SharedBucket,
  type BucketRate,
  type BucketState,
  type TakenState,
  type TokenWish,
  bucketState,
} from '../../database/call/rate-limit';
import { Failure } from '../../domain/failures';
import { ownerOf, type Caller } from './caller';
import { answered } from './deadline';
import { gathered } from './gathered';
import { remember } from '../../domain/remember';

const SETTINGS = {
  caller: 'RATE_LIMIT_CALLER',
  answer: 'RATE_LIMIT_ANSWER',
  lookup: 'RATE_LIMIT_LOOKUP',
  merchantBatch: 'RATE_LIMIT_MERCHANT_BATCH',
  token: 'RATE_LIMIT_TOKEN',
  tokenAddress: 'RATE_LIMIT_TOKEN_ADDRESS',
  tokenGuess: 'RATE_LIMIT_TOKEN',
} as const;
export type Bucket = keyof typeof SETTINGS;

export type TokenBuckets = ReturnType<typeof createTokenBuckets>;

/** Most wishes of one statement; more wait for the next. */
const WISHES_MAX = 200;

export function createTokenBuckets(db: Database) {
  const take = createTokenBlocks(
    gathered(WISHES_MAX, (wishes: TokenWish[]) => takeTokens(db, wishes)),
    () => performance.now(),
  );
  return {
    /** Takes tokens out of buckets that all processes share, if they hold as many. */
    take: (wish: TokenWish): Promise<TakenState> => answered(take(wish)),
  };
}

/** An owner's rate in callers' rates: the merchants that a provider creates do not add to it. */
const OWNER_SHARE = 10;

/**
 * The bucket that a provider and all its merchants pay from, beside their own. The own bucket of an
 * owner without merchants is empty first.
 */
export function ownerBucket(name: string, { perSecond, burst }: BucketRate, caller: Caller): SharedBucket[] {
  if (caller.role !== 'provider' && !caller.providerId) return [];
  const rate = { perSecond: perSecond * OWNER_SHARE, burst: burst * OWNER_SHARE };
  return [{ key: `${name}:owner:${ownerOf(caller)}`, rate }];
}

interface Metering {
  config: Config;
  buckets: TokenBuckets;
}

/** A bucket, in the header fields and in the words of a refusal. */
interface Metered {
  name: string;
  rate: BucketRate;
  /** Left out, requests. */
  what?: string;
}

/**
 * Takes a token from a bucket, and says in the response how much is left.
 *
 * @throws Failure rate_limited
 */
export async function meter(
  { config, buckets }: Metering,
  res: Response,
  bucket: Bucket,
  of: string,
): Promise<void> {
  const rate = config[SETTINGS[bucket]];
  admit(res, { name: bucket, rate }, await buckets.take({ key: `${bucket}:${of}`, rate }));
}

/**
 * Takes a token from a bucket of the caller, and one from its owner's. A refused caller takes none
 * from its owner's other callers.
 *
 * @param metering.unknown buckets of unknown identifiers, none of which may be empty; looked at in
 *   the same statement
 * @throws Failure rate_limited
 */
export async function meterCaller(
  { config, buckets, unknown = [] }: Metering & { unknown?: SharedBucket[] },
  res: Response,
  bucket: Bucket,
  caller: Caller,
): Promise<void> {
  const rate = config[SETTINGS[bucket]];
  const [also] = ownerBucket(bucket, rate, caller);
  const [state, ...unknownStates] = await Promise.all([
    buckets.take({ key: `${bucket}:${caller.entityId}`, rate, ...(also && { also }) }),
    ...unknown.map((one) => buckets.take({ ...one, readOnly: true })),
  ]);
  admit(res, { name: bucket, rate }, state);
  if (also && state.also?.admitted === false) {
    const what = 'requests of your provider and its merchants';
    admit(res, { name: 'owner', rate: also.rate, what }, state.also);
  }
  for (const [i, one] of unknown.entries()) {
    const of = unknownStates[i];
    if (of?.admitted === false) {
      admit(res, { name: 'unknown', rate: one.rate, what: 'unknown identifiers' }, of);
    }
  }
}

/**
 * Takes a token for each identifier that an intent or a bill names: one call of a hundred costs as
 * much as a hundred calls.
 *
 * @throws Failure rate_limited where not all of them fit; then none is taken
 */
export async function meterItems(
  { config, buckets }: Metering,
  res: Response,
  caller: Caller,
  body: { lookupIDs?: unknown[]; paymentIDs?: unknown[] },
): Promise<void> {
  const count = (body.lookupIDs?.length ?? 0) + (body.paymentIDs?.length ?? 0);
  if (count === 0) return;
  const rate = config.RATE_LIMIT_ITEMS;
  const state = await buckets.take({ key: `items:${ownerOf(caller)}`, rate, count });
  if (!state.admitted) admit(res, { name: 'items', rate, what: 'identifiers' }, state);
}

/** @throws Failure rate_limited */
function admit(res: Response, { name, rate, what }: Metered, state: BucketState): void {
  showRateLimit(res, name, rate, state);
  if (!state.admitted) throw tooManyRequests(rate, state.retryAfterS, what);
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

/**
 * Tokens that this process has taken ahead, for callers that call often: one statement then does
 * for many calls. They are taken from the shared bucket, so all processes together never admit more
 * than its rate. A bucket that is less than half full gives none ahead, so near its limit each
 * token is counted at once.
 */

/** A block is at most this part of the burst: what several processes hold back stays small. */
const PART_OF_BURST = 0.1;
const BLOCK_MAX = 20;
/** A bucket whose last call is longer ago gets no block, for it would not be used up. */
const OFTEN_MS = 200;
/** Tokens that were not used by then are lost; the bucket fills meanwhile. */
const KEPT_MS = 1_000;
/** Callers whose last call is remembered; the least recent are counted token by token. */
const CALLERS_MAX = 10_000;

interface Held {
  tokens: number;
  /** By the process's clock: when the tokens are lost. */
  until: number;
  /** By the process's clock: when the shared bucket, and its owner's, will be full. */
  fullAt: number;
  alsoFullAt: number | undefined;
  lastAt: number;
  /** A block is being taken. */
  taking: boolean;
}

const NOTHING: Held = {
  tokens: 0,
  until: -Infinity,
  fullAt: -Infinity,
  alsoFullAt: undefined,
  lastAt: -Infinity,
  taking: false,
};

function createTokenBlocks(
  take: (wish: TokenWish) => Promise<TakenState>,
  now: () => number,
): (wish: TokenWish) => Promise<TakenState> {
  const held = new Map<string, Held>();

  return async (wish) => {
    // A wish for many tokens is rare, and all or nothing: tokens held back would count against it.
    if (wish.readOnly || (wish.count ?? 1) > 1) return take(wish);
    const one = held.get(wish.key) ?? { ...NOTHING };
    remember(held, CALLERS_MAX, wish.key, one);
    if (tokensIn(one) > 0) return ofBlock(wish, one);
    const block = blockFor(wish, one);
    if (block === 0) return single(wish, one);
    one.taking = true;
    try {
      const ahead = await take({ ...wish, count: 1 + block });
      if (ahead.admitted && ahead.also?.admitted !== false) {
        one.tokens = block;
        one.until = now() + KEPT_MS;
        return counted(wish, one, ahead);
      }
    } finally {
      one.taking = false;
    }
    return single(wish, one);
  };

  function ofBlock(wish: TokenWish, one: Held): TakenState {
    one.tokens--;
    one.lastAt = now();
    return stateOf(wish, one);
  }

  /** A block that came meanwhile may have what the bucket has no more. */
  async function single(wish: TokenWish, one: Held): Promise<TakenState> {
    const state = await take(wish);
    return !state.admitted && tokensIn(one) > 0 ? ofBlock(wish, one) : counted(wish, one, state);
  }

  function counted(wish: TokenWish, one: Held, state: TakenState): TakenState {
    const { also, resetS, admitted } = state;
    one.fullAt = now() + resetS * 1000;
    one.alsoFullAt = also && now() + also.resetS * 1000;
    one.lastAt = now();
    return tokensIn(one) > 0 && admitted && also?.admitted !== false ? stateOf(wish, one) : state;
  }

  function tokensIn({ tokens, until }: Held): number {
    return now() < until ? tokens : 0;
  }

  function blockFor({ rate, also }: TokenWish, { taking, lastAt, fullAt, alsoFullAt }: Held): number {
    if (taking || now() - lastAt > OFTEN_MS) return 0;
    if (!isHalfFull(rate, fullAt) || (also && !isHalfFull(also.rate, alsoFullAt))) return 0;
    return Math.min(BLOCK_MAX, Math.floor(rate.burst * PART_OF_BURST));
  }

  function isHalfFull(rate: BucketRate, fullAt = -Infinity): boolean {
    const { remaining } = bucketState(rate, Math.max(0, fullAt - now()) / 1000);
    return remaining >= rate.burst / 2;
  }

  /** As if the tokens that are held were still in the shared bucket. */
  function stateOf({ rate, also }: TokenWish, { tokens, fullAt, alsoFullAt }: Held): TakenState {
    const stateIn = (of: BucketRate, at: number) => {
      const fullInS = Math.max(0, (at - now()) / 1000 - tokens / of.perSecond);
      return { ...bucketState(of, fullInS), admitted: true, retryAfterS: 0 };
    };
    return {
      ...stateIn(rate, fullAt),
      ...(also && alsoFullAt !== undefined && { also: stateIn(also.rate, alsoFullAt) }),
    };
  }
}
