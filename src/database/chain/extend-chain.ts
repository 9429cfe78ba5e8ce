import { GENESIS, linkHash, type Stream } from '../../domain/books/chain';
import type { Database, Executor, Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { firstIdAt } from '../identifier/new-id';
import { ROWS_OF } from './chained-rows';

/**
 * Adds rows to their chain after they were written, so that no writer waits. Each run looks at the
 * rows from an id on, and appends those without a link.
 *
 * A row gets its id before its transaction commits, and commits come in another order. So the
 * starting id moves on only once every transaction that was open at its reading has ended. A later
 * run chains a row that commits late.
 */

/** Rows of a page: some ten milliseconds of Postgres, and a megabyte. */
const PAGE = 1_000;
/** A transaction shows as open a moment after it took its id; fewer ids are taken meanwhile. */
const NUMBERS_APART = 1_000;
/** The same margin for ids that processes make, whose clocks differ. */
const CLOCKS_APART_MS = 3_600_000;

/**
 * @param heartbeat called after each page
 * @returns the number of rows chained
 */
export async function chainStream(db: Database, stream: Stream, heartbeat: () => void): Promise<number> {
  const progress = await readProgress(db, stream);
  let chained = 0;
  let after: string | null = progress.after;
  while (after !== null) {
    const here: string = after;
    const page = await db.transaction((trx) => chainPage(trx, stream, here));
    chained += page.chained;
    after = page.last;
    heartbeat();
  }
  await noteProgress(db, stream, progress);
  return chained;
}

interface Progress {
  after: string;
  /** Start of the next run; null while a transaction may still write an earlier row. */
  settled: string | null;
  /** An id before which rows may still appear, and the next transaction's number. */
  latest: string | null;
  xmax: string;
}

function readProgress(db: Executor, stream: Stream): Promise<Progress> {
  const { table, idType } = ROWS_OF[stream];
  // A number above all of this server's is from the server that this database was restored from.
  const latest =
    idType === 'text'
      ? sql`${firstIdAt('event', new Date(Date.now() - CLOCKS_APART_MS))}`
      : raw(`(SELECT greatest(max(id) - ${NUMBERS_APART}, 0)::text FROM ${table})`);
  return db.oneRow<Progress>`
    SELECT after, pg_snapshot_xmax(seen)::text AS xmax,
      CASE WHEN next_xmax <= pg_snapshot_xmin(seen)
        OR next_xmax > pg_snapshot_xmax(seen) THEN next_after END AS settled,
      ${latest} AS latest
    FROM chain_progress, pg_current_snapshot() AS seen WHERE stream = ${stream}`;
}

/** Records that all rows were looked at, and the id after which the next run may begin. */
async function noteProgress(db: Executor, stream: Stream, progress: Progress): Promise<void> {
  const moves = progress.settled !== null && progress.latest !== null;
  const { settled, latest, xmax } = moves ? progress : { settled: null, latest: null, xmax: null };
  await db.rows`
    UPDATE chain_progress SET chained_at = clock_timestamp(), after = coalesce(${settled}, after),
      next_after = coalesce(${latest}, next_after),
      next_xmax = coalesce(${xmax}::xid8, next_xmax)
    WHERE stream = ${stream}`;
}

/** @returns the last row of the page (null if there is none), and the number of rows chained */
async function chainPage(
  trx: Transaction,
  stream: Stream,
  after: string,
): Promise<{ last: string | null; chained: number }> {
  const { table, chain, idType, content } = ROWS_OF[stream];
  // One run at a time, from here to the commit.
  await trx.row`SELECT FROM chain_progress WHERE stream = ${stream} FOR UPDATE`;
  const page = await trx.rows<{ id: string; content: string | null }>`
    SELECT r.id::text AS id,
      CASE WHEN (SELECT n FROM ${raw(chain)} c
      WHERE c.row_id = r.id) IS NULL THEN ${raw(content)} END AS content
    FROM ${raw(table)} r WHERE r.id > ${after}::${raw(idType)} ORDER BY r.id LIMIT ${raw(PAGE)}`;
  const tip = await lastLink(trx, stream);
  const links = page.flatMap(({ id, content: says }) => {
    if (says === null) return [];
    tip.n += 1n;
    tip.hash = linkHash(tip.hash, stream, says);
    return { id, ...tip };
  });
  const numbers = links.map(({ n }) => n.toString());
  const ids = links.map(({ id }) => id);
  const hashes = links.map(({ hash }) => hash);
  await trx.rows`
    INSERT INTO ${raw(chain)} (n, row_id, hash)
    SELECT n, id, decode(hash, 'hex')
    FROM unnest(${numbers}::bigint[], ${ids}::${raw(idType)}[], ${hashes}::text[]) AS link (n, id, hash)`;
  return { last: page.at(-1)?.id ?? null, chained: links.length };
}

export async function lastLink(db: Executor, stream: Stream): Promise<{ n: bigint; hash: string }> {
  const tip = await db.row<{ n: bigint; hash: string }>`
    SELECT n, encode(hash, 'hex') AS hash FROM ${raw(ROWS_OF[stream].chain)} ORDER BY n DESC LIMIT 1`;
  return tip ?? { n: 0n, hash: GENESIS };
}

/** Seconds since the chains last covered all rows. */
export async function chainAgeS(db: Executor): Promise<number> {
  const { ageS } = await db.oneRow<{ ageS: number }>`
    SELECT greatest(extract(epoch FROM clock_timestamp() - min(chained_at)), 0)::float8 AS age_s
    FROM chain_progress`;
  return ageS;
}

/** The job runs every five minutes. */
export const CHAIN_SILENT_AFTER_S = 1_800;
