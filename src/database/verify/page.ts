import { oneRow, type Database } from '../connection';

/** Something that is not as it must be: of which row, and what it says and should say. */
export interface Difference {
  id: string;
  what: string;
}

/** A page of what was compared, of one kind. */
export interface Page {
  check: string;
  checked: number;
  differences: Difference[];
}

export type Pages = AsyncGenerator<Page, void, undefined>;

/** Days in the network's zone, both included; null where there is no bound. */
export interface Days {
  from: string | null;
  to: string | null;
}

/**
 * Runs a statement page after page. Its only row has `checked`, `differences` and `last`: the next
 * page begins behind `last`, and a null ends the walk.
 *
 * @param after where the first page begins, bound as `:after`
 */
export async function* walk(
  db: Database,
  check: string,
  sql: string,
  { after, ...bindings }: { after: string; [name: string]: string | number | null },
): Pages {
  let next: string | null = after;
  while (next !== null) {
    const page: Omit<Page, 'check'> & { last: string | null } = await oneRow(db, sql, {
      ...bindings,
      after: next,
    });
    yield { check, checked: page.checked, differences: page.differences };
    next = page.last;
  }
}

/** The differences of a statement that finds `(id, what)`, as JSON. */
export const listed = (found: string) => `(SELECT coalesce(jsonb_agg(f), '[]') FROM (${found}) AS f)`;
