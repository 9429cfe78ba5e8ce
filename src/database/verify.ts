import { faultWords, NOT_COMPARED } from '../domain/words/verify-words';
import { compareAnnouncements } from './announcement-check';
import { checkChains } from './chain/check';
import { publicKeys, type PublicKeys } from './chain/head';
import { chainKeys } from './chain/key';
import type { Compared, Range } from './compared';
import { oneRow, rows, type Executor, type Transaction } from './connection';
import type { Keyring } from './keys/keyring';
import { compareLedger } from './ledger/check';
import { comparePeriods } from './ledger/period-check';
import { compareStatements, type FileMeans } from './ledger/statement-check';
import { compareTrails } from './trail';

/** `books verify`: all comparisons of the books, and their last result. */

export interface Means extends FileMeans {
  /** Keys that heads may be signed with. */
  keys: PublicKeys;
}

const CHECKS: ((means: Means, range: Range) => AsyncIterable<Compared>)[] = [
  ({ db, keys }, range) => checkChains(db, keys, range),
  ({ db }, range) => compareLedger(db, range),
  ({ db }, range) => compareTrails(db, range),
  ({ db }, range) => compareAnnouncements(db, range),
  ({ db }, range) => comparePeriods(db, range),
  compareStatements,
];

/** The keys that the ring proves to be the network's. */
export async function provenKeys(db: Executor, ring: Keyring): Promise<PublicKeys> {
  return publicKeys(await chainKeys(db, ring));
}

/** Whether the ring proves all keys of the chain: an auditor's ring proves none. */
export async function isOwnRing(db: Executor, keys: PublicKeys): Promise<boolean> {
  const { count } = await oneRow<{ count: number }>(db, `SELECT count(*)::int AS count FROM chain_keys`);
  return keys.size === count;
}

export async function* compareBooks(means: Means, range: Range): AsyncGenerator<Compared, void, undefined> {
  for (const check of CHECKS) yield* check(means, range);
}

/** Entries of the ledger up to which one night compares all there is. */
export const WHOLE_MAX = 1_000_000;

/** Days whose rows every night compares: a night may be missed. */
const CHANGED_DAYS = 3;

/**
 * A night's comparisons: all there is or, of larger books, the last days and one of six checks
 * whole.
 */
export async function* compareNightly(
  means: Means,
  { part, since }: Night,
  timeZone: string,
): AsyncGenerator<Compared, void, undefined> {
  const whole: Range = { from: null, to: null, timeZone };
  for (const [n, check] of CHECKS.entries()) {
    yield* check(means, since === null || n === part ? whole : { ...whole, from: since });
  }
}

export interface Night {
  /** The check that is made whole; 0 where all are. */
  part: number;
  /** The first day of the other checks; null where all are made whole. */
  since: string | null;
}

/** @param wholeMax entries up to which all there is is compared */
export async function planNight(db: Executor, timeZone: string, wholeMax: number): Promise<Night> {
  const { isLarge, day, since } = await oneRow<{ isLarge: boolean; day: number; since: string }>(
    db,
    `SELECT (SELECT count(*) FROM (SELECT FROM ledger_entries LIMIT :wholeMax::int + 1) AS entries) > :wholeMax AS "isLarge",
       today - date '2000-01-01' AS day, (today - ${CHANGED_DAYS})::text AS since
     FROM (SELECT (clock_timestamp() AT TIME ZONE :timeZone)::date AS today) AS now`,
    { wholeMax, timeZone },
  );
  return isLarge ? { part: day % CHECKS.length, since } : { part: 0, since: null };
}

export interface Found {
  check: string;
  id: string;
  what: string;
}

export interface Verified {
  /** How many of each were looked at. */
  compared: Record<string, number>;
  /** How many of each could not be, and why. */
  notCompared: Record<string, { count: number; why: string }>;
  differences: number;
  /** The first of them all. */
  found: Found[];
}

/** Differences that are told one by one: more have one cause to look for. */
const LISTED_MAX = 100;

/** @param beat told of what there is so far after each page, with the check of the page */
export async function verify(
  all: AsyncIterable<Compared>,
  beat: (so: Verified, check: string) => void,
): Promise<Verified> {
  const report: Verified = { compared: {}, notCompared: {}, differences: 0, found: [] };
  for await (const { check, checked, differences, notCompared } of all) {
    report.compared[check] = (report.compared[check] ?? 0) + checked;
    if (notCompared) {
      const count = (report.notCompared[check]?.count ?? 0) + notCompared.count;
      report.notCompared[check] = { count, why: NOT_COMPARED[notCompared.why] };
    }
    report.differences += differences.length;
    report.found.push(...differences.map((one) => ({ check, id: one.id, what: faultWords(one) })));
    report.found.splice(LISTED_MAX);
    beat(report, check);
  }
  return report;
}

/** Differences that are kept of a result, for the operator who asks how the service is. */
const KEPT_MAX = 10;

/** Keeps the result in place of earlier ones: of its part, or of all where it compared all. */
export async function keepResult(
  trx: Transaction,
  { part, since }: Night,
  { differences, found }: Pick<Verified, 'differences' | 'found'>,
): Promise<void> {
  await rows(trx, `DELETE FROM books_verified WHERE :isWhole OR part = :part OR differences IS NULL`, {
    isWhole: since === null,
    part,
  });
  await rows(
    trx,
    `INSERT INTO books_verified (part, differences, found) VALUES (:part, :differences, :found)
     ON CONFLICT (part) DO UPDATE SET differences = excluded.differences, found = excluded.found, verified_at = excluded.verified_at`,
    { part, differences, found: JSON.stringify(found.slice(0, KEPT_MAX)) },
  );
}

export interface LastResult {
  /** Null before the first. */
  differences: number | null;
  found: Found[];
  verifiedAt: Date;
  ageS: number;
}

/** The last result, of all parts together. */
export async function readLastResult(db: Executor): Promise<LastResult> {
  const { found, ...last } = await oneRow<Omit<LastResult, 'found'> & { found: Found[][] }>(
    db,
    `SELECT sum(differences)::int AS differences, jsonb_agg(found ORDER BY verified_at DESC) AS found,
       max(verified_at) AS "verifiedAt",
       greatest(extract(epoch FROM clock_timestamp() - max(verified_at)), 0)::float8 AS "ageS"
     FROM books_verified`,
  );
  return { ...last, found: found.flat() };
}

/** It runs each night, and may take hours. */
export const VERIFY_SILENT_AFTER_S = 2 * 86_400;
