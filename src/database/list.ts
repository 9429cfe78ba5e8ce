import { Failure } from '../domain/failures';
import { row, rows, type Executor } from './connection';

/**
 * Lists, page by page, of which none may cost more the longer it is.
 *
 * To say how many there are, Postgres reads each of them, and to show the thousandth page it reads
 * all before it. So both end after the first `LIST_REACH` things: the total says no more than that,
 * and no page lies beyond. Who wants what is beyond asks for less, or takes all of it, where there
 * is a way.
 */
export const LIST_REACH = 10_000;

export interface Page<Field extends string> {
  page: number;
  limit: number;
  sortBy: Field;
  sortOrder: 'asc' | 'desc';
}

/** What a list can be sorted by. */
interface Sort {
  /** The column. */
  by: string;
  /**
   * An index has the list in this order. Without one all of it is sorted, so it may not reach
   * beyond the total.
   */
  indexed: boolean;
}

export interface Listed<Item> {
  items: Item[];
  /** How many there are; of more than `LIST_REACH`, that number. */
  total: number;
  /** There are more than the total says. */
  more: boolean;
}

/**
 * What is counted, in SQL: a FROM clause, its conditions, an order that an index has, and the limit
 * that is given. Without the order Postgres may read the table from its beginning, where rows of
 * somebody who came late are not.
 */
type Counted = (limit: string) => string;

/** What is listed, in SQL. */
interface List {
  /** Selects the items: all before ORDER BY. */
  select: (order: string) => string;
  counted: Counted;
  bindings: Record<string, unknown>;
  /** Makes the order total, so that nothing shows on two pages or on none. */
  id: string;
  sort: Sort;
  /** How to get at what lies beyond, for whoever asks for it. */
  instead: string;
  /** See `Executor.query`. */
  plan?: 'anew' | undefined;
}

/**
 * @throws Failure invalid_request where the page, or the order, asks for what lies beyond the reach
 */
export async function listPage<Item>(
  db: Executor,
  list: List,
  { page, limit, sortOrder }: Page<string>,
): Promise<Listed<Item>> {
  const { bindings, sort, plan } = list;
  const { total, more } = await countUpTo(db, list.counted, bindings, plan);
  const offset = (page - 1) * limit;
  if (more && !sort.indexed) throw beyondReach('sortBy', 'can be sorted so', list.instead);
  if (offset + limit > LIST_REACH && more) throw beyondReach('page', 'can be turned to', list.instead);
  if (offset >= total) return { items: [], total, more };
  const direction = sortOrder === 'asc' ? 'ASC' : 'DESC';
  const columns = [...new Set([sort.by, list.id])];
  // Indexes have no columns that may be null; of the others, what has no value comes last.
  const nulls = sort.indexed ? '' : ' NULLS LAST';
  const order = `ORDER BY ${columns.map((column) => `${column} ${direction}${nulls}`).join(', ')}`;
  const items = await rows<Item>(
    db,
    `${list.select(order)} ${order} LIMIT :limit OFFSET :offset`,
    { ...bindings, limit, offset, end: offset + limit },
    plan,
  );
  return { items, total, more };
}

/** How many there are, as far as that is told. */
export async function countUpTo(
  db: Executor,
  counted: Counted,
  bindings: Record<string, unknown>,
  plan?: 'anew',
): Promise<{ total: number; more: boolean }> {
  const found = await row<{ count: number }>(
    db,
    // One more than is told, to know whether there is one.
    `SELECT count(*)::int AS count FROM (SELECT FROM ${counted(`LIMIT ${LIST_REACH + 1}`)}) AS reached`,
    bindings,
    plan,
  );
  const count = found?.count ?? 0;
  return { total: Math.min(count, LIST_REACH), more: count > LIST_REACH };
}

/** The conditions that are asked for, as one. */
export function allOf(...conditions: (string | false)[]): string {
  return conditions.filter((one) => one !== false).join(' AND ');
}

/**
 * A state as a part of a statement's text. Bound to it, the state would be unknown where Postgres
 * plans the statement for all its runs, and a plan that reads all there is, to find few, looks as
 * good as any.
 */
export function literal(state: string): string {
  if (!/^[a-z_]+$/.test(state)) throw new Error('not the name of a state');
  return `'${state}'`;
}

/** @param instead what to do, as the end of a sentence */
export function beyondReach(field: 'page' | 'sortBy', can: string, instead: string): Failure {
  const message = `only the first ${LIST_REACH} of a list ${can}, and this one is longer: ${instead}`;
  return new Failure('invalid_request', `The request is not valid: query.${field}: ${message}`, {
    problems: [{ path: `query.${field}`, message }],
  });
}
