import type { Option } from 'commander';
import type { Client } from '@temporalio/client';
import { recordAuditEvent, type Actor } from '../database/record/audit-event';
import type { Database } from '../database/pool/connection';
import { accept, refuse } from '../domain/parsed';
import { counted } from '../domain/words/counted';
import { endRowless, pagesWithoutRow, type RowlessWorkflow } from '../temporal/recover';
import { parsedOption } from './options';
import { progress } from './output';

/**
 * Ends workflows whose row is gone, for `assent reconcile`.
 *
 * After a restore they are the rest of the lost work. A copy of the database, beside its original,
 * takes the original's newer workflows for rowless, and the code cannot tell the two apart. So an
 * operator reads the count first, and asks for the end of as many; the original would start them
 * again.
 */
export interface Rowless {
  /** Workflows of ours that run. */
  checked: number;
  found: number;
  /** All that were found, or none. */
  ended: number;
}

/** Ids in an audit event: some 10 kB. */
const ENDED_AT_ONCE = 200;

/** A new option for each command, because commander stores the value in it. */
export const endRowlessOption = (): Option =>
  parsedOption(
    '--end-rowless <count>',
    'with --fix, also end the workflows without a row, if there are no more of them: never where another copy of the database is at work',
    (given) =>
      /^[1-9]\d{0,5}$/.test(given)
        ? accept(Number(given))
        : refuse('takes the count of workflows without a row that "assent reconcile" has said'),
  );

/**
 * Counts the running workflows without a row, and then ends them, unless there are more than
 * `atMost`. Each audit event is written before its workflows end, should the command die in the
 * middle.
 *
 * @param by who ends them; undefined for a count alone
 * @param list told of each rowless workflow
 */
export async function scanRowless(
  db: Database,
  client: Client,
  { by, atMost }: { by: Actor | undefined; atMost: number },
  list: (gone: RowlessWorkflow[]) => void,
): Promise<Rowless> {
  const result: Rowless = { checked: 0, found: 0, ended: 0 };
  const all: RowlessWorkflow[] = [];
  for await (const { checked, gone } of pagesWithoutRow(db, client)) {
    result.checked += checked;
    result.found += gone.length;
    list(gone);
    if (result.found <= atMost) all.push(...gone);
    progress.say(`${counted(result.checked, 'workflows')} that run looked at, ${result.found} without a row`);
  }
  if (!by || result.found > atMost) return result;
  for (let from = 0; from < all.length; from += ENDED_AT_ONCE) {
    const gone = all.slice(from, from + ENDED_AT_ONCE);
    const after = { workflowIds: gone.map(({ workflowId }) => workflowId) };
    await db.transaction((trx) =>
      recordAuditEvent(trx, by, { action: 'reconcile.rowless_ended', entityId: null, after }),
    );
    await endRowless(client, gone);
    result.ended += gone.length;
  }
  return result;
}

export function rowlessInWords({ checked, found, ended }: Rowless): string[] {
  if (found === 0) return [];
  return [
    `${found} of ${counted(checked, 'workflows')} that run have no row.`,
    ended === found
      ? 'They are ended.'
      : 'None of them was ended. Where Postgres was restored, and no other database works on this namespace, ' +
        `\`assent reconcile --fix --end-rowless ${found}\` ends them. ` +
        'Where this is a copy of a database, they are the original’s: see "A copy of the database" in docs/operations.md.',
  ];
}
