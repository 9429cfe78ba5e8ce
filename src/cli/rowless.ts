import { Option } from 'commander';
import type { Client } from '@temporalio/client';
import { recordAuditEvent, type Actor } from '../database/record/audit-event';
import type { Database } from '../database/pool/connection';
import { counted } from '../domain/words/counted';
import { endRowless, pagesWithoutRow, type RowlessWorkflow } from '../temporal/reconcile';
import { progress } from './output';

/**
 * Ends workflows whose row is gone, for `assent reconcile`.
 *
 * After a restore they are the rest of the lost work. A copy of the database, beside its original,
 * takes the original's newer workflows for rowless, and the code cannot tell the two apart. So an
 * operator asks for the end; the original would start them again.
 */
export interface Rowless {
  /** Workflows of ours that run. */
  checked: number;
  found: number;
  ended: number;
  /** Rowless workflows still there in the end. */
  left: number;
}

/** A new option for each command, because commander stores the value in it. */
export const endRowlessOption = (): Option =>
  new Option(
    '--end-rowless',
    'with --fix, also end the workflows without a row: never where another copy of the database is at work',
  );

/**
 * Reads all running workflows, and ends the rowless ones. Each audit event is written before its
 * workflows end, should the command die in the middle.
 *
 * @param by undefined where nothing is to be ended
 * @param list told of each rowless workflow
 */
export async function scanRowless(
  db: Database,
  client: Client,
  by: Actor | undefined,
  list: (gone: RowlessWorkflow[]) => void,
): Promise<Rowless> {
  const result: Rowless = { checked: 0, found: 0, ended: 0, left: 0 };
  for await (const { checked, gone } of pagesWithoutRow(db, client)) {
    result.checked += checked;
    result.found += gone.length;
    list(gone);
    progress.say(`${counted(result.checked, 'workflows')} that run looked at, ${result.found} without a row`);
    if (!by || gone.length === 0) continue;
    const after = { workflowIds: gone.map(({ workflowId }) => workflowId) };
    await db.transaction((trx) =>
      recordAuditEvent(trx, by, { action: 'reconcile.rowless_ended', entityId: null, after }),
    );
    await endRowless(client, gone);
    result.ended += gone.length;
  }
  return { ...result, left: result.found - result.ended };
}

export function rowlessInWords({ checked, found, left }: Rowless): string[] {
  if (found === 0) return [];
  return [
    `${found} of ${counted(checked, 'workflows')} that run have no row.`,
    left === 0
      ? 'They are ended.'
      : 'Where Postgres was restored, and no other database works on this namespace, ' +
        '`assent reconcile --fix --end-rowless` ends them. ' +
        'Where this is a copy of a database, they are the original’s: see "A copy of the database" in docs/operations.md.',
  ];
}
