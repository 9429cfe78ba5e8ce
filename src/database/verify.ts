import { STREAMS } from '../domain/books/chain';
import { addDays } from '../domain/calendar';
import { checkDays, checkHeads, checkLinks, checkUnchained, LINKS_OF } from './chain/check';
import { publicKeys, type PublicKeys } from './chain/head';
import { chainKeys } from './chain/key';
import { ROWS_OF } from './chain/stream';
import { isWhole, type Days, type Difference, type Page } from './compared';
import { oneRow, rows, type Database, type Executor } from './connection';
import { firstIdAt } from './ids';
import type { Keyring } from './keys/keyring';
import { compareBalances } from './ledger/check';
import { compareChanged, compareRows, ROW_CHECKS } from './money-rows';

/**
 * `books verify`: compares the ledger with itself, with the rows of money, their webhooks and
 * exceptions, and all of it with the chains. It writes nothing but its last result.
 */

export interface Means {
  db: Database;
  /** Keys that heads may be signed with. */
  keys: PublicKeys;
  timeZone: string;
}

/** In the order in which they are made; each can go on from a place of its own. */
const CHECKS: [check: string, from: (means: Means, after: string | null) => AsyncIterable<Page>][] = [
  ...STREAMS.map((stream): (typeof CHECKS)[number] => [
    LINKS_OF[stream],
    ({ db }, after) => checkLinks(db, stream, after),
  ]),
  ['unchained', ({ db }) => checkUnchained(db)],
  ['heads', ({ db, keys }) => checkHeads(db, keys)],
  ...ROW_CHECKS.map((check): (typeof CHECKS)[number] => [
    check,
    ({ db }, after) => compareRows(db, check, after),
  ]),
  ['balances', ({ db }, after) => compareBalances(db, after)],
];

const OF_CHAINS = new Set<string>([...Object.values(LINKS_OF), 'unchained', 'heads']);
const ORDER = CHECKS.map(([check]) => check);

/** The keys that the ring proves to be the network's. */
export async function provenKeys(db: Executor, ring: Keyring): Promise<PublicKeys> {
  return publicKeys(await chainKeys(db, ring));
}

/** Whether the ring proves all keys of the chain: an auditor's ring proves none. */
export async function isOwnRing(db: Executor, keys: PublicKeys): Promise<boolean> {
  const { count } = await oneRow<{ count: number }>(db, `SELECT count(*)::int AS count FROM chain_keys`);
  return keys.size === count;
}

/** All checks of the chains, or all others. */
async function* inTurn(means: Means, ofChains: boolean): AsyncGenerator<Page, void, undefined> {
  for (const [name, check] of CHECKS) if (OF_CHAINS.has(name) === ofChains) yield* check(means, null);
}

/** Pages of several walks as they come: while one waits for Postgres, the other goes on. */
async function* together(...walks: AsyncGenerator<Page>[]): AsyncGenerator<Page, void, undefined> {
  const ahead = new Map(walks.map((walk) => [walk, walk.next()]));
  while (ahead.size > 0) {
    const first = [...ahead].map(async ([walk, page]) => [walk, await page] as const);
    const [walk, page] = await Promise.race(first);
    if (page.done) ahead.delete(walk);
    else {
      ahead.set(walk, walk.next());
      yield page.value;
    }
  }
}

/** Compares all there is or, of some days, what was written, posted and chained on them. */
export async function* compareBooks(means: Means, days: Days): AsyncGenerator<Page, void, undefined> {
  if (isWhole(days)) yield* together(inTurn(means, true), inTurn(means, false));
  else yield* compareDays(means, days);
}

async function* compareDays(
  { db, keys, timeZone }: Means,
  days: Days,
): AsyncGenerator<Page, void, undefined> {
  const { from, to } = days;
  yield* checkDays(db, keys, days);
  yield* compareChanged(db, {
    first: firstIdAt('event', from === null ? new Date(0) : await beginOf(db, timeZone, from)),
    end: to === null ? 'evt_zz' : firstIdAt('event', await beginOf(db, timeZone, addDays(to, 1))),
  });
  yield* compareBalances(db, from === null ? null : addDays(from, -1), to ?? 'infinity');
}

async function beginOf(db: Executor, timeZone: string, day: string): Promise<Date> {
  const begin = await oneRow<{ at: Date }>(db, `SELECT :day::timestamp AT TIME ZONE :timeZone AS at`, {
    day,
    timeZone,
  });
  return begin.at;
}

/** Entries of the ledger up to which one night compares all there is: a minute of work. */
export const WHOLE_MAX = 1_000_000;

/**
 * Nights in which larger books are compared whole. A week has time for a night that is missed, and
 * for books that grow meanwhile.
 */
const NIGHTS = 5;

/** Where the rolling part of larger books goes on, and how often it has been through. */
export interface Place {
  round: number;
  check: string;
  after: string | null;
}

export interface Night {
  /** The rolling part; null where all there is is compared. */
  rolling: { place: Place; size: number } | null;
  /** The first day of what changed since the last result. */
  since: string;
}

const FIRST: Place = { round: 0, check: CHECKS[0]?.[0] ?? '', after: null };

