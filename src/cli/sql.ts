import { createHash } from 'node:crypto';
import { text as readAll } from 'node:stream/consumers';
import Table from 'cli-table3';
import type { Command } from 'commander';
import type { Client, QueryResult } from 'pg';
import { recordAct } from '../database/audit';
import { onDatabase } from '../start/database';
import { command, CommandError, onEngine } from './command';
import { databaseUrl, ownerUrl } from './engine';
import { operator, reasonOption, type Explained } from './operator';

/**
 * `assent sql`: asks the database of the engine, where there is no psql, and nobody has its address at hand.
 *
 * It reads only, unless it is asked to be the schema's owner; that is on record, by the hash of what was run, for a
 * statement may hold what nobody should read there.
 */

/** Longest that all of it may run. */
const TIMEOUT_MS = 300_000;

interface Options extends Explained {
  owner?: boolean;
}

export function addSqlCommand(program: Command): void {
  command(program, 'sql', 'run the SQL of standard input, which may only read')
    .option('--owner', 'as the owner of the schema, who may also write; it is on record')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db }, config, { owner = false, ...explained }: Options) => {
        const sql = (await readAll(process.stdin)).trim();
        if (sql === '') throw new CommandError('there is no SQL on standard input');
        const sha256 = createHash('sha256').update(sql).digest('hex');
        if (owner) {
          await db.transaction((trx) =>
            recordAct(trx, operator(explained), {
              action: 'sql.run',
              entityId: null,
              before: null,
              after: { sha256 },
            }),
          );
        }
        const results = await onDatabase(owner ? ownerUrl(config) : databaseUrl(config), async (client) => {
          await client.query(`SET statement_timeout = ${TIMEOUT_MS}`);
          if (!owner) await client.query('SET default_transaction_read_only = on; SET ROLE assent_app');
          return run(client, sql);
        });
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
async function run(client: Client, sql: string): Promise<QueryResult<Record<string, unknown>>[]> {
  try {
    // Of several statements there are several results, whatever the types say.
    const found: unknown = await client.query(sql);
    return (Array.isArray(found) ? found : [found]) as QueryResult<Record<string, unknown>>[];
  } catch (cause) {
    throw new CommandError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function inWords({ command: did, rowCount, rows, fields }: QueryResult<Record<string, unknown>>): string {
  if (fields.length === 0) return `${did}${rowCount === null ? '' : ` ${rowCount}`}`;
  const table = new Table({ head: fields.map(({ name }) => name), style: { head: [], border: [] } });
  for (const one of rows) table.push(fields.map(({ name }) => shown(one[name])));
  return `${table.toString()}\n${rows.length} rows`;
}

/** Whole numbers of Postgres are exact here; JSON's are up to 2⁵³, and those beyond stay exact as text. */
function plain(value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
}

function shown(value: unknown): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  return value instanceof Date ? value.toISOString() : JSON.stringify(plain(value));
}
