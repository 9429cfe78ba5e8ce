import { GENESIS, headHash, linkHash, STREAMS, type Head, type Stream } from '../../domain/books/chain';
import type { Fault } from '../../domain/words/verify-words';
import { oneRow, row, rows, type Database } from '../connection';
import type { Compared, Difference } from '../compared';
import { CHAIN_SILENT_AFTER_S, lastLink } from './advance';
import {
  headBefore,
  isSigned,
  readHead,
  readHeads,
  signerOf,
  type PublicKeys,
  type StoredHead,
} from './head';
import { contentColumns, contentOf, ROWS_OF, type ReadRow } from './stream';

/**
 * Makes the chains anew from the rows, and compares. What is wrong is told in the order of the
 * chain; after a wrong link it goes on from that link as it stands, so one change is told once.
 *
 * Nothing is asked of Postgres but rows: a function in there could have been changed with them.
 */

/** Links of a page: as many rows, with their content. */
const PAGE = 1_000;
/**
 * A row that is missing from a signed head, though its `recorded_at` lies more than this before it,
 * has a false time: no transaction stays open for a day, so an honest row would be in that head.
 */
const LATE_MS = 86_400_000;

const CHECK_OF = { ledger: 'ledgerChain', events: 'eventChain', acts: 'actChain' } as const;

export interface ChainRange {
  /** Days on which rows were chained, in the network's zone. */
  from: string | null;
  to: string | null;
}

/** @param keys those that heads may be signed with */
export async function* checkChains(
  db: Database,
  keys: PublicKeys,
  { from, to }: ChainRange,
): AsyncGenerator<Compared, void, undefined> {
  const first = from === null ? undefined : await headBefore(db, from);
  const last = to === null ? undefined : await lastHeadUpTo(db, to);
  for (const stream of STREAMS) {
    yield* checkLinks(db, stream, first, last);
    if (to === null) yield* checkUnchained(db, stream, from === null ? null : (first ?? null));
  }
  yield* checkHeads(db, keys, first, last);
}

/** The last head up to a day: the range ends there. Undefined if no later day has a head. */
async function lastHeadUpTo(db: Database, day: string): Promise<StoredHead | undefined> {
  const later = await row(db, `SELECT FROM chain_heads WHERE day > :day LIMIT 1`, { day });
  if (!later) return undefined;
  return row<StoredHead>(
    db,
    `SELECT number, day::text AS day, jws FROM chain_heads WHERE day <= :day ORDER BY day DESC, number DESC LIMIT 1`,
    { day },
  );
}

const tipOf = (head: StoredHead | undefined, stream: Stream) =>
  head === undefined ? undefined : readHead(head.jws)?.tips[stream];

type Linked = { n: bigint; rowId: string; hash: Buffer } & ((ReadRow & { recordedAt: Date }) | { id: null });

async function* checkLinks(
  db: Database,
  stream: Stream,
  first: StoredHead | undefined,
  last: StoredHead | undefined,
): AsyncGenerator<Compared, void, undefined> {
  const source = ROWS_OF[stream];
  const begin = tipOf(first, stream);
  const end = tipOf(last, stream)?.n ?? null;
  const signedBefore = headsInOrder(db, stream, first);
  let n = BigInt(begin?.n ?? 0);
  let hash: Buffer = begin ? Buffer.from(begin.hash, 'hex') : GENESIS;
  for (;;) {
    const page: Linked[] = await rows<Linked>(
      db,
      `SELECT c.n, c.row_id::text AS "rowId", c.hash, content.*
       FROM (SELECT * FROM ${source.chain} WHERE n > :n AND n <= coalesce(:end::bigint, n) ORDER BY n LIMIT ${PAGE}) AS c
       LEFT JOIN LATERAL (SELECT ${contentColumns(source)}, r.recorded_at AS "recordedAt"
         FROM ${source.table} r WHERE r.id = c.row_id) AS content ON true
       ORDER BY c.n`,
      { n, end },
    );
    const differences: Difference[] = [];
    for (const link of page) {
      const differ = (fault: Fault) => differences.push({ id: `${source.called} ${link.rowId}`, ...fault });
      if (link.n !== n + 1n) {
        differ({ wrong: 'links_missing', n: link.n, count: link.n - n - 1n });
      } else if (link.id === null) {
        differ({ wrong: 'row_deleted', n: link.n });
      } else if (!linkHash(hash, stream, contentOf(link)).equals(link.hash)) {
        differ({ wrong: 'row_changed', n: link.n });
      } else {
        const head = await signedBefore(link.n);
        if (head && link.recordedAt.getTime() < Date.parse(head.signedAt) - LATE_MS) {
          const recordedAt = link.recordedAt.toISOString();
          differ({ wrong: 'row_after_head', recordedAt, signedAt: head.signedAt });
        }
      }
      ({ n, hash } = link);
    }
    yield { check: CHECK_OF[stream], checked: page.length, differences };
    if (page.length < PAGE) return;
  }
}

