import { invalidRequest, type Failure } from '../../domain/failures';
import type { Executor } from '../pool/connection';
import { joined, raw, sql, type Fragment } from '../pool/statement';

/**
 * Limit of a list's total and pages, so that a longer list does not cost more.
 *
 * Postgres reads each row to count them, and all earlier rows to show the thousandth page. So both
 * end at `LIST_REACH`. A caller who wants more narrows the list, or exports all of it, if the list
 * has an export.
 */
export const LIST_REACH = 10_000;

/** A page of a feed or an export ends early at this many bytes of webhooks or metadata. */
export const PAGE_BYTES = 1_000_000;

export interface Page<Field extends string> {
  page: number;
  limit: number;
  sortBy: Field;
  sortOrder: 'asc' | 'desc';
}

interface Sort {
  by: string;
  /**
   * Whether an index has this order. Without one Postgres sorts the whole list, so the list may not
   * be longer than `LIST_REACH`.
   */
  indexed: boolean;
}

export interface Listed<Item> {
  items: Item[];
  /** The number of items, at most `LIST_REACH`. */
  total: number;
  more: boolean;
}

/**
 * SQL of the rows to count: a FROM clause, its conditions, an order that an index has, and the
 * given limit. Without the order Postgres may read the table from its beginning, far from a new
 * party's rows.
 */
type Counted = (limit: Fragment) => Fragment;

interface List {
  /**
   * Selects the items: everything before ORDER BY.
   *
   * @param first the order, and a limit of the rows up to the page's end
   */
  select: (first: Fragment) => Fragment;
  counted: Counted;
  /** Makes the order total, so that no item is on two pages or on none. */
  id: string;
  sort: Sort;
  /** The way to items beyond the reach. */
  instead: string;
}

/** @throws Failure invalid_request if the page, or the order, is beyond the reach */
export async function listPage<Item>(
  db: Executor,
  list: List,
  { page, limit, sortOrder }: Page<string>,
): Promise<Listed<Item>> {
  const { sort } = list;
  const { total, more } = await countUpTo(db, list.counted);
  const offset = (page - 1) * limit;
  if (more && !sort.indexed) throw beyondReach('sortBy', 'can be sorted so', list.instead);
  if (offset + limit > LIST_REACH && more) throw beyondReach('page', 'can be turned to', list.instead);
  if (offset >= total) return { items: [], total, more };
  const direction = sortOrder === 'asc' ? 'ASC' : 'DESC';
  const columns = [...new Set([sort.by, list.id])];
  // Columns with an index are never null; in other columns nulls come last.
  const nulls = sort.indexed ? '' : ' NULLS LAST';
  const order = raw(`ORDER BY ${columns.map((column) => `${column} ${direction}${nulls}`).join(', ')}`);
  const selected = list.select(sql`${order} LIMIT ${offset + limit}`);
  const items = await db.rows<Item>`${selected} ${order} LIMIT ${limit} OFFSET ${offset}`;
  return { items, total, more };
}

export async function countUpTo(db: Executor, counted: Counted): Promise<{ total: number; more: boolean }> {
  // One row beyond the reach shows whether there are more.
  const reached = counted(raw(`LIMIT ${LIST_REACH + 1}`));
  const { count } = await db.oneRow<{
    count: number;
  }>`SELECT count(*)::int AS count FROM (SELECT FROM ${reached}) AS reached`;
  return { total: Math.min(count, LIST_REACH), more: count > LIST_REACH };
}

export function allOf(...conditions: (Fragment | false)[]): Fragment {
  return joined(
    conditions.filter((one) => one !== false),
    ' AND ',
  );
}

/**
 * A state as a part of a statement's text. Postgres plans a statement for all its runs, without the
 * bound values. A plan that reads all rows to find a few would then look as good as any.
 */
export function literal(state: string): Fragment {
  if (!/^[a-z_]+$/.test(state)) throw new Error('not the name of a state');
  return raw(`'${state}'`);
}

/** @param instead what to do, as the end of a sentence */
export function beyondReach(field: 'page' | 'sortBy', can: string, instead: string): Failure {
  const message = `only the first ${LIST_REACH} of a list ${can}, and this one is longer: ${instead}`;
  return invalidRequest([{ path: `query.${field}`, message }]);
}
