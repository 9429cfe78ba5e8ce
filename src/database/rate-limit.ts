import { row, rows, type Executor } from './connection';

/**
 * Token buckets shared by every process, as one row and one statement each (GCRA): instead of a count the
 * row holds the moment at which the bucket will be full again. A token costs `1 / perSecond` seconds of it,
 * and there is one as long as that moment lies less than the whole bucket ahead.
 */
export interface BucketRate {
  /** Tokens that flow in each second. */
  perSecond: number;
  /** Tokens that the bucket holds when full. */
  burst: number;
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

/** Takes one token out of the bucket named `key`, if it holds one. */
export async function takeToken(db: Executor, key: string, rate: BucketRate): Promise<BucketState> {
  const cost = 1 / rate.perSecond;
  const taken = await row<{ admitted: boolean; fullInS: number }>(
    db,
    // `excluded.full_at` is now + cost, and all that is said about now is said through it: one reading of
    // the clock decides. Equality is within a microsecond, which is what Postgres keeps.
    `INSERT INTO rate_limits AS r (key, full_at, asked_at, admitted)
     SELECT :key, now + :cost * interval '1 second', now, true FROM clock_timestamp() AS now
     ON CONFLICT (key) DO UPDATE SET
       asked_at = excluded.asked_at,
       admitted = r.full_at <= excluded.full_at + :slack * interval '1 second',
       full_at = CASE WHEN r.full_at <= excluded.full_at + :slack * interval '1 second'
                 THEN greatest(r.full_at + :cost * interval '1 second', excluded.full_at)
                 ELSE r.full_at END
     RETURNING admitted, extract(epoch FROM full_at - asked_at)::float8 AS "fullInS"`,
    { key, cost, slack: (rate.burst - 2) * cost },
  );
  if (taken === undefined) throw new Error('the bucket statement returned no row');
  // A float's last digits must not cost a caller a whole token.
  const remaining = Math.max(0, Math.floor(rate.burst - taken.fullInS * rate.perSecond + 1e-4));
  return {
    admitted: taken.admitted,
    remaining,
    retryAfterS: remaining > 0 ? 0 : Math.max(0, taken.fullInS - (rate.burst - 1) * cost),
    resetS: Math.max(0, taken.fullInS),
  };
}

/** Most rows that one housekeeping statement deletes, so that it never holds locks for long. */
const SWEEP = 1_000;

/**
 * Forgets buckets that are full: a caller without a row has a full one.
 *
 * @returns whether there may be more
 */
export async function deleteFullBuckets(db: Executor): Promise<boolean> {
  const deleted = await rows(
    db,
    `DELETE FROM rate_limits WHERE key IN (
       SELECT key FROM rate_limits WHERE full_at < clock_timestamp() LIMIT :sweep FOR UPDATE SKIP LOCKED) RETURNING true`,
    { sweep: SWEEP },
  );
  return deleted.length === SWEEP;
}
