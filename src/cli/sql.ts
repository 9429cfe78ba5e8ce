import { createHash } from 'node:crypto';
import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { QueryConfig, QueryResult } from 'pg';
import type { Config } from '../config';
import { recordAct, type Actor } from '../database/audit';
import { APP_ROLE, executorOf } from '../database/connection';
import { requireDeployment, requireMigratable } from '../database/operation/deployment';
import { onDatabase } from '../start/database';
import { command, CommandError, reporting } from './command';
import { databaseUrl, deploymentOf } from './engine';
import { withOwnerUrl } from './owner';
import { operator, reasonOption, type Explained } from './operator';
import { tableOf } from './table';

/**
 * `assent sql`: asks the database of the engine, where there is no psql, and nobody has its address
 * at hand.
 *
 * It reads only, unless it is asked to be the schema's owner; that is on record in the very
 * database that it is run in, by the hash of what was run, for a statement may hold what nobody
 * should read there.
 *
 * What is to read only is one statement, which Postgres's extended protocol holds to, in a
 * transaction that has begun as read-only and has read already: from then on Postgres lets nobody
 * make it one that writes, and where the statement ends it there is none after it.
 */

/** Longest that all of it may run. */
const TIMEOUT_MS = 300_000;

interface Options extends Explained {
  owner?: boolean;
}

type Result = QueryResult<Record<string, unknown>>;

export function addSqlCommand(program: Command): void {
  command(program, 'sql', 'run the SQL of standard input, which may only read')
    .option('--owner', 'as the owner of the schema, who may also write; it is on record')
    .addOption(reasonOption())
    .action(
      reporting(async (config, { owner = false, ...explained }: Options) => {
        const sql = (await readAll(process.stdin)).trim();
        if (sql === '') throw new CommandError('there is no SQL on standard input');
        const results = owner
          ? await write(config, sql, operator(explained))
          : [await runReadOnly(config, sql)];
        return {
          json: {
            results: results.map(({ command: did, rowCount, rows }) => ({
              command: did,
              rowCount,
              rows: rows.map((one) =>
                Object.fromEntries(Object.entries(one).map(([name, value]) => [name, plain(value)])),
              ),
            })),
          },
          text: results.map(inWords).join('\n'),
        };
      }),
    );
}

/** @throws CommandError with what Postgres says of the statement */
export async function runReadOnly(config: Config, sql: string): Promise<Result> {
  return onDatabase(
    databaseUrl(config),
    async (client) => {
      await requireDeployment(executorOf(client), deploymentOf(config));
      await client.query('BEGIN READ ONLY');
      await client.query('SELECT');
      return said(client.query<Record<string, unknown>>({ text: sql, queryMode: 'extended' } as QueryConfig));
    },
    { role: APP_ROLE, default_transaction_read_only: 'on', statement_timeout: TIMEOUT_MS },
  );
}

/** @throws CommandError with what Postgres says of a statement */
async function write(config: Config, sql: string, by: Actor): Promise<Result[]> {
  return withOwnerUrl(config, (url) =>
    onDatabase(
      url,
      async (client) => {
        await requireMigratable(client, deploymentOf(config));
        await client.query('BEGIN');
        await recordAct({ ...executorOf(client), isTransaction: true }, by, {
          action: 'sql.run',
          entityId: null,
          after: { sha256: createHash('sha256').update(sql).digest('hex') },
        });
        await client.query('COMMIT');
        // Of several statements there are several results, whatever the types say.
        const found: unknown = await said(client.query<Record<string, unknown>>(sql));
        return (Array.isArray(found) ? found : [found]) as Result[];
      },
      { statement_timeout: TIMEOUT_MS },
    ),
  );
}

/** Postgres's code, beside others, for several statements where there may be one. */
const SYNTAX_ERROR = '42601';

async function said<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (cause) {
    const { code, message } = cause as Error & { code?: string };
    const several = code === SYNTAX_ERROR && message.includes('multiple commands');
    throw new CommandError(
      several ? 'it reads one statement at a time; with --owner they may be several' : message,
      {
        cause,
      },
    );
  }
}

function inWords({ command: did, rowCount, rows, fields }: Result): string {
  if (fields.length === 0) return `${did}${rowCount === null ? '' : ` ${rowCount}`}`;
  const names = fields.map(({ name }) => name);
  const table = rows.map((one) => names.map((name) => shown(one[name])));
  return `${tableOf(names, table)}\n${rows.length} rows`;
}

/**
 * Whole numbers of Postgres are exact here; JSON's are up to 2⁵³, and those beyond stay exact as
 * text.
 */
function plain(value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
}

function shown(value: unknown): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  return value instanceof Date ? value.toISOString() : JSON.stringify(plain(value));
}
