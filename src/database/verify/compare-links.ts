import { GENESIS, type Stream } from '../../domain/books/chain';
import type { Database } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { FIRST_ID } from '../ledger/post-entries';
import { LINK_INPUT, ROWS_OF } from '../chain/chained-rows';
import { listed, walk, type Pages } from './read-in-pages';

/**
 * Computes each link again from its row and the stored link before it, and compares. Because the
 * stored link is the input, one change gives one finding. A row older than what the chain has come
 * to has a link; one without was written past the chain.
 */

/** Links of a page: some ten milliseconds of Postgres. */
const PAGE = 5_000;

const comparison = (stream: Stream, after: string, end: number | null) => {
  const { table, chain, called, content } = ROWS_OF[stream];
  const due = LINK_INPUT('previous', stream, 'r.content');
  return sql`
    WITH page AS MATERIALIZED (
      SELECT n, row_id, hash, lag(n, 1, 0::bigint) OVER (ORDER BY n) AS before,
        lag(hash, 1, decode('${raw(GENESIS)}', 'hex')) OVER (ORDER BY n) AS previous
      FROM (SELECT * FROM ${raw(chain)} WHERE n >= ${after}::bigint AND n <= coalesce(${end}::bigint, n)
            ORDER BY n LIMIT ${raw(PAGE + 1)}) AS links),
    compared AS (
      SELECT page.*, r.content,
        sha256(convert_to(${raw(due)}, 'UTF8'::name)) AS due
      FROM page LEFT JOIN (SELECT r.id, ${raw(content)} AS content FROM ${raw(table)} r) AS r ON r.id = page.row_id
      WHERE n > ${after}::bigint)
    SELECT (SELECT CASE count(*) WHEN ${raw(PAGE + 1)} THEN max(n)::text END FROM page) AS last,
      (SELECT count(*)::int FROM page WHERE n > ${after}::bigint) AS checked,
      ${listed(sql`
        SELECT '${raw(called)} ' || row_id AS id, CASE
          WHEN n <> before + 1 THEN format('the links from %s to %s, before its own, were deleted', before + 1, n - 1)
          WHEN content IS NULL THEN format('its link %s of the chain is there, and its row was deleted', n)
          ELSE format('its row or its link %s was changed since it was chained: the link is %s, and what the row says makes %s',
            n, encode(hash, 'hex'), encode(due, 'hex')) END AS what
        FROM compared WHERE n <> before + 1 OR due IS DISTINCT FROM hash ORDER BY n`)} AS differences`;
};

/** Ids may lie below 1, or equal the first, which the page before had as its last. */
const unlinked = (stream: Stream, from: string, end: number | null) => {
  const { table, chain, idType, called } = ROWS_OF[stream];
  return sql`
    WITH page AS MATERIALIZED (
      SELECT r.id FROM ${raw(table)} r
      WHERE r.id >= ${from}::${raw(idType)}
        AND r.id <= (SELECT after::${raw(idType)} FROM chain_progress WHERE stream = ${stream})
        AND r.id <= coalesce((SELECT row_id FROM ${raw(chain)} WHERE n = ${end}::bigint), r.id)
      ORDER BY r.id LIMIT ${raw(PAGE)})
    SELECT (SELECT CASE count(*) WHEN ${raw(PAGE)} THEN max(id)::text END FROM page) AS last, 0 AS checked,
      ${listed(sql`
        SELECT '${raw(called)} ' || id AS id, 'it was written past the chain: the chain has come further, and has no link of it' AS what
        FROM page WHERE NOT EXISTS (SELECT FROM ${raw(chain)} c WHERE c.row_id = page.id) ORDER BY page.id`)} AS differences`;
};

const CHECKS = {
  ledger: 'links of the ledger',
  events: 'links of events',
  audit: 'links of audit events',
} as const;

/** @param after the link to begin after, and `end` the last; null for all links */
export async function* compareLinks(db: Database, stream: Stream, after: number, end: number | null): Pages {
  yield* walk(db, CHECKS[stream], (next) => comparison(stream, next, end), String(after));
  const { chain, idType } = ROWS_OF[stream];
  const { first } = await db.oneRow<{ first: string }>`
    SELECT coalesce((SELECT row_id::text FROM ${raw(chain)} WHERE n = ${after}::bigint),
      ${idType === 'text' ? '' : FIRST_ID}) AS first`;
  yield* walk(db, CHECKS[stream], (next) => unlinked(stream, next, end), first);
}
