import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import type { Days } from './read-in-pages';
import { LISTED_MAX, type Found, type Verified } from './verify-books';

/** Ledger entries that one night compares in full: a minute of work. */
export const WHOLE_MAX = 1_000_000;

/**
 * Parts of larger books, one for each night. A week then has room for a missed night, and for days
 * that pass into the next part meanwhile.
 */
const PARTS = 5;

interface Night {
  /** The days to compare; larger books have several spans. */
  spans: Days[];
  /** The part of larger books: part 1 has the last days, the highest the first. */
  part: number | null;
}

/**
 * Plans to compare everything. Larger books take two spans: the days since the last result, and the
 * part with the oldest result. The parts with the latest days come first, so that no day moves out
 * of a part unseen between two nights.
 *
 * @param wholeMax entries up to which everything is compared
 */
export async function planNight(db: Executor, wholeMax: number): Promise<Night> {
  // The days since the database was created, divided into parts.
  const { isLarge, since, from, to, part } = await db.oneRow<
    Days & { isLarge: boolean; since: string; part: number }
  >`
    SELECT EXISTS (SELECT FROM ledger_entries OFFSET ${wholeMax}::int) AS is_large, since::text, part,
      CASE WHEN part < ${raw(PARTS)} THEN (first + days * (${raw(PARTS)} - part) / ${raw(PARTS)})::text END AS from,
      CASE WHEN part > 1 THEN (first + days * (${raw(PARTS)} + 1 - part) / ${raw(PARTS)} - 1)::text END AS to
    FROM (SELECT part, max(verified_at) OVER () AS last_at FROM books_verified ORDER BY verified_at, part
    LIMIT 1) AS next,
      deployment,
      LATERAL (SELECT (last_at AT TIME ZONE ${db.timeZone})::date - 1,
      (recorded_at AT TIME ZONE ${db.timeZone})::date) AS d (since, first),
      LATERAL (SELECT (clock_timestamp() AT TIME ZONE ${db.timeZone})::date - first) AS age (days)`;
  if (!isLarge) return { spans: [{ from: null, to: null }], part: null };
  return {
    spans: [
      { from: since, to: null },
      { from, to },
    ],
    part,
  };
}

/** Replaces the last result of a part; null is a result for all books, and so for each part. */
export async function keepResult(
  db: Executor,
  { differences, found }: Verified,
  part: number | null,
): Promise<void> {
  await db.rows`
    UPDATE books_verified SET differences = ${differences}, found = ${JSON.stringify(found)},
      verified_at = now()
    WHERE part = coalesce(${part}, part)`;
}

export interface LastResult {
  /** Null before the first result. */
  differences: number | null;
  found: Found[];
  verifiedAt: Date;
  ageS: number;
}

/** Combines the last results of all parts. A difference that two parts found counts once. */
export async function readLastResult(db: Executor): Promise<LastResult> {
  return db.oneRow<LastResult>`
    SELECT CASE WHEN most IS NOT NULL THEN greatest(most, jsonb_array_length(all_found)) END AS differences,
      jsonb_path_query_array(all_found, '$[0 to ${raw(LISTED_MAX - 1)}]') AS found, at AS verified_at,
      greatest(extract(epoch FROM clock_timestamp() - at), 0)::float8 AS age_s
    FROM (SELECT max(differences) AS most, max(verified_at) AS at FROM books_verified) AS last,
      (SELECT coalesce(jsonb_agg(DISTINCT one), '[]') AS all_found
       FROM books_verified, jsonb_array_elements(found) AS one) AS of_parts`;
}

/** The job runs each night, and may take hours. */
export const VERIFY_SILENT_AFTER_S = 2 * 86_400;
