import { oneRow, rows, type Executor } from '../connection';
import type { Days } from './page';
import { LISTED_MAX, type Found, type Verified } from './verify';

/** Entries of the ledger up to which one night compares all there is: a minute of work. */
export const WHOLE_MAX = 1_000_000;

/**
 * Nights in which larger books are compared whole, a part in each. A week has time for a night that
 * is missed, and for a day that passes into the next part meanwhile.
 */
const PARTS = 5;

export interface Night {
  /** What to compare; several spans of larger books. */
  spans: Days[];
  /** Of larger books: 1 has the last days, and the last one the first. */
  part: number | null;
}

/**
 * All there is or, of larger books, what changed since the last result, and the part whose own
 * result is the oldest. The later days come first: none passes by between two nights.
 *
 * @param wholeMax entries up to which all there is is compared
 */
export async function planNight(db: Executor, timeZone: string, wholeMax: number): Promise<Night> {
  const { isLarge, since, from, to, part } = await oneRow<
    Days & { isLarge: boolean; since: string; part: number }
  >(
    db,
    // All days are as many as the database is old.
    `SELECT EXISTS (SELECT FROM ledger_entries OFFSET :wholeMax::int) AS is_large, since::text, part,
       CASE WHEN part < ${PARTS} THEN (first + days * (${PARTS} - part) / ${PARTS})::text END AS from,
       CASE WHEN part > 1 THEN (first + days * (${PARTS} + 1 - part) / ${PARTS} - 1)::text END AS to
     FROM (SELECT part, max(verified_at) OVER () AS last_at FROM books_verified ORDER BY verified_at, part LIMIT 1) AS next,
       deployment,
       LATERAL (SELECT (last_at AT TIME ZONE :timeZone)::date - 1, (recorded_at AT TIME ZONE :timeZone)::date) AS d (since, first),
       LATERAL (SELECT (clock_timestamp() AT TIME ZONE :timeZone)::date - first) AS age (days)`,
    { wholeMax, timeZone },
  );
  if (!isLarge) return { spans: [{ from: null, to: null }], part: null };
  return {
    spans: [
      { from: since, to: null },
      { from, to },
    ],
    part,
  };
}

/** Keeps a result in place of the last of its part; null for all books, and so for each part. */
export async function keepResult(
  db: Executor,
  { differences, found }: Verified,
  part: number | null,
): Promise<void> {
  await rows(
    db,
    `UPDATE books_verified SET differences = :differences, found = :found, verified_at = now()
     WHERE part = coalesce(:part, part)`,
    { differences, found: JSON.stringify(found), part },
  );
}

export interface LastResult {
  /** Null before the first. */
  differences: number | null;
  found: Found[];
  verifiedAt: Date;
  ageS: number;
}

/** By the last result of each part. Two may have found the same, which counts once. */
export async function readLastResult(db: Executor): Promise<LastResult> {
  return oneRow<LastResult>(
    db,
    `SELECT CASE WHEN most IS NOT NULL THEN greatest(most, jsonb_array_length(all_found)) END AS differences,
       jsonb_path_query_array(all_found, '$[0 to ${LISTED_MAX - 1}]') AS found, at AS verified_at,
       greatest(extract(epoch FROM clock_timestamp() - at), 0)::float8 AS age_s
     FROM (SELECT max(differences) AS most, max(verified_at) AS at FROM books_verified) AS last,
       (SELECT coalesce(jsonb_agg(DISTINCT one), '[]') AS all_found
        FROM books_verified, jsonb_array_elements(found) AS one) AS of_parts`,
  );
}

/** It runs each night, and may take hours. */
export const VERIFY_SILENT_AFTER_S = 2 * 86_400;