/**
 * Asked of one link after the other: the last head that was signed before it, where there is one.
 */
function headsInOrder(db: Database, stream: Stream, first: StoredHead | undefined) {
  let before = first && readHead(first.jws);
  let number = first?.number ?? 0n;
  let ahead: Head[] = [];
  let more = true;
  return async (n: bigint): Promise<Head | undefined> => {
    for (;;) {
      const [next] = ahead;
      if (next !== undefined) {
        if (BigInt(next.tips[stream].n) >= n) return before;
        before = next;
        ahead.shift();
        continue;
      }
      if (!more) return before;
      const page = await readHeads(db, number, PAGE);
      number = page.at(-1)?.number ?? number;
      more = page.length === PAGE;
      ahead = page.map(({ jws }) => readHead(jws)).filter((head) => head !== undefined);
    }
  };
}

/** What is in no chain though it should be by now. */
async function* checkUnchained(
  db: Database,
  stream: Stream,
  first: StoredHead | null,
): AsyncGenerator<Compared, void, undefined> {
  const { table, chain, called, idType, start } = ROWS_OF[stream];
  const check = CHECK_OF[stream];
  let after: string | null = start;
  // A row without a link has no place in the chain. Where only a later part is checked,
  // `recorded_at` alone tells whether the row belongs to it.
  const since = first === null ? null : (readHead(first.jws)?.signedAt ?? null);
  let waiting = 0;
  while (after !== null) {
    const { last, found }: { last: string | null; found: Unchained[] } = await oneRow(
      db,
      `WITH page AS MATERIALIZED (SELECT id, recorded_at FROM ${table} WHERE id > :after::${idType} ORDER BY id LIMIT ${PAGE})
       SELECT (SELECT max(id)::text FROM page) AS last, coalesce((
         SELECT jsonb_agg(jsonb_build_object('id', page.id::text, 'at', page.recorded_at, 'missed', page.recorded_at < p.chained_at
             - interval '1 second' * ${CHAIN_SILENT_AFTER_S}) ORDER BY page.id)
         FROM page, chain_progress p
         WHERE p.stream = :stream AND NOT EXISTS (SELECT FROM ${chain} c WHERE c.row_id = page.id)
           AND page.recorded_at < clock_timestamp() - interval '1 second' * ${CHAIN_SILENT_AFTER_S}
           AND page.recorded_at > coalesce(:since::timestamptz, '-infinity')), '[]') AS found`,
      { after, stream, since },
    );
    const differences = found
      .filter(({ missed }) => missed)
      .map(({ id, at }): Difference => ({ id: `${called} ${id}`, wrong: 'row_after_chain', recordedAt: at }));
    waiting += found.length - differences.length;
    yield { check, checked: 0, differences };
    after = last;
  }
  const differences: Difference[] = [];
  if (waiting > 0) {
    differences.push({ id: stream, wrong: 'unchained', count: waiting });
  }
  yield { check, checked: 0, differences };
}

interface Unchained {
  id: string;
  at: string;
  missed: boolean;
}

