import { GENESIS, headHash, linkHash, STREAMS, type Stream } from '../../domain/books/chain';
import { counted } from '../../domain/words/counted';
import type { Days, Difference, Page } from '../compared';
import { oneRow, row, rows, type Database } from '../connection';
import { CHAIN_SILENT_AFTER_S, lastLink } from './advance';
import { headBefore, headUpTo, isSigned, readHead, readHeads, signerOf } from './head';
import type { PublicKeys, StoredHead } from './head';
import { ROWS_OF } from './stream';

/**
 * Makes the chains anew from the rows, and compares. After a wrong link it goes on from that link
 * as it stands, so one change is told once.
 */

/** Links of a page, with what their rows say: some ten milliseconds of Postgres, and a megabyte. */
const PAGE = 2_000;

export const LINKS_OF = { ledger: 'ledgerChain', events: 'eventChain', acts: 'actChain' } as const;

interface Link {
  n: bigint;
  rowId: string;
  hash: string;
  /** Null where the row is gone. */
  content: string | null;
}

/** @param after the link to begin after; null for all of them */
export async function* checkLinks(
  db: Database,
  stream: Stream,
  after: string | null,
  end: number | null = null,
): AsyncGenerator<Page, void, undefined> {
  const { table, chain, idType, called, content } = ROWS_OF[stream];
  const read = (n: bigint) =>
    rows<Link>(
      db,
      `SELECT c.n, c.row_id::text AS "rowId", encode(c.hash, 'hex') AS hash,
         (SELECT ${content} FROM ${table} r WHERE r.id = c.row_id::${idType}) AS content
       FROM (SELECT * FROM ${chain} WHERE n > :n AND n <= coalesce(:end::bigint, n) ORDER BY n LIMIT ${PAGE}) AS c
       ORDER BY c.n`,
      { n, end },
    );
  let n = BigInt(after ?? 0);
  let previous = (await hashOf(db, stream, n)) ?? GENESIS;
  let next = read(n);
  for (;;) {
    const page = await next;
    const last = page[PAGE - 1];
    // Postgres reads the next page while this one is hashed.
    if (last) next = read(last.n);
    next.catch(() => undefined);
    const differences: Difference[] = [];
    for (const link of page) {
      const what = wrongWithLink(link, n, previous, stream);
      if (what) differences.push({ id: `${called} ${link.rowId}`, what });
      ({ n, hash: previous } = link);
    }
    yield { check: LINKS_OF[stream], checked: page.length, differences, next: last ? String(n) : null };
    if (!last) return;
  }
}

function wrongWithLink(link: Link, before: bigint, previous: string, stream: Stream): string | undefined {
  const { n, hash, content } = link;
  if (n !== before + 1n)
    return `before its link ${n} of the chain ${counted(Number(n - before) - 1, 'links')} ${n - before === 2n ? 'was' : 'were'} deleted`;
  if (content === null) return `its link ${n} of the chain is there, and its row was deleted`;
  const due = linkHash(previous, stream, content);
  if (due === hash) return undefined;
  return `its row or its link ${n} was changed since it was chained: the link is ${hash}, and what the row says makes ${due}`;
}

async function hashOf(db: Database, stream: Stream, n: bigint | number): Promise<string | undefined> {
  const link = await row<{ hash: string }>(
    db,
    `SELECT encode(hash, 'hex') AS hash FROM ${ROWS_OF[stream].chain} WHERE n = :n`,
    { n },
  );
  return link?.hash;
}

const tipsOf = (head: StoredHead | undefined) => (head ? readHead(head.jws)?.tips : undefined);

/** The links, and the heads, of some days: from the last head before them to their own last. */
export async function* checkDays(
  db: Database,
  keys: PublicKeys,
  { from, to }: Days,
): AsyncGenerator<Page, void, undefined> {
  const first = from === null ? undefined : await headBefore(db, from);
  const last = to === null ? undefined : await headUpTo(db, to);
  for (const stream of STREAMS) {
    const [begin, end] = [tipsOf(first)?.[stream].n, tipsOf(last)?.[stream].n];
    yield* checkLinks(db, stream, begin === undefined ? null : String(begin), end ?? null);
  }
  yield* checkHeads(db, keys, first, last);
}

/** Ids that are compared at once: a tenth of a second of Postgres. */
const IDS = 50_000;

/** Rows that have waited for longer than chaining may be late. */
export async function* checkUnchained(db: Database): AsyncGenerator<Page, void, undefined> {
  for (const stream of STREAMS) {
    const { table, chain, idType, first } = ROWS_OF[stream];
    let [after, count]: [string | null, number] = [first, 0];
    while (after !== null) {
      const page: { last: string | null; count: number } = await oneRow(
        db,
        `WITH page AS MATERIALIZED (
           SELECT (SELECT id FROM ${table} WHERE id > :after::${idType} ORDER BY id OFFSET ${IDS - 1} LIMIT 1) AS last,
             (SELECT max(id) FROM ${table}) AS latest)
         SELECT (SELECT last::text FROM page), count(*)::int AS count
         FROM (SELECT id FROM ${table}
               WHERE id > :after::${idType} AND id <= (SELECT coalesce(last, latest) FROM page)
                 AND recorded_at < clock_timestamp() - interval '${CHAIN_SILENT_AFTER_S} seconds') AS r
           LEFT JOIN (SELECT row_id FROM ${chain}
                      WHERE row_id > :after::${idType} AND row_id <= (SELECT coalesce(last, latest) FROM page)) AS c
             ON c.row_id = r.id
         WHERE c.row_id IS NULL`,
        { after },
        'anew',
      );
      count += page.count;
      after = page.last;
      yield { check: 'unchained', checked: 0, differences: [], next: null };
    }
    if (count === 0) continue;
    const what = `${counted(count, 'rows')} of it ${count === 1 ? 'is' : 'are'} in no chain after half an hour: the workflow chain does not run`;
    yield { check: 'unchained', checked: 0, differences: [{ id: stream, what }], next: null };
  }
}