/** @param wholeMax entries up to which all there is is compared */
export async function planNight(db: Executor, timeZone: string, wholeMax: number): Promise<Night> {
  const { isLarge, since, place, size } = await oneRow<{
    isLarge: boolean;
    since: string;
    place: Place | null;
    size: number;
  }>(
    db,
    `SELECT EXISTS (SELECT FROM ledger_entries OFFSET :wholeMax::int) AS "isLarge", place,
       ((verified_at AT TIME ZONE :timeZone)::date - 1)::text AS since,
       ceil(greatest((${STREAMS.map((stream) => `(SELECT coalesce(max(n), 0) FROM ${ROWS_OF[stream].chain})`).join(' + ')} +
         (SELECT sum(greatest(reltuples, 0)) FROM pg_class
          WHERE oid = ANY('{billing_requests,refunds,reversals,reconciliation_exceptions}'::regclass[]))) / ${NIGHTS}.0, 1))::float8 AS size
     FROM books_verified`,
    { wholeMax, timeZone },
  );
  return { since, rolling: isLarge ? { place: place ?? FIRST, size } : null };
}

/**
 * A night's comparisons: all there is or, of larger books, what changed since the last result and
 * a part that goes on where the last one ended.
 *
 * @param moved told where the rolling part has come to
 */
export async function* compareNightly(
  means: Means,
  { rolling, since }: Night,
  moved: (place: Place) => void,
): AsyncGenerator<Page, void, undefined> {
  yield* compareBooks(means, { from: rolling ? since : null, to: null });
  if (!rolling) return;
  let { round, check, after } = rolling.place;
  for (let left = rolling.size, steps = 0; left > 0 && steps < CHECKS.length; steps++) {
    const at = CHECKS.findIndex(([name]) => name === check);
    let next: string | null = null;
    for await (const page of CHECKS[at]?.[1](means, after) ?? []) {
      yield page;
      left -= page.checked;
      ({ next } = page);
      // A check without places goes to its end.
      if (left <= 0 && next !== null) break;
    }
    const following = CHECKS[at + 1] ?? CHECKS[0];
    if (next === null && following) {
      round += following === CHECKS[0] ? 1 : 0;
      [check] = following;
    }
    after = next;
    moved({ round, check, after });
  }
}

export interface Found extends Difference {
  check: string;
}

export interface Verified {
  /** How many of each were looked at. */
  compared: Record<string, number>;
  differences: number;
  /** The first of them. */
  found: Found[];
}

/** Differences that are told one by one: more have one cause to look for. */
const LISTED_MAX = 100;
/** Differences that are known again, should two parts find the same: some megabytes. */
const KNOWN_MAX = 10_000;

const nameOf = ({ check, id, what }: Found) => `${check} ${id} ${what}`;

const inOrder = (one: string, other: string) => ORDER.indexOf(one) - ORDER.indexOf(other);

/** @param beat told of what there is so far after each page, with the check of the page */
export async function verify(
  all: AsyncIterable<Page>,
  beat: (so: Verified, check: string) => void,
): Promise<Verified> {
  const report: Verified = { compared: {}, differences: 0, found: [] };
  const known = new Set<string>();
  for await (const { check, checked, differences } of all) {
    report.compared[check] = (report.compared[check] ?? 0) + checked;
    for (const { id, what } of differences) {
      const one = { check, id, what };
      if (known.has(nameOf(one))) continue;
      if (known.size < KNOWN_MAX) known.add(nameOf(one));
      report.differences += 1;
      if (report.found.length < LISTED_MAX) report.found.push(one);
    }
    beat(report, check);
  }
  report.found.sort((one, other) => inOrder(one.check, other.check));
  const compared = Object.entries(report.compared).toSorted(([one], [other]) => inOrder(one, other));
  return { ...report, compared: Object.fromEntries(compared) };
}

type KeptFound = Found & { round: number };

/** Keeps the result of all there is, in place of all earlier ones. */
export async function keepResult(db: Executor, { differences, found }: Verified): Promise<void> {
  await rows(
    db,
    `UPDATE books_verified SET differences = :differences, verified_at = clock_timestamp(),
       found = (SELECT coalesce(jsonb_agg(f || jsonb_build_object('round', coalesce((place->>'round')::int, 0))), '[]')
                FROM jsonb_array_elements(:found::jsonb) AS f)`,
    { differences, found: JSON.stringify(found) },
  );
}

/**
 * Keeps the result of a night of larger books. What earlier nights found stands until the rolling
 * part has been there again.
 */
export async function keepPart(db: Executor, verified: Verified, place: Place): Promise<void> {
  const { kept } = await oneRow<{ kept: KeptFound[] }>(db, `SELECT found AS kept FROM books_verified`);
  const isDue = ({ round, check }: KeptFound) =>
    round === place.round ||
    (round === place.round - 1 && ORDER.indexOf(check) >= ORDER.indexOf(place.check));
  const now = new Set(verified.found.map(nameOf));
  const found = [
    ...verified.found.map((one) => ({ ...one, round: place.round })),
    ...kept.filter((one) => isDue(one) && !now.has(nameOf(one))),
  ];
  await rows(
    db,
    `UPDATE books_verified SET differences = :differences, found = :found, place = :place, verified_at = clock_timestamp()`,
    {
      differences: Math.max(verified.differences, found.length),
      found: JSON.stringify(found.slice(0, LISTED_MAX)),
      place: JSON.stringify(place),
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
