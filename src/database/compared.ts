import type { FactsOf, Fault, FaultCode, NotComparedCode } from '../domain/words/verify-words';
import { oneRow, type Executor } from './connection';

/** What comparing the books comes to, page by page. */

/**
 * Something that is not as it must be; the id is of the charge, refund, agreement or entry, and of
 * a balance its account and day.
 */
export type Difference = { id: string } & Fault;

/** What has been compared since the last time that was said. */
export interface Compared {
  /** What kind of things. */
  check: string;
  checked: number;
  differences: Difference[];
  /** How many more there are that could not be. */
  notCompared?: { count: number; why: NotComparedCode };
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

/** For `IN (…)`. */
export const anyOf = (types: string[]) => types.map((one) => `'${one}'`).join(', ');

/**
 * One row of a statement that compares a page: where the page ends, null where it is empty, how
 * long it is, and what is wrong in it, by `d (id, wrong, facts)`.
 */
export const found = (last: string) =>
  `SELECT (SELECT ${last} FROM scope) AS last, (SELECT count(*)::int FROM page) AS checked,
     coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'wrong', d.wrong) || d.facts ORDER BY d.id, d.wrong, d.facts), '[]')
       AS differences FROM`;

/**
 * The columns `wrong` and `facts` of it.
 *
 * @param facts each by its expression; as text, for a number may have more digits than JSON keeps
 */
export const fault = <Code extends FaultCode>(
  code: Code,
  ...[facts]: keyof FactsOf<Code> extends never ? [] : [Record<keyof FactsOf<Code>, string>]
): string => {
  const pairs = Object.entries<string>(facts ?? {}).map(
    ([name, expression]) => `'${name}', (${expression})::text`,
  );
  return `'${code}' AS wrong, jsonb_build_object(${pairs.join(', ')}) AS facts`;
};

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
