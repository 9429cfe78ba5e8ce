import type { Database } from '../pool/connection';
import { sql, type Fragment } from '../pool/statement';

/** A finding: the row, its actual content, and the expected content. */
export interface Difference {
  id: string;
  what: string;
}

export interface Page {
  check: string;
  checked: number;
  differences: Difference[];
}

export type Pages = AsyncGenerator<Page, void, undefined>;

/** Days in the network's zone, both included; null for no bound. */
export interface Days {
  from: string | null;
  to: string | null;
}

/**
 * Runs a statement page after page. Its only row has `checked`, `differences` and `last`: the next
 * page begins after `last`, and a null ends the walk.
 *
 * @param first the beginning of the first page
 */
export async function* walk(
  db: Database,
  check: string,
  statement: (after: string) => Fragment,
  first: string,
): Pages {
  let after: string | null = first;
  while (after !== null) {
    const page: Omit<Page, 'check'> & { last: string | null } = await db.oneRow`${statement(after)}`;
    yield { check, checked: page.checked, differences: page.differences };
    after = page.last;
  }
}

/** SQL: the differences of a statement that finds `(id, what)`, as JSON. */
export const listed = (found: Fragment) => sql`(SELECT coalesce(jsonb_agg(f), '[]') FROM (${found}) AS f)`;
