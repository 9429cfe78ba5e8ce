import { InvalidArgumentError, Option } from 'commander';
import type { Client } from '@temporalio/client';
import { recordAuditEvent, type Actor } from '../database/record/audit-event';
import type { Database } from '../database/pool/connection';
import { chunksOf } from '../domain/group';
import { counted } from '../domain/words/counted';
import { endRowless, pagesWithoutRow, type RowlessWorkflow } from '../temporal/reconcile';
import { progress } from './output';

/**
 * Ends workflows whose row is gone, for `assent reconcile`.
 *
 * After a restore they are the rest of the lost work. A copy of the database, beside its original,
 * takes the original's newer workflows for rowless, and the code cannot tell the two apart. So an
 * operator confirms the end, and the number.
 */
export interface Rowless {
  /** Workflows of ours that run. */
  checked: number;
  found: number;
  ended: number;
  /** Rowless workflows still there in the end. */
  left: number;
}

export const NO_ROWLESS: Rowless = { checked: 0, found: 0, ended: 0, left: 0 };

/** Workflows whose audit events are written together before they are ended. */
const RECORDED_AT_ONCE = 200;

/** A new option for each command, because commander stores the value in it. */
export const endRowlessOption = (): Option =>
  new Option(
    '--end-rowless <count>',
    'with --fix, also end the workflows without a row, if there are so many: never where another copy of the database is at work',
  ).argParser((text) => {
    // So many are kept in memory until they are ended, at some 200 bytes each.
    if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
    throw new InvalidArgumentError(
      'It must be the number that "assent reconcile" has found, and at most 999999.',
    );
  });

/**
 * Reads all running workflows, and ends the rowless ones where their number is the expected one. A
 * workflow that begins meanwhile was not counted, and is left. Each audit event is written before
 * its workflow ends, should the command die in the middle.
 *
 * @param end undefined where nothing is to be ended
 * @param list told of each rowless workflow
 */
export async function scanRowless(
  db: Database,
  client: Client,
  end: { expected: number; by: Actor } | undefined,
  list: (gone: RowlessWorkflow[]) => void,
): Promise<Rowless> {
  const result = { ...NO_ROWLESS };
  const decided: RowlessWorkflow[] = [];
  for await (const { checked, gone } of pagesWithoutRow(db, client)) {
    result.checked += checked;
    result.found += gone.length;
    list(gone);
    if (end && result.found <= end.expected) decided.push(...gone);
    progress.say(`${counted(result.checked, 'workflows')} that run looked at, ${result.found} without a row`);
  }
  if (end?.expected === result.found) {
    for (const some of chunksOf(decided, RECORDED_AT_ONCE)) {
      const after = { workflowIds: some.map(({ workflowId }) => workflowId) };
      await db.transaction((trx) =>
        recordAuditEvent(trx, end.by, { action: 'reconcile.rowless_ended', entityId: null, after }),
      );
      await endRowless(client, some);
      result.ended += some.length;
      progress.say(`${result.ended} of ${counted(end.expected, 'workflows')} without a row ended`);
    }
  }
  result.left = result.found - result.ended;
  return result;
}

/** @param expected undefined where nothing was to be ended */
export function rowlessInWords({ checked, found, left }: Rowless, expected: number | undefined): string[] {
  if (found === 0) return [];
  const lines = [`${found} of ${counted(checked, 'workflows')} that run have no row.`];
  if (left === 0) return [...lines, 'They are ended.'];
  if (expected !== undefined) lines.push(`--end-rowless says ${expected}: none was ended.`);
  return [
    ...lines,
    'Where Postgres was restored, and no other database works on this namespace, ' +
      `\`assent reconcile --fix --end-rowless ${left}\` ends them. ` +
      'Where this is a copy of a database, they are the original’s: see "A copy of the database" in docs/operations.md.',
  ];
}
