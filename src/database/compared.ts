import { oneRow, type Executor } from './connection';

/** What comparing the books comes to, page by page. */

/** Something that is not as it must be. */
export interface Difference {
  /** Of the charge, refund, agreement or entry; of a balance, its account and day. */
  id: string;
  /** In words, with amounts in minor units. */
  what: string;
  /** What an operator does about it, where it does not have to be found out. */
  todo?: string;
}

/** What has been compared since the last time that was said. */
export interface Compared {
  /** What kind of things. */
  check: string;
  lookedAt: number;
  differences: Difference[];
}

/** Days in the network's zone, both included; null where there is no bound. */
export interface Range {
  from: string | null;
  to: string | null;
  timeZone: string;
}

export const isWhole = ({ from, to }: Range): boolean => from === null && to === null;

/**
 * Whether a moment, or a day, is within `:from` and `:to`; of all days, also where there is none.
 */
export const onDays = (day: string) =>
  `((:from::date IS NULL AND :to::date IS NULL)
    OR ${day} BETWEEN coalesce(:from::date, '-infinity') AND coalesce(:to::date, 'infinity'))`;

export const dayOf = (moment: string) => `(${moment} AT TIME ZONE :timeZone)::date`;

/**
 * One row of a statement that compares a page: where the page ends, null where it is empty, how
 * long it is, and what is wrong in it, by `d (id, what)`.
 */
export const found = (last: string) =>
  `SELECT (SELECT ${last} FROM scope) AS last, (SELECT count(*)::int FROM page) AS "lookedAt",
     coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'what', d.what) ORDER BY d.id, d.what), '[]') AS differences FROM`;

interface FoundPage extends Omit<Compared, 'check'> {
  last: string | null;
}

/** @param sql a statement of `found`, for the page after `:after` */
export async function* comparePages(
  db: Executor,
  check: string,
  sql: string,
  range: Range,
  first = '',
): AsyncGenerator<Compared, void, undefined> {
  let after: string | null = first;
  while (after !== null) {
    const { last, ...compared }: FoundPage = await oneRow(db, sql, { ...range, after });
    yield { check, ...compared };
    after = last;
  }
}
