import { setTimeout as wait } from 'node:timers/promises';
import { isUnavailable, refusedLogin } from '../database/pool/availability';
import { APP_ROLE, executorOf } from '../database/pool/connection';
import { schemaDifference } from '../database/migrate';
import { counted } from '../domain/words/counted';
import { onDatabase } from '../database/pool/one-connection';
import { OperatorError } from '../domain/failures';
import { databaseFault } from './explain';

/**
 * Waits until another process has migrated: a process rolled out together with its migrations must
 * not begin before they have run. It uses the login of API and worker, and changes nothing.
 */

/**
 * Longest wait: a migration of a large table takes minutes. The supervisor then decides whether to
 * try again.
 */
const MIGRATED_WITHIN_MS = 600_000;
const POLL_MS = 1_000;

/** Postgres's codes for a missing table, and for a table that may not be read yet. */
const NOT_YET = /^(42P01|42501)$/;

/**
 * @param url the login of API and worker
 * @param say told of the reason to wait, whenever it changes
 * @throws OperatorError where it takes too long
 * @throws whatever Postgres refuses a login with
 */
export async function schemaMigrated(
  url: string,
  say: (line: string) => void,
  withinMs = MIGRATED_WITHIN_MS,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  let said: string | undefined;
  for (;;) {
    const lacking = await whatLacks(url);
    if (lacking === undefined) return;
    if (lacking !== said) say(lacking);
    said = lacking;
    if (performance.now() > deadline) {
      throw new OperatorError(`${lacking}, for ${Math.round(withinMs / 1000)} s: run "assent migrate"`);
    }
    await wait(POLL_MS);
  }
}

/** The migrations that this version still needs. Migrations of a later version are ignored. */
async function whatLacks(url: string): Promise<string | undefined> {
  try {
    const { missing } = await onDatabase(url, (client) => schemaDifference(executorOf(client)), {
      role: APP_ROLE,
    });
    return missing.length === 0
      ? undefined
      : `the schema lacks ${counted(missing.length, 'migrations')}, ${missing[0]} first`;
  } catch (error) {
    if (refusedLogin(error) !== undefined) throw error;
    if (isUnavailable(error)) return databaseFault(error) ?? 'the database does not answer';
    if (!NOT_YET.test(String((error as { code?: unknown }).code))) throw error;
    return 'the database has no schema yet';
  }
}
