import { STREAMS, type Head } from '../../domain/books/chain';
import { addDays } from '../../domain/calendar';
import { lastHead, publicKeys, readHead, type PublicKeys } from '../chain/sign-head';
import { chainKeys } from '../chain/chain-key';
import type { Database, Executor } from '../pool/connection';
import { sql } from '../pool/statement';
import { dayBegin } from '../clock/day-begin';
import { compareBalances } from './compare-balances';
import { compareHeads } from './compare-heads';
import { compareLinks } from './compare-links';
import { compareMoney } from './compare-money';
import type { Days, Difference, Page, Pages } from './read-in-pages';

/**
 * `books verify`: compares the ledger with itself, with the rows of money and their webhooks, and
 * all of them with the chains. It writes nothing but its last result.
 */

export async function provenKeys(db: Executor): Promise<PublicKeys> {
  return publicKeys(await chainKeys(db));
}

/**
 * Compares everything, or all that was chained, created, changed and posted on some days. Adjoining
 * spans of days leave nothing out between them.
 */
export async function* compareBooks(db: Database, keys: PublicKeys, days: Days): Pages {
  const next = days.to === null ? null : addDays(days.to, 1);
  const [first, last] = [await tipsBefore(db, days.from), await tipsBefore(db, next)];
  for (const stream of STREAMS) {
    const end = next === null ? null : (last?.[stream]?.n ?? 0);
    yield* compareLinks(db, stream, first?.[stream]?.n ?? 0, end);
  }
  yield* compareHeads(db, keys);
  yield* compareBalances(db, days);
  const [from, end] = [await beginOf(db, days.from), await beginOf(db, next)];
  yield* compareMoney(db, from, end);
}

export async function* compareSpans(db: Database, keys: PublicKeys, spans: Days[]): Pages {
  for (const days of spans) yield* compareBooks(db, keys, days);
}

/** The ends of the chains when a day began. */
async function tipsBefore(db: Executor, day: string | null): Promise<Partial<Head['tips']> | undefined> {
  const head = day === null ? undefined : await lastHead(db, day);
  return head && readHead(head.jws)?.tips;
}

async function beginOf(db: Executor, day: string | null): Promise<Date | null> {
  if (day === null) return null;
  const { at } = await db.oneRow<{ at: Date }>`SELECT ${dayBegin(sql`${day}`, db.timeZone)} AS at`;
  return at;
}

export interface Found extends Difference {
  check: string;
}

export interface Verified {
  /** Rows compared, by check. */
  compared: Record<string, number>;
  differences: number;
  found: Found[];
}

/** Differences listed: more have one cause to look for. */
export const LISTED_MAX = 100;
/** Differences remembered, to count what two walks find once: some megabytes. */
const KNOWN_MAX = 10_000;

const nameOf = ({ id, what }: Difference): string => `${id} ${what}`;

/** @param heartbeat called after each page with the result so far and the page's check */
export async function verify(
  pages: AsyncIterable<Page>,
  heartbeat: (so: Verified, check: string) => void,
): Promise<Verified> {
  const report: Verified = { compared: {}, differences: 0, found: [] };
  const known = new Set<string>();
  for await (const { check, checked, differences } of pages) {
    report.compared[check] = (report.compared[check] ?? 0) + checked;
    for (const { id, what } of differences) {
      const one = { check, id, what };
      if (known.has(nameOf(one))) continue;
      if (known.size < KNOWN_MAX) known.add(nameOf(one));
      report.differences += 1;
      if (report.found.length < LISTED_MAX) report.found.push(one);
    }
    heartbeat(report, check);
  }
  return report;
}
