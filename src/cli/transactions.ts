import type { Command } from 'commander';
import type { Config } from '../config';
import { recordAct, type Actor } from '../database/audit';
import { LOCK_NOT_AVAILABLE } from '../database/availability';
import { executorOf, oneRow, type Executor } from '../database/connection';
import { requireMigratable } from '../database/operation/deployment';
import {
  endTransaction,
  findTransaction,
  longTransactions,
  type LongTransaction,
  type OpenTransaction,
} from '../database/operation/open-transactions';
import { onDatabase } from '../start/database';
import { command, CommandError, explained, reporting } from './command';
import { databaseUrl, deploymentOf, ownerUrl } from './engine';
import { operator, reasonOption, type Explained } from './operator';
import { asOwner, withOwnerUrl } from './owner';
import { tableOf } from './table';

/**
 * Transactions that others wait for. They are looked for without reading a table of ours, for these
 * may be what is waited for.
 */

/** @param database the command that they belong to */
export function addTransactionCommands(database: Command): void {
  command(database, 'transactions', 'those that are open for long, or that somebody waits for').action(
    reporting(async (config) => {
      const transactions = await asking(databaseUrl(config), longTransactions);
      return {
        json: { transactions },
        text: transactions.length > 0 ? transactionsTable(transactions) : 'None is open for long.',
      };
    }),
  );

  command(database, 'end', 'end an open transaction, by its id: what it wrote is undone')
    .argument('<id>')
    .addOption(reasonOption().makeOptionMandatory())
    .action(
      reporting(async (config, id: string, options: Explained) => {
        const ended = await endById(config, operator(options), id);
        return { json: { ended }, text: `${id} has ended, and what it wrote is undone` };
      }),
    );
}

export function transactionsTable(transactions: LongTransaction[]): string {
  const head = ['open transaction', 'database', 'login', 'since', 'the events feed waits', 'sessions wait'];
  const table = transactions.map(({ id, database, login, since, prepared, writes, waiting }) => [
    prepared ? `${id} (prepared)` : id,
    database,
    login,
    since ?? 'not known to this login',
    writes ? 'yes' : '',
    waiting,
  ]);
  return `${tableOf(head, table)}\n"assent database end <id>" ends one.`;
}

function asking<Answer>(url: string, question: (server: Executor) => Promise<Answer>): Promise<Answer> {
  return onDatabase(url, (client) => question(executorOf(client)));
}

/**
 * Ends one by the owner's login, or by that of API and worker, which alone may end its own
 * sessions.
 *
 * @throws CommandError where there is none, or neither login may
 */
async function endById(config: Config, by: Actor, id: string): Promise<OpenTransaction> {
  const urls = [ownerUrl(config), databaseUrl(config)];
  const sightings = await Promise.all(
    urls.map((url) => asking(url, (server) => findTransaction(server, id))),
  );
  const found = sightings.find((one) => one !== undefined);
  if (!found) {
    throw new CommandError(`there is no open transaction ${id}: see "assent database transactions"`);
  }
  await withOwnerUrl(config, (url) => requireRecordable(config, url));
  await endAsWhoMay(urls, found);
  // Not before, for it may hold what the record needs.
  await asOwner(config, (owner) =>
    owner.transaction((trx) =>
      recordAct(trx, by, { action: 'transaction.ended', entityId: null, before: found }),
    ),
  ).catch((cause: unknown) => {
    throw new CommandError(
      `${id}, of the login "${found.login}" in "${found.database}", has ended, and is not on record: ${explained(cause)}`,
      { cause },
    );
  });
  return found;
}

/** Longest wait for what somebody has locked. */
const LOCKED_FOR_MS = 1_000;

/**
 * What has ended is not undone: so that it can be recorded is known before.
 *
 * @throws CommandError, DeploymentError
 */
async function requireRecordable(config: Config, url: string): Promise<void> {
  await onDatabase(
    url,
    async (client) => {
      const owner = executorOf(client);
      const { database, login, hasRecord, mayWrite } = await oneRow<{
        database: string;
        login: string;
        hasRecord: boolean;
        mayWrite: boolean;
      }>(
        owner,
        `SELECT current_database()::text AS database, session_user::text AS login, record IS NOT NULL AS "hasRecord",
           coalesce(has_table_privilege(record, 'INSERT'), false) AS "mayWrite"
         FROM to_regclass('public.audit_events') AS record`,
      );
      if (!hasRecord) {
        throw new CommandError(
          `the database "${database}" is none of an installation, and the end could not be recorded in it: correct ` +
            'DATABASE_OWNER_URL, or DATABASE_URL where that is not set',
        );
      }
      if (!mayWrite) {
        throw new CommandError(
          `the login "${login}" may not record the end: name the owner of the schema in DATABASE_OWNER_URL, and in ` +
            'DATABASE_URL a login that may end the transaction',
        );
      }
      await requireMigratable(owner, deploymentOf(config)).catch((error: unknown) => {
        // That lock may be the very reason.
        if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
      });
    },
    { lock_timeout: LOCKED_FOR_MS },
  );
}

/** What Postgres says to a login that may not end what another one has begun. */
const INSUFFICIENT_PRIVILEGE = '42501';

async function endAsWhoMay(urls: string[], found: OpenTransaction): Promise<void> {
  for (const url of urls) {
    try {
      // A prepared one is ended in its own database alone.
      const ended = await onDatabase(inDatabase(url, found), (client) => endTransaction(client, found));
      if (!ended) throw new CommandError(`${found.id} does not end: try again`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    }
  }
  throw new CommandError(
    `it is of the login "${found.login}", which only itself or a superuser may end: name one of them in DATABASE_URL, and leave DATABASE_OWNER_URL to the owner of the schema`,
  );
}

function inDatabase(url: string, { prepared, database }: OpenTransaction): string {
  if (!prepared) return url;
  const there = new URL(url);
  there.pathname = `/${encodeURIComponent(database)}`;
  return there.href;
}
