import { Command } from 'commander';
import type { Client } from 'pg';
import { z } from 'zod';
import { runCommand, say, type Stops } from '../scripts/command';
import { onDatabase } from '../src/database/pool/one-connection';
import { openDatabase, type Database } from '../src/database/pool/connection';
import { compareBooks, provenKeys, verify } from '../src/database/verify/verify-books';
import { chainBooks } from '../test/support/books';
import { charge } from '../test/support/settled';
import { standingApproval } from '../test/support/standing';
import { withoutIndexes } from './growth/bulk';
import { openFolder, startServer, type Server } from './growth/server';

/**
 * `npm run bench:verify`: how long `books verify` takes for a million entries of the ledger, and
 * how much memory. Each is of a charge with its events, webhooks and links. Exit code 1 where it
 * finds a difference.
 */

const options = new Command('npm run bench:verify --')
  .option(
    '--entries <n>',
    'of the ledger',
    (text) => z.coerce.number().int().positive().parse(text),
    1_000_000,
  )
  .option('--keep <folder>', 'where the data stays, to be compared again')
  .parse()
  .opts<{ entries: number; keep?: string }>();

/** Charges that one transaction makes. */
const AT_ONCE = 500;
const TABLES = ['billing_requests', 'events', 'ledger_entries', 'ledger_postings', 'webhook_deliveries'];

async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const start = performance.now();
  const result = await work();
  say(`${what}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return result;
}

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const folder = openFolder(options.keep, options.entries);
  stops.push(() => folder.remove());
  if (!folder.complete) {
    const server = await startServer(folder.path, 'generating', signal);
    stops.push(() => server.stop());
    await generate(server);
    await server.stop();
    folder.finish();
  }
  const server = await startServer(folder.path, 'measuring', signal);
  stops.push(() => server.stop());
  return compare(server);
}

async function compare(server: Server): Promise<boolean> {
  const db = openDatabase(server.databaseUrl, 2, server.facts);
  try {
    const keys = await provenKeys(db);
    let [last, since, rss] = ['', performance.now(), 0];
    const told = () => last && say(`  ${last}: ${((performance.now() - since) / 1000).toFixed(1)} s`);
    const pages = compareBooks(db, keys, { from: null, to: null });
    const verified = await timed('books verify', async () => {
      const report = await verify(pages, (_, check) => {
        rss = Math.max(rss, process.memoryUsage.rss());
        if (check === last) return;
        told();
        [last, since] = [check, performance.now()];
      });
      told();
      return report;
    });
    process.stdout.write(`${JSON.stringify({ ...verified, rssMb: Math.round(rss / 1e6) })}\n`);
    return verified.differences === 0;
  } finally {
    await db.destroy();
  }
}

async function generate(server: Server): Promise<void> {
  const db = openDatabase(server.databaseUrl, 2, server.facts);
  try {
    const { id } = await charge(db, await standingApproval(db));
    await onDatabase(server.superuserUrl, async (client) => {
      // No triggers: what they would write is written here.
      await client.query(`SET session_replication_role = replica; SET timezone = 'UTC'`);
      await withoutIndexes(
        client,
        TABLES,
        () => undefined,
        () => timed('generated', () => copyCharge(client, id)),
      );
      await client.query(BALANCES);
      await client.query('VACUUM (ANALYZE)');
    });
    await timed('chained', () => chain(server, db));
  } finally {
    await db.destroy();
  }
}

async function chain(server: Server, db: Database): Promise<void> {
  await chainBooks(db);
  await onDatabase(server.superuserUrl, (client) => client.query('VACUUM (ANALYZE)'));
}

const BALANCES = `
  DELETE FROM ledger_balance_changes;
  DELETE FROM ledger_folded_balances;
  INSERT INTO ledger_folded_balances (party_id, day, account, currency, kind, count, debits, credits)
  SELECT p.party_id, e.settlement_day, p.account, p.currency, e.kind, count(*),
    coalesce(sum(p.amount) FILTER (WHERE direction = 'debit'), 0), coalesce(sum(p.amount) FILTER (WHERE direction = 'credit'), 0)
  FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id GROUP BY 1, 2, 3, 4, 5`;

const later = (column: string) =>
  `o.${column} + make_interval(secs => (i - ${options.entries}) * (30 * 86400.0 / ${options.entries}))`;
const id26 = (n: string) => `lpad((${n})::text, 26, '0')`;

/** The same charge over and over, spread over a month. */
async function copyCharge(client: Client, id: string): Promise<void> {
  const brq = `'brq_' || ${id26('i')}`;
  const closedAt = `to_char((SELECT closed_at FROM original_billing_requests) + (${later('recorded_at')} - o.recorded_at),
    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const entry = `(SELECT e.id FROM ledger_entries e WHERE e.resource_id = '${id}')`;
  const times = (...columns: string[]) =>
    Object.fromEntries(columns.map((column) => [column, later(column)]));
  const copies = [
    await copyOf(client, 'billing_requests', `o.id = '${id}'`, {
      id: brq,
      reference: `'R' || i`,
      bank_transaction_id: `'tx-' || i`,
      ...times('closed_at', 'created_at', 'expires_at', 'recorded_at'),
    }),
    await copyOf(client, 'events', `o.resource_id = '${id}'`, {
      id: `'evt_' || ${id26('i * 2 + o.sequence')}`,
      resource_id: brq,
      details: `CASE o.sequence WHEN 1 THEN o.details ELSE o.details || jsonb_build_object('bankTransactionId', 'tx-' || i, 'closedAt', ${closedAt}) END`,
      ...times('recorded_at', 'business_at'),
    }),
    await copyOf(client, 'ledger_entries', `o.id = ${entry}`, {
      id: 'i + 1000',
      resource_id: brq,
      settlement_day: `((${later('settled_at')}) AT TIME ZONE 'Africa/Lagos')::date`,
      ...times('settled_at', 'recorded_at'),
    }),
    await copyOf(client, 'ledger_postings', `o.entry_id = ${entry}`, { entry_id: 'i + 1000' }),
    await copyOf(client, 'webhook_deliveries', `o.webhook_type IN ('billing.request', 'billing.response')`, {
      id: `'dlv_' || i || '-' || o.webhook_type`,
      created_xid: 'pg_current_xact_id()',
      ...times('created_at'),
    }),
  ];
  await client.query(
    `CREATE PROCEDURE copy_charge(a bigint, b bigint) LANGUAGE plpgsql AS $$ BEGIN ${copies.join(';')}; END $$`,
  );
  for (let from = 1; from < options.entries; from += AT_ONCE)
    await client.query(`CALL copy_charge(${from}, ${Math.min(options.entries - 1, from + AT_ONCE - 1)})`);
  await client.query('DROP PROCEDURE copy_charge');
}

/**
 * An INSERT of some rows of a table, once for each number from a to b, with other values in some
 * columns.
 */
async function copyOf(
  client: Client,
  table: string,
  where: string,
  others: Record<string, string>,
): Promise<string> {
  await client.query(`CREATE TEMP TABLE original_${table} AS SELECT * FROM ${table} o WHERE ${where}`);
  const { rows } = await client.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [table],
  );
  const values = rows.map(({ name }) => others[name] ?? `o.${name}`);
  return `INSERT INTO ${table} (${rows.map(({ name }) => name).join(', ')}) OVERRIDING SYSTEM VALUE
    SELECT ${values.join(', ')} FROM generate_series(a, b) AS i, original_${table} AS o`;
}

runCommand(main);