/** Whether each head is signed, follows the one before it, and says what the chains say. */
async function* checkHeads(
  db: Database,
  keys: PublicKeys,
  first: StoredHead | undefined,
  last: StoredHead | undefined,
): AsyncGenerator<Compared, void, undefined> {
  let before = first;
  // What a range begins with is believed: it is judged as the others are, but for its own past.
  if (first && !isSigned(first.jws, keys)) {
    yield { check: 'heads', checked: 0, differences: [{ id: nameOf(first), wrong: 'first_head_unsigned' }] };
  }
  for (;;) {
    const page: StoredHead[] = (await readHeads(db, before?.number ?? 0n, PAGE)).filter(
      ({ number }) => last === undefined || number <= last.number,
    );
    const differences: Difference[] = [];
    const said = new Map(page.map((head) => [head.number, readHead(head.jws)]));
    const linked = await linksOf(
      db,
      [...said.values()].filter((head) => head !== undefined),
    );
    for (const head of page) {
      const wrong = wrongWithHead(head, said.get(head.number), before, keys, linked);
      differences.push(...wrong.map((fault) => ({ id: nameOf(head), ...fault })));
      before = head;
    }
    yield { check: 'heads', checked: page.length, differences };
    if (page.length < PAGE) break;
  }
  yield* checkThatThereAreHeads(db, before);
}

/** Links that no head speaks of: each run signs what it has chained. */
async function* checkThatThereAreHeads(
  db: Database,
  last: StoredHead | undefined,
): AsyncGenerator<Compared, void, undefined> {
  if (last !== undefined) return;
  for (const stream of STREAMS) {
    const { n } = await lastLink(db, stream);
    if (n === 0n) continue;
    yield { check: 'heads', checked: 0, differences: [{ id: stream, wrong: 'no_heads', n }] };
  }
}

const nameOf = ({ number, day }: { number: bigint | number; day: string }) => `head ${number} of ${day}`;

type LinksAt = Record<Stream, Map<number, string>>;

/** The hashes of the links that heads speak of. */
async function linksOf(db: Database, heads: Head[]): Promise<LinksAt> {
  const at: Partial<LinksAt> = {};
  for (const stream of STREAMS) {
    const found = await rows<{ n: bigint; hash: Buffer }>(
      db,
      `SELECT n, hash FROM ${ROWS_OF[stream].chain} WHERE n = ANY(:ns::bigint[])`,
      { ns: heads.map(({ tips }) => tips[stream].n) },
    );
    at[stream] = new Map(found.map(({ n, hash }) => [Number(n), hash.toString('hex')]));
    at[stream].set(0, GENESIS.toString('hex'));
  }
  return at as LinksAt;
}

function wrongWithHead(
  { number, day, jws }: StoredHead,
  said: Head | undefined,
  before: StoredHead | undefined,
  keys: PublicKeys,
  linked: LinksAt,
): Fault[] {
  const expected = (before?.number ?? 0n) + 1n;
  const wrong: Fault[] = [];
  if (number !== expected) wrong.push({ wrong: 'heads_missing', before: expected - 1n });
  if (!isSigned(jws, keys)) {
    const kid = signerOf(jws);
    const known = kid !== undefined && keys.has(kid);
    wrong.push(known ? { wrong: 'head_changed', kid } : { wrong: 'head_of_unknown_key', kid });
  }
  if (!said) return wrong;
  if (BigInt(said.number) !== number || said.day !== day) {
    wrong.push({ wrong: 'head_misplaced', number: said.number, day: said.day });
  }
  if (number === expected && said.previous !== (before ? headHash(before.jws) : null)) {
    wrong.push({ wrong: 'head_follows_another' });
  }
  for (const stream of STREAMS) {
    const { n, hash } = said.tips[stream];
    const stands = linked[stream].get(n);
    if (stands === hash) continue;
    wrong.push({ wrong: stands === undefined ? 'chain_cut' : 'chain_made_anew', stream, n });
  }
  return wrong;
}

/**
 * Heads that somebody has kept elsewhere: they must be among those in the database, as they are.
 * Who takes away rows, links and heads from the end leaves nothing in the database that tells.
 */
export async function* checkKept(db: Database, kept: string[]): AsyncGenerator<Compared, void, undefined> {
  const differences: Difference[] = [];
  for (const jws of kept) {
    const said = readHead(jws);
    const stands =
      said &&
      (await row<{ jws: string }>(db, `SELECT jws FROM chain_heads WHERE number = :number`, {
        number: said.number,
      }));
    if (said && stands?.jws === jws) continue;
    differences.push({
      id: said ? nameOf(said) : 'a head that was kept',
      wrong: stands ? 'kept_head_differs' : 'kept_head_missing',
    });
  }
  yield { check: 'heads', checked: kept.length, differences };
}
