import { InvalidArgumentError, Option } from 'commander';
import type { Client } from '@temporalio/client';
import type { Database } from '../database/connection';
import { counted } from '../domain/counted';
import { endRowless, pagesWithoutRow, type RowlessWorkflow } from '../temporal/without-row';
import { progress } from './progress';

/**
 * What `assent reconcile` does about workflows whose row is gone.
 *
 * After a restore they are the rest of what was lost. Beside its original, a copy of the database
 * finds all of the original's that it does not know, and nothing here can tell the two apart. So an
 * operator says that they are to be ended, and how many.
 */

export interface Rowless {
  /** Workflows of ours that run. */
  checked: number;
  found: number;
  ended: number;
  /** Found, and still there in the end. */
  left: number;
}

export const NO_ROWLESS: Rowless = { checked: 0, found: 0, ended: 0, left: 0 };

/** A new one for each command, for commander keeps in it what was given. */
export function endRowlessOption(): Option {
  return new Option(
    '--end-rowless <count>',
    'with --fix, also end the workflows without a row, if there are so many: never where another copy of the database is at work',
  ).argParser(readCount);
}

function readCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be the number that "assent reconcile" has found.');
}

/**
 * Goes through all that runs, and ends what has no row where there is as much as expected.
 *
 * @param expected undefined where nothing is to be ended
 * @param list told of each
 */
export async function scanRowless(
  db: Database,
  client: Client,
  expected: number | undefined,
  list: (gone: RowlessWorkflow[]) => void,
): Promise<Rowless> {
  const result = { ...NO_ROWLESS };
  for await (const { checked, gone } of pagesWithoutRow(db, client)) {
    result.checked += checked;
    result.found += gone.length;
    list(gone);
    progress.say(`${counted(result.checked, 'workflows')} that run looked at, ${result.found} without a row`);
  }
  result.left = result.found;
  if (expected !== result.found) return result;
  result.left = 0;
  for await (const { gone } of pagesWithoutRow(db, client)) {
    const some = gone.slice(0, expected - result.ended);
    await endRowless(client, some);
    result.ended += some.length;
    result.left += gone.length - some.length;
    progress.say(`${result.ended} of ${counted(expected, 'workflows')} without a row ended`);
  }
  return result;
}

/** @param expected undefined where nothing was to be ended */
export function rowlessInWords({ checked, found, left }: Rowless, expected: number | undefined): string[] {
  if (found === 0) return [];
  const lines = [`${found} of ${counted(checked, 'workflows')} that run have no row.`];
  if (left === 0) return [...lines, 'They are ended.'];
  if (expected !== undefined)
    lines.push(
      expected === found
        ? `${left} more have come meanwhile, and run.`
        : `--end-rowless says ${expected}: none was ended.`,
    );
  return [
    ...lines,
    'Where Postgres was restored, and no other database works on this namespace, ' +
      `\`assent reconcile --fix --end-rowless ${left}\` ends them. ` +
      'Where this is a copy of a database, they are the original’s: see "A copy of the database" in docs/operations.md.',
  ];
}
