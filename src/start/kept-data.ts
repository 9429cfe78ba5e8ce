import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from './start-error';

/**
 * What earlier runs left in the engine's folder, looked at before anything is started: where a part
 * is gone or damaged, a start would make an empty one beside the rest, and everybody's customers
 * and charges would have vanished without a word.
 */

/** The folder of Postgres's data, within the engine's. */
export const postgresData = (folder: string) => join(folder, 'postgres');
export const temporalData = (folder: string) => join(folder, 'temporal.db');
export const keysFile = (folder: string) => join(folder, 'keys');

const WHAT_POSTGRES_HOLDS = 'every entity, customer and charge';

/**
 * Keys and Temporal's data are made after Postgres's, and initdb works in a folder of its own. So a
 * first start that was cut off never looks like a loss.
 *
 * @throws StartError where Postgres's data lacks a file, or is gone while the others are there
 */
export function requireWholePostgres(folder: string): void {
  const data = postgresData(folder);
  if (!existsSync(data)) {
    const others = [keysFile(folder), temporalData(folder)].filter((file) => existsSync(file));
    if (others.length === 0) return;
    throw new StartError(
      `${data} is gone, and with it ${WHAT_POSTGRES_HOLDS}; ${others.join(' and ')} of the same engine ` +
        `${others.length === 1 ? 'is' : 'are'} still there. Put the folder back from a backup, or set DATABASE_URL to ` +
        `where the data is; or, if all of it may be lost, remove ${folder} and start afresh.`,
    );
  }
  const missing = ['PG_VERSION', 'global/pg_control'].filter((file) => !existsSync(join(data, file)));
  if (missing.length === 0) return;
  throw new StartError(
    `${data} is damaged: ${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing. It holds ` +
      `${WHAT_POSTGRES_HOLDS}: put it back from a backup; or, if all of it may be lost, remove ${folder} and start afresh.`,
  );
}

const SQLITE_HEADER = 'SQLite format 3\0';

/** What to do about Temporal's data; it follows from Postgres, so that nothing is lost for good. */
export function temporalAdvice(folder: string): string {
  const file = temporalData(folder);
  return (
    `Temporal's data is in ${file}. Where that is damaged, remove it, with ${file}-wal and ${file}-shm: what waits there ` +
    'is started again from Postgres, and only the history that its UI shows is lost.'
  );
}

/**
 * @throws StartError where the file is there and is none of SQLite's; an empty one is as good as
 *   none
 */
export function requireSoundTemporal(folder: string): void {
  const file = temporalData(folder);
  if (!existsSync(file)) return;
  const header = Buffer.alloc(SQLITE_HEADER.length);
  const opened = openSync(file, 'r');
  const length = readSync(opened, header);
  closeSync(opened);
  if (length === 0 || header.toString('latin1') === SQLITE_HEADER) return;
  throw new StartError(`${file} is damaged: it is no SQLite file. ${temporalAdvice(folder)}`);
}

/**
 * A file of JSON that the engine wrote itself.
 *
 * @param isWhole whether it holds what it must
 * @param advice what to do where it does not
 * @throws StartError
 */
export function readOwnJson<Content>(
  file: string,
  isWhole: (content: Partial<Content>) => boolean,
  advice: string,
): Content {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8')) as Content | null;
    if (typeof content === 'object' && content !== null && isWhole(content)) return content;
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new StartError(`${file} cannot be read (${code}). ${advice}`, { cause });
    }
    // Without its cause, which may quote what the file holds.
  }
  throw new StartError(`${file} is damaged. ${advice}`);
}
