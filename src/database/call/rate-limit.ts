import type { Executor, Transaction } from '../pool/connection';
import { sql, type Fragment } from '../pool/statement';
import { sweep } from '../query/sweep';

/**
 * Token buckets that all processes share, one row each (GCRA). Instead of a count, the row holds
 * the time at which the bucket will be full. A token moves that time by `1 / perSecond` seconds. A
 * token is left as long as the time is less than a full bucket ahead.
 */
export interface BucketRate {
  perSecond: number;
  /** Tokens in a full bucket. */
  burst: number;
}

export interface Bucket {
  key: string;
  rate: BucketRate;
}

/**
 * A request for tokens of a bucket, or only to read it. All wishes for one bucket have the same
 * rate.
 */
export interface TokenWish extends Bucket {
  /** All are taken or none; 1 by default, and never more than the burst. */
  count?: number;
  /** A second bucket that pays the same count, but only if the first has paid. */
  also?: Bucket;
  readOnly?: true;
}

export interface BucketState {
  admitted: boolean;
  /** Whole tokens left. */
  remaining: number;
  /** Seconds until the bucket has the tokens of the wish; 0 if it has. */
  retryAfterS: number;
  /** Seconds until the bucket is full. */
  resetS: number;
}

/** The first bucket's state, and the second's if it was asked. */
export interface TakenState extends BucketState {
  also?: BucketState;
}

/** Rounding errors of a float must not cost a caller a whole token. */
const ROUNDING = 1e-4;

/**
 * SQL: pays the `wishes`. Each bucket pays its first wishes that it has tokens for, so
 * that no token is taken without a wish. Rows are locked by ascending key, so that concurrent
 * statements cannot deadlock.
 */
const paid = (wishes: Fragment) => sql`
  INSERT INTO rate_limits AS r (key, full_at, asked_at, taken)
  SELECT key, now + n * cost * interval '1 second', now, n
  FROM clock_timestamp() AS now,
       (SELECT key, cost, coalesce(max(upto) FILTER (WHERE upto <= burst), 0) AS n FROM ${wishes} GROUP BY key, cost) AS b
  ORDER BY key
  ON CONFLICT (key) DO UPDATE SET (full_at, asked_at, taken) = (
    SELECT greatest(r.full_at, excluded.asked_at) + n * cost * interval '1 second', excluded.asked_at, n
    FROM (SELECT cost, coalesce(max(upto) FILTER (WHERE upto <=
            burst - greatest(extract(epoch FROM r.full_at - excluded.asked_at), 0) / cost + ${ROUNDING}), 0) AS n
          FROM ${wishes} WHERE key = r.key GROUP BY cost) AS b)
  RETURNING key, taken, extract(epoch FROM full_at - asked_at)::float8 AS full_in`;

/** SQL: the outcome of each of the `wishes`, and the state of its bucket then. */
const outcomes = (wishes: Fragment, payments: Fragment) => sql`
  SELECT nr, upto <= taken AS admitted, full_in - (taken - least(upto, taken)) * cost AS full_in_s
  FROM ${wishes} JOIN ${payments} USING (key)`;

/**
 * Takes the tokens of each wish whose bucket has them. The smallest wishes for a bucket come first,
 * and equal wishes in their order. One statement serves any number of wishes.
 */
