import { GENESIS, linkHash, STREAMS, type Stream } from '../../domain/books/chain';
import { oneRow, row, rows, type Database, type Executor, type Transaction } from '../connection';
import { firstIdAt } from '../ids';
import { ROWS_OF } from './stream';

/**
 * Chains rows after they were written. Whoever writes them waits for nothing: a row is looked for
 * from an id on below which none can still appear, and what is in no chain yet is put at its end.
 *
 * A row gets its id before its transaction commits, and transactions commit in another order. So
 * that id moves on only once every transaction has ended that was open when it was read: however
 * late one commits, its rows are found by the run after it. The ids of events are made from the
 * clock of a process: once a day those of the last two days are looked through, should one be
 * behind by more than `CLOCKS_APART_MS`.
 */

/** Rows of a page: some ten milliseconds of Postgres, and a megabyte. */
const PAGE = 1_000;
/**
 * Numbers are handed out a moment before their transaction is known to be open. So many are not
 * handed out within it.
 */
const NUMBERS_APART = 1_000;
/** The same for ids that processes make, whose clocks differ. */
const CLOCKS_APART_MS = 10 * 60_000;
const TWO_DAYS_MS = 2 * 86_400_000;

/**
 * Chains what is not chained yet.
 *
 * @param thorough looks through two days of events
 * @param beat called after each page
 * @returns how many rows were chained
 */
export async function chainStream(
  db: Database,
  stream: Stream,
  thorough: boolean,
  beat: () => void,
): Promise<number> {
  const from = await readProgress(db, stream);
  let after: string | null = from.after;
  if (thorough && stream === 'events') {
    const twoDaysAgo = firstIdAt('event', new Date(from.now.getTime() - TWO_DAYS_MS));
    if (twoDaysAgo < after) after = twoDaysAgo;
  }
  let chained = 0;
  while (after !== null) {
    const here: string = after;
    const page = await db.transaction((trx) => chainPage(trx, stream, here));
    chained += page.chained;
    after = page.last;
    beat();
  }
  await noteProgress(db, stream, from);
  return chained;
}

interface Progress {
  now: Date;
  after: string;
  /** Where the next look may begin, if it may begin elsewhere. */
  settled: string | null;
  /**
   * What is to be `settled` once those transactions have ended; null while others are waited for.
   */
  next: { after: string; xmax: string } | null;
}

async function readProgress(db: Executor, stream: Stream): Promise<Progress> {
  const { table, idType } = ROWS_OF[stream];
  const found = await row<{
    now: Date;
    after: string;
    nextAfter: string | null;
    settled: boolean;
    waiting: boolean;
    xmax: string;
    latest: string | null;
  }>(
    db,
    `SELECT clock_timestamp() AS now, p.after, p.next_after AS "nextAfter",
       coalesce(p.next_xmax <= pg_snapshot_xmin(seen), false) AS settled,
       -- Above those of this server: the number is from another one, that this database was
       -- restored from.
       coalesce(p.next_xmax > pg_snapshot_xmin(seen) AND p.next_xmax <= pg_snapshot_xmax(seen), false) AS waiting,
       pg_snapshot_xmax(seen)::text AS xmax,
       ${idType === 'bigint' ? `(SELECT greatest(max(id) - ${NUMBERS_APART}, 0)::text FROM ${table})` : 'NULL'} AS latest
     FROM chain_progress p, pg_current_snapshot() AS seen WHERE p.stream = :stream`,
    { stream },
  );
  if (!found) throw new Error(`chain_progress has lost the row of ${stream}, which the migrations make`);
  const { now, after, nextAfter, settled, waiting, xmax, latest } = found;
  const here = idType === 'bigint' ? latest : firstIdAt('event', new Date(now.getTime() - CLOCKS_APART_MS));
  return {
    now,
    after,
    settled: settled ? nextAfter : null,
    next: waiting || here === null ? null : { after: here, xmax },
  };
}

/** Notes that all rows were looked at, and where the next run may begin. */
async function noteProgress(db: Executor, stream: Stream, { settled, next }: Progress): Promise<void> {
  await rows(
    db,
    `UPDATE chain_progress SET chained_at = clock_timestamp(), after = coalesce(:settled, after),
       next_after = CASE WHEN :xmax::text IS NULL THEN next_after ELSE :after END,
       next_xmax = CASE WHEN :xmax::text IS NULL THEN next_xmax ELSE :xmax::xid8 END
     WHERE stream = :stream`,
    { stream, settled, after: next?.after ?? null, xmax: next?.xmax ?? null },
  );
}

/** @returns the last row of the page, null where there is none, and how many of it were chained */
async function chainPage(
  trx: Transaction,
  stream: Stream,
  after: string,
): Promise<{ last: string | null; chained: number }> {
  const { table, chain, idType, content } = ROWS_OF[stream];
  // One run at a time, from here to the commit.
  await row(trx, `SELECT FROM chain_progress WHERE stream = :stream FOR UPDATE`, { stream });
  const page = await row<{ last: string | null }>(
    trx,
    `SELECT max(id)::text AS last
     FROM (SELECT id FROM ${table} WHERE id > :after::${idType} ORDER BY id LIMIT ${PAGE}) AS page`,
    { after },
  );
  const last = page?.last ?? null;
  if (last === null) return { last, chained: 0 };
  const found = await rows<{ id: string; content: string }>(
    trx,
    `SELECT r.id::text AS id, ${content} AS content FROM ${table} r
     WHERE r.id > :after::${idType} AND r.id <= :last::${idType}
       AND NOT EXISTS (SELECT FROM ${chain} c WHERE c.row_id = r.id)
     ORDER BY r.id`,
    { after, last },
  );
  if (found.length === 0) return { last, chained: 0 };
  const tip = await lastLink(trx, stream);
  let hash = tip.hash;
  const links = found.map((one, i) => {
    hash = linkHash(hash, stream, one.content);
    return { n: tip.n + BigInt(i) + 1n, id: one.id, hash };
  });
  await rows(
    trx,
    `INSERT INTO ${chain} (n, row_id, hash)
     SELECT n, id, decode(hash, 'hex')
     FROM unnest(:ns::bigint[], :ids::${idType}[], :hashes::text[]) AS link (n, id, hash)`,
    {
      ns: links.map(({ n }) => n.toString()),
      ids: links.map(({ id }) => id),
      hashes: links.map((link) => link.hash),
    },
  );
  return { last, chained: links.length };
}

/** The end of a chain. */
export async function lastLink(db: Executor, stream: Stream): Promise<{ n: bigint; hash: string }> {
  const tip = await row<{ n: bigint; hash: string }>(
    db,
    `SELECT n, encode(hash, 'hex') AS hash FROM ${ROWS_OF[stream].chain} ORDER BY n DESC LIMIT 1`,
  );
  return tip ?? { n: 0n, hash: GENESIS };
}

/** How the chaining stands, for who watches over it. */
export interface ChainState {
  /** Seconds since all that was there was last chained. */
  ageS: number;
}

export async function readChainState(db: Executor): Promise<ChainState> {
  return oneRow<ChainState>(
    db,
    `SELECT greatest(extract(epoch FROM clock_timestamp() - min(chained_at)), 0)::float8 AS "ageS" FROM chain_progress`,
  );
}

/** It runs every five minutes. */
export const CHAIN_SILENT_AFTER_S = 1_800;

/** All streams, locked in one order. */
export async function lockStreams(trx: Transaction): Promise<void> {
  await rows(trx, `SELECT FROM chain_progress WHERE stream = ANY(:streams) ORDER BY stream FOR UPDATE`, {
    streams: [...STREAMS],
  });
}
