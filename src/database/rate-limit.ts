import { groupBy } from '../domain/group';
import { rows, type Executor, type Transaction } from './connection';
import { sweep } from './sweep';

/**
 * Token buckets shared by every process, as one row each (GCRA): instead of a count the row holds
 * the moment at which the bucket will be full again. A token costs `1 / perSecond` seconds of it,
 * and there is one as long as that moment lies less than the whole bucket ahead.
 */
export interface BucketRate {
  /** Tokens that flow in each second. */
  perSecond: number;
  /** Tokens that the bucket holds when full. */
  burst: number;
}

export interface Bucket {
  key: string;
  rate: BucketRate;
}

/**
 * The wish for one token out of a bucket, or only to read it. All wishes for one bucket have
 * the same rate.
 */
export interface TokenWish extends Bucket {
  readOnly?: true;
}

export interface BucketState {
  admitted: boolean;
  /** Whole tokens left. */
  remaining: number;
  /** Until there is a token again; 0 while there is one. */
  retryAfterS: number;
  /** Until the bucket is full. */
  resetS: number;
}

/** A float's last digits must not cost a caller a whole token. */
const ROUNDING = 1e-4;

/**
 * Takes a token for each wish, in their order, out of the buckets that hold any. Buckets that
 * somebody only wishes to read stay as they are. One statement serves any number of wishes.
 */
export async function takeTokens(db: Executor, wishes: TokenWish[]): Promise<BucketState[]> {
  const paying = wishes.filter(({ readOnly }) => !readOnly);
  // In one order everywhere, so that two processes that want tokens of the same buckets do not wait
  // for each other.
  const buckets = [...groupBy(paying, ({ key }) => key).entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  const taken = await rows<{ key: string; taken: number; fullInS: number }>(
    db,
    `WITH wanted AS MATERIALIZED (
       SELECT * FROM unnest(:keys::text[], :counts::int[], :costs::float8[], :bursts::int[]) AS w (key, count, cost, burst)
     ), paid AS (
     INSERT INTO rate_limits AS r (key, full_at, asked_at, taken)
     SELECT key, now + least(count, burst) * cost * interval '1 second', now, least(count, burst)
     FROM clock_timestamp() AS now, wanted ORDER BY key
     ON CONFLICT (key) DO UPDATE SET (full_at, asked_at, taken) = (
       SELECT greatest(r.full_at, excluded.asked_at) + n * cost * interval '1 second', excluded.asked_at, n
       FROM wanted, LATERAL (SELECT greatest(0, least(count, floor(
         burst - greatest(extract(epoch FROM r.full_at - excluded.asked_at), 0) / cost + :rounding)))::int AS n) AS free
       WHERE wanted.key = r.key)
     RETURNING key, taken, extract(epoch FROM full_at - asked_at)::float8 AS full_in)
     SELECT key, taken, full_in AS "fullInS" FROM paid
     UNION ALL
     SELECT key, 0, extract(epoch FROM full_at - clock_timestamp())::float8 FROM rate_limits WHERE key = ANY(:readOnly)`,
    {
      readOnly: [...new Set(wishes.filter(({ readOnly }) => readOnly).map(({ key }) => key))],
      keys: buckets.map(([key]) => key),
      counts: buckets.map(([, ofBucket]) => ofBucket.length),
      costs: buckets.map(([, [wish]]) => 1 / rateOf(wish).perSecond),
      bursts: buckets.map(([, [wish]]) => rateOf(wish).burst),
      rounding: ROUNDING,
    },
  );
  const byKey = new Map(taken.map((one) => [one.key, { ...one, given: 0 }]));
  return wishes.map(({ key, rate, readOnly }) => {
    const bucket = byKey.get(key);
    // A bucket without a row is full.
    if (readOnly) return bucketState(rate, Math.max(0, bucket?.fullInS ?? 0));
    if (bucket === undefined) throw new Error('the bucket statement returned too few rows');
    const admitted = bucket.given < bucket.taken;
    if (admitted) bucket.given += 1;
    const cost = 1 / rate.perSecond;
    // As it was when this wish had its turn: those behind it had not taken theirs yet.
    const fullInS = Math.max(0, bucket.fullInS - (bucket.taken - bucket.given) * cost);
    return { ...bucketState(rate, fullInS), admitted };
  });
}

/**
 * How a bucket stands that will be full again in `fullInS` seconds. It admits the next wish if it
 * holds a token.
 */
export function bucketState(rate: BucketRate, fullInS: number): BucketState {
  const remaining = Math.max(0, Math.floor(rate.burst - fullInS * rate.perSecond + ROUNDING));
  return {
    admitted: remaining > 0,
    remaining,
    retryAfterS: remaining > 0 ? 0 : Math.max(0, fullInS - (rate.burst - 1) / rate.perSecond),
    resetS: fullInS,
  };
}

/**
 * Takes so many tokens out of each bucket that is not empty, more than it holds if need be: what is
 * missing must flow in before there is a token again.
 *
 * @returns the states that decided, in the order of the buckets. Where one was not admitted, the
 *   others' tokens are taken all the same, unless the transaction is undone.
 */
export async function overdrawTokens(
  trx: Transaction,
  buckets: Bucket[],
  count: number,
): Promise<BucketState[]> {
  const found = await rows<{ key: string; taken: number; fullInS: number }>(
    trx,
    `WITH wanted AS MATERIALIZED (
       SELECT * FROM unnest(:keys::text[], :costs::float8[], :bursts::int[]) AS w (key, cost, burst)
     )
     INSERT INTO rate_limits AS r (key, full_at, asked_at, taken)
     SELECT key, now + :count * cost * interval '1 second', now, :count
     FROM clock_timestamp() AS now, wanted ORDER BY key
     ON CONFLICT (key) DO UPDATE SET (full_at, asked_at, taken) = (
       SELECT greatest(r.full_at, excluded.asked_at) + n * cost * interval '1 second', excluded.asked_at, n
       FROM wanted, LATERAL (SELECT CASE WHEN
         burst - greatest(extract(epoch FROM r.full_at - excluded.asked_at), 0) / cost + :rounding >= 1
         THEN :count::int ELSE 0 END AS n) AS free
       WHERE wanted.key = r.key)
     RETURNING key, taken, extract(epoch FROM full_at - asked_at)::float8 AS "fullInS"`,
    {
      keys: buckets.map(({ key }) => key),
      costs: buckets.map(({ rate }) => 1 / rate.perSecond),
      bursts: buckets.map(({ rate }) => rate.burst),
      count,
      rounding: ROUNDING,
    },
  );
  const byKey = new Map(found.map((one) => [one.key, one]));
  return buckets.map(({ key, rate }) => {
    const bucket = byKey.get(key);
    if (bucket === undefined) throw new Error('the bucket statement returned too few rows');
    return { ...bucketState(rate, bucket.fullInS), admitted: bucket.taken > 0 };
  });
}

function rateOf(wish: TokenWish | undefined): BucketRate {
  if (!wish) throw new Error('a bucket without a wish');
  return wish.rate;
}

/**
 * Forgets buckets that are full: a caller without a row has a full one.
 *
 * @returns whether there may be more
 */
export function deleteFullBuckets(db: Executor): Promise<boolean> {
  return sweep(db, 'rate_limits', 'key', 'full_at < (SELECT clock_timestamp())');
}
