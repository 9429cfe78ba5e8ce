import type { Client } from '@temporalio/client';
import type { Database } from '../database/connection';
import { openWork, WORK_KINDS, type OpenWork, type WorkKind } from '../database/operation/reconcile';
import { openWithoutWorkflow } from './reconcile';

/** What is open, page by page, and which of it has lost its workflow. */

/** Where to go on; past the last kind, there is none. */
export interface WorkCursor {
  kind: WorkKind | undefined;
  after: string;
}

/** @param kind where no such kind is among them, it begins with the first */
export function workCursor(kinds: readonly WorkKind[], kind = '', after = ''): WorkCursor {
  const known = kinds.find((one) => one === kind);
  return known === undefined ? { kind: kinds[0], after: '' } : { kind: known, after };
}

/** How it is gone through. */
export interface WorkWalk {
  kinds?: readonly WorkKind[];
  from?: WorkCursor;
  pageSize: number;
  /** With what has nothing to do until somebody acts. */
  resting: boolean;
}

/** Each page of open work, and where it goes on after that. */
export async function* openPages(
  db: Database,
  { kinds = WORK_KINDS, from = workCursor(kinds), pageSize, resting }: WorkWalk,
): AsyncGenerator<{ kind: WorkKind; page: OpenWork[]; at: WorkCursor }, void, undefined> {
  let at = from;
  while (at.kind !== undefined) {
    const { kind }: WorkCursor = at;
    const page = await openWork(db, kind, at.after, pageSize, resting);
    const last = page.at(-1);
    at =
      last && page.length === pageSize
        ? { kind, after: last.key }
        : { kind: kinds[kinds.indexOf(kind) + 1], after: '' };
    yield { kind, page, at };
  }
}

/**
 * The same with what of each page has had no workflow for `afterS` seconds: Temporal is asked about
 * each.
 */
export async function* pagesWithoutWorkflow(
  db: Database,
  client: Client,
  walk: WorkWalk & { afterS: number },
) {
  for await (const { kind, page, at } of openPages(db, walk)) {
    const missing = await openWithoutWorkflow(db, client, page, walk.afterS);
    yield { kind, checked: page.length, missing, at };
  }
}
