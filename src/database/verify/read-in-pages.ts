import type { Database } from '../pool/connection';
import { raw } from '../pool/statement';

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
 * @param after the beginning of the first page, bound as `:after`
 */
export async function* walk(
  db: Database,
  check: string,
  sql: string,
  { after, ...bindings }: { after: string; [name: string]: string | number | null },
): Pages {
  let next: string | null = after;
  while (next !== null) {
    const page: Omit<Page, 'check'> & { last: string | null } = await db.oneRow`${raw(sql, {
      ...bindings,
      after: next,
    })}`;
    yield { check, checked: page.checked, differences: page.differences };
    next = page.last;
  }
}

/** SQL: the differences of a statement that finds `(id, what)`, as JSON. */
export const listed = (found: string) => `(SELECT coalesce(jsonb_agg(f), '[]') FROM (${found}) AS f)`;
