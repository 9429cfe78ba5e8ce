import { addDays } from '../../domain/calendar';
import { oneRow, rows, type Executor } from '../connection';
import type { Days } from './page';
import { LISTED_MAX, nameOf, type Found, type Verified } from './verify';

/** Entries of the ledger up to which one night compares all there is: a minute of work. */
export const WHOLE_MAX = 1_000_000;

/**
 * Nights in which larger books are compared whole. A week has time for a night that is missed, and
 * for books that grow meanwhile.
 */
const NIGHTS = 5;

export interface Night {
  /** What to compare; several spans of larger books. */
  spans: Days[];
  part: Part | null;
}

/**
 * Of larger books, the last day of the night's part, null for all days that follow; and how often
 * all were compared before.
 */
interface Part {
  to: string | null;
  round: number;
}

/**
 * All there is or, of larger books, what changed since the last result and the part behind that of
 * the last night.
 *
 * @param wholeMax entries up to which all there is is compared
 */
export async function planNight(db: Executor, timeZone: string, wholeMax: number): Promise<Night> {
  const { isLarge, since, from, to, round } = await oneRow<
    Days & { isLarge: boolean; since: string; round: number }
  >(
    db,
    // All days are as many as the database is old.
    `SELECT EXISTS (SELECT FROM ledger_entries OFFSET :wholeMax::int) AS "isLarge", since::text, part_from::text AS from,
       CASE WHEN upto < today THEN upto::text END AS to, round
     FROM books_verified, deployment,
       LATERAL (SELECT (verified_at AT TIME ZONE :timeZone)::date - 1, (clock_timestamp() AT TIME ZONE :timeZone)::date,
         (recorded_at AT TIME ZONE :timeZone)::date) AS d (since, today, first),
       LATERAL (SELECT coalesce(part_from, first) + (today - first) / ${NIGHTS}) AS part (upto)`,
    { wholeMax, timeZone },
  );
  if (!isLarge) return { spans: [{ from: null, to: null }], part: null };
  const changed = { from: since, to: null };
  return { spans: [changed, { from, to }], part: { to, round } };
}

/**
 * Keeps a result in place of the last one. What earlier parts of larger books found stands until
 * all parts were compared again.
 */
export async function keepResult(
  db: Executor,
  { differences, found }: Verified,
  part: Part | null,
): Promise<void> {
  const { kept } = await oneRow<{ kept: (Found & { round: number })[] }>(
    db,
    `SELECT found AS kept FROM books_verified`,
  );
  const round = part?.round ?? 0;
  const nextRound = part?.to === null ? round + 1 : round;
  const now = new Set(found.map(nameOf));
  const all = [
    ...found.map((one) => ({ ...one, round })),
    ...kept.filter((one) => part !== null && one.round >= nextRound - 1 && !now.has(nameOf(one))),
  ];
  await rows(
    db,
    `UPDATE books_verified SET differences = :differences, found = :found, part_from = :partFrom, round = :round,
       verified_at = clock_timestamp()`,
    {
      differences: Math.max(differences, all.length),
      found: JSON.stringify(all.slice(0, LISTED_MAX)),
      partFrom: part?.to ? addDays(part.to, 1) : null,
      round: nextRound,
    },
  );
}

export interface LastResult {
  /** Null before the first. */
  differences: number | null;
  found: Found[];
  verifiedAt: Date;
  ageS: number;
}

export async function readLastResult(db: Executor): Promise<LastResult> {
  return oneRow<LastResult>(
    db,
    `SELECT differences, found, verified_at AS "verifiedAt",
       greatest(extract(epoch FROM clock_timestamp() - verified_at), 0)::float8 AS "ageS"
     FROM books_verified`,
  );
}

/** It runs each night, and may take hours. */
export const VERIFY_SILENT_AFTER_S = 2 * 86_400;