/** Whether each head is signed, follows the head before it, and says what the chains say. */
export async function* checkHeads(
  db: Database,
  keys: PublicKeys,
  first?: StoredHead,
  last?: StoredHead,
): AsyncGenerator<Page, void, undefined> {
  let before = first;
  for (;;) {
    const page = await readHeads(db, before?.number ?? 0n, PAGE);
    const differences: Difference[] = [];
    const heads = page.filter(({ number }) => last === undefined || number <= last.number);
    const links = await linksOf(db, heads);
    for (const head of heads) {
      const wrong = [...wrongWithHead(head, before, keys), ...wrongTips(head, links)];
      differences.push(...wrong.map((what) => ({ id: nameOf(head), what })));
      before = head;
    }
    yield { check: 'heads', checked: heads.length, differences, next: null };
    if (heads.length < PAGE) break;
  }
  if (before) return;
  const differences: Difference[] = [];
  for (const stream of STREAMS) {
    const { n } = await lastLink(db, stream);
    // Each run signs what it has chained.
    if (n > 0n)
      differences.push({ id: stream, what: `its chain has ${n} links, and its heads were deleted` });
  }
  yield { check: 'heads', checked: 0, differences, next: null };
}

const nameOf = ({ number, day }: { number: bigint | number; day: string }) => `head ${number} of ${day}`;

function wrongWithHead(
  { number, day, jws }: StoredHead,
  before: StoredHead | undefined,
  keys: PublicKeys,
): string[] {
  const wrong: string[] = [];
  const expected = (before?.number ?? 0n) + 1n;
  if (number !== expected) wrong.push(`the heads from ${expected} to ${number - 1n} were deleted`);
  const kid = signerOf(jws);
  if (!keys.has(kid ?? ''))
    wrong.push(`it is signed with ${kid ?? 'no key'}, which is none of the network's`);
  else if (!isSigned(jws, keys)) wrong.push(`it was changed: the key ${kid} has not signed what it says`);
  const said = readHead(jws);
  if (!said) return wrong;
  if (BigInt(said.number) !== number || said.day !== day) {
    wrong.push(`it says that it is ${nameOf(said)}`);
  }
  if (number === expected && said.previous !== (before ? headHash(before.jws) : null)) {
    wrong.push('it follows another head than the head before it');
  }
  return wrong;
}

/** The hashes of the links that heads speak of, by stream and number. */
async function linksOf(db: Database, heads: StoredHead[]): Promise<Map<string, string>> {
  const links = new Map<string, string>();
  const said = heads.flatMap(({ jws }) => readHead(jws) ?? []);
  for (const stream of STREAMS) {
    links.set(`${stream} 0`, GENESIS);
    const found = await rows<{ n: bigint; hash: string }>(
      db,
      `SELECT n, encode(hash, 'hex') AS hash FROM ${ROWS_OF[stream].chain} WHERE n = ANY(:ns::bigint[])`,
      { ns: said.map(({ tips }) => tips[stream].n) },
    );
    for (const { n, hash } of found) links.set(`${stream} ${n}`, hash);
  }
  return links;
}

function wrongTips({ jws }: StoredHead, links: Map<string, string>): string[] {
  const tips = readHead(jws)?.tips;
  return STREAMS.flatMap((stream) => {
    if (!tips) return [];
    const { n, hash } = tips[stream];
    const stands = links.get(`${stream} ${n}`);
    if (stands === hash) return [];
    return stands === undefined
      ? `it says that the chain of ${stream} has ${n} links: its end was deleted`
      : `it says that link ${n} of ${stream} is ${hash}, and the chain, which was made anew, has ${stands}`;
  });
}

/**
 * Heads that somebody has kept elsewhere must be in the database as they are. Deleted rows, links
 * and heads at the end leave nothing in the database that tells.
 */
export async function* checkKept(db: Database, kept: string[]): AsyncGenerator<Page, void, undefined> {
  const differences: Difference[] = [];
  for (const jws of kept) {
    const said = readHead(jws);
    const stands = await row<{ jws: string }>(db, `SELECT jws FROM chain_heads WHERE number = :number`, {
      number: said?.number ?? 0,
    });
    if (stands?.jws === jws) continue;
    const what = stands
      ? 'it was kept, and the database has another of its number: the chains were made anew'
      : 'it was kept, and the database has it no more: what was chained by then may be gone';
    differences.push({ id: said ? nameOf(said) : 'a head that was kept', what });
  }
  yield { check: 'heads', checked: kept.length, differences, next: null };
}