export async function takeTokens(db: Executor, wishes: TokenWish[]): Promise<TakenState[]> {
  const keys = wishes.map(({ key }) => key);
  const costs = wishes.map(({ rate }) => 1 / rate.perSecond);
  const bursts = wishes.map(({ rate }) => rate.burst);
  const counts = wishes.map(countOf);
  const alsoKeys = wishes.map(({ also }) => also?.key ?? null);
  const alsoBursts = wishes.map(({ also }) => also?.rate.burst ?? null);
  const alsoCosts = wishes.map(({ also }) => (also ? 1 / also.rate.perSecond : null));
  const found = await db.rows<{ which: 'first' | 'second'; nr: number; admitted: boolean; fullInS: number }>`
    WITH wish AS MATERIALIZED (
      SELECT * FROM unnest(${keys}::text[], ${costs}::float8[], ${bursts}::int[], ${counts}::int[],
        ${alsoKeys}::text[], ${alsoCosts}::float8[], ${alsoBursts}::int[])
        WITH ORDINALITY AS w (key, cost, burst, count, also_key, also_cost, also_burst, nr)
    ), first AS MATERIALIZED (
      SELECT nr, key, cost, burst, sum(count) OVER (PARTITION BY key ORDER BY count, nr)::int AS upto
      FROM wish WHERE count > 0
    ), first_paid AS (${paid(sql`first`)}),
      first_outcome AS (${outcomes(sql`first`, sql`first_paid`)}
    ), second AS MATERIALIZED (
      SELECT nr, also_key AS key, also_cost AS cost, also_burst AS burst,
             sum(count) OVER (PARTITION BY also_key ORDER BY count, nr)::int AS upto
      FROM wish JOIN first_outcome USING (nr) WHERE admitted AND also_key IS NOT NULL
    ), second_paid AS (${paid(sql`second`)})
    SELECT 'first' AS which, nr::int, admitted, full_in_s FROM first_outcome
    UNION ALL SELECT 'second', nr::int, admitted, full_in_s
    FROM (${outcomes(sql`second`, sql`second_paid`)}) AS s
    UNION ALL SELECT 'first', nr::int, true, extract(epoch FROM full_at - clock_timestamp())::float8
    FROM wish JOIN rate_limits USING (key) WHERE count = 0`;
  const byWish = new Map(found.map((one) => [`${one.which} ${one.nr}`, one]));
  return wishes.map((wish, i) => {
    const first = byWish.get(`first ${i + 1}`);
    const second = byWish.get(`second ${i + 1}`);
    // A bucket without a row is full.
    if (wish.readOnly) return bucketState(wish.rate, Math.max(0, first?.fullInS ?? 0));
    if (first === undefined) throw new Error('the bucket statement returned too few rows');
    const stateIn = (rate: BucketRate, { admitted, fullInS }: typeof first) => ({
      ...bucketState(rate, Math.max(0, fullInS), countOf(wish)),
      admitted,
    });
    return {
      ...stateIn(wish.rate, first),
      ...(wish.also && second && { also: stateIn(wish.also.rate, second) }),
    };
  });
}

function countOf({ count = 1, readOnly }: TokenWish): number {
  return readOnly ? 0 : count;
}

/**
 * The state of a bucket that will be full in `fullInS` seconds. It admits a wish for `count` tokens
 * if it has as many.
 */
export function bucketState(rate: BucketRate, fullInS: number, count = 1): BucketState {
  const remaining = Math.max(0, Math.floor(rate.burst - fullInS * rate.perSecond + ROUNDING));
  return {
    admitted: remaining >= count,
    remaining,
    retryAfterS: remaining >= count ? 0 : Math.max(0, fullInS - (rate.burst - count) / rate.perSecond),
    resetS: fullInS,
  };
}

/**
 * Takes `count` tokens out of each bucket that is not empty. A bucket may go below zero, and then
 * has none until the debt has flowed in.
 *
 * @returns the states that decided, in the order of the buckets. If one was not admitted, the
 *   others' tokens are taken all the same, unless the transaction is undone.
 */
export async function overdrawTokens(
  trx: Transaction,
  buckets: Bucket[],
  count: number,
): Promise<BucketState[]> {
  const keys = buckets.map(({ key }) => key);
  const costs = buckets.map(({ rate }) => 1 / rate.perSecond);
  const bursts = buckets.map(({ rate }) => rate.burst);
  const found = await trx.rows<{ key: string; taken: number; fullInS: number }>`
    WITH wanted AS MATERIALIZED (
      SELECT * FROM unnest(${keys}::text[], ${costs}::float8[], ${bursts}::int[]) AS w (key, cost, burst)
    )
    INSERT INTO rate_limits AS r (key, full_at, asked_at, taken)
    SELECT key, now + ${count} * cost * interval '1 second', now, ${count}
    FROM clock_timestamp() AS now, wanted ORDER BY key
    ON CONFLICT (key) DO UPDATE SET (full_at, asked_at, taken) = (
      SELECT greatest(r.full_at, excluded.asked_at) + n * cost * interval '1 second', excluded.asked_at, n
      FROM wanted, LATERAL (SELECT CASE WHEN
        burst - greatest(extract(epoch FROM r.full_at - excluded.asked_at), 0) / cost + ${ROUNDING} >= 1
        THEN ${count}::int ELSE 0 END AS n) AS free
      WHERE wanted.key = r.key)
    RETURNING key, taken, extract(epoch FROM full_at - asked_at)::float8 AS full_in_s`;
  const byKey = new Map(found.map((one) => [one.key, one]));
  return buckets.map(({ key, rate }) => {
    const bucket = byKey.get(key);
    if (bucket === undefined) throw new Error('the bucket statement returned too few rows');
    return { ...bucketState(rate, bucket.fullInS), admitted: bucket.taken > 0 };
  });
}

/**
 * Deletes full buckets: a bucket without a row counts as full.
 *
 * @returns whether there may be more
 */
export function deleteFullBuckets(db: Executor): Promise<boolean> {
  return sweep(db, 'rate_limits', sql`full_at < (SELECT clock_timestamp())`);
}
