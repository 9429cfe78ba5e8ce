import { runReadOnly } from '../../src/cli/sql';
import { readConfig, type Config } from '../../src/config';
import { openDatabase, row, rows, type Database } from '../../src/database/connection';
import { makeKeyring } from '../../src/database/keys/keyring';
import { createCli } from '../support/cli';
import { asOwner } from '../support/database';
import {
  createProductionDatabase,
  PRODUCTION,
  type ProductionDatabase,
} from '../support/production-database';

let production: ProductionDatabase;
let other: ProductionDatabase;
let db: Database;
let config: Config;
let cli: ReturnType<typeof createCli>;
beforeAll(async () => {
  [production, other] = [await createProductionDatabase(), await createProductionDatabase()];
  db = openDatabase(production.url, 2);
  await asOwner(
    production.ownerUrl,
    `INSERT INTO outbox (kind, workflow_id, signal) VALUES ('signal', 'intent/int_1', 'foundOverdue')`,
  );
  config = readConfig({ ...PRODUCTION, DATABASE_URL: production.url, ASSENT_KEYS: makeKeyring() });
  cli = createCli({
    url: production.url,
    keys: makeKeyring(),
    more: { ...PRODUCTION, PGOPTIONS: '-c role=none -c default_transaction_read_only=off' },
  });
});
afterAll(async () => {
  await db.destroy();
  await Promise.all([production.drop(), other.drop()]);
});

const waiting = async () => (await row<{ n: number }>(db, `SELECT count(*)::int AS n FROM outbox`))?.n;

describe('"sql" without --owner', () => {
  it('reads as the role that serves, whatever PGOPTIONS says', async () => {
    const { out } = await cli.runWith(`SELECT count(*)::int AS n, current_user AS role FROM outbox;`, [
      'sql',
      '--json',
    ]);
    expect(JSON.parse(out)).toEqual({
      results: [{ command: 'SELECT', rowCount: 1, rows: [{ n: 1, role: 'assent_app' }] }],
    });
  });

  it.each([
    [`DELETE FROM outbox`, 'read-only transaction'],
    [`WITH gone AS (DELETE FROM outbox RETURNING id) SELECT * FROM gone`, 'read-only transaction'],
    [`EXPLAIN ANALYZE DELETE FROM outbox`, 'read-only transaction'],
    [`COMMIT; DELETE FROM outbox`, 'one statement at a time'],
    [`END; SET default_transaction_read_only = off; DELETE FROM outbox`, 'one statement at a time'],
    [`SET TRANSACTION READ WRITE`, 'before any query'],
    [`SELECT set_config('transaction_read_only', 'off', false)`, 'before any query'],
    [`DO $$ BEGIN SET TRANSACTION READ WRITE; DELETE FROM outbox; END $$`, 'before any query'],
    [`DO $$ BEGIN COMMIT; SET TRANSACTION READ WRITE; DELETE FROM outbox; END $$`, 'invalid transaction'],
    [`DO $$ BEGIN RESET ROLE; DELETE FROM outbox; END $$`, 'read-only transaction'],
    [`DO $$ BEGIN EXECUTE 'DELETE FROM outbox'; END $$`, 'read-only transaction'],
    [`SELECT nextval(pg_get_serial_sequence('outbox', 'id'))`, 'permission denied'],
    [`CREATE TEMP TABLE mine (id int)`, 'read-only transaction'],
    [`COPY (SELECT 1) TO PROGRAM 'cat'`, 'permission denied'],
  ])('is talked into nothing: %s', async (sql, words) => {
    await expect(runReadOnly(config, sql)).rejects.toThrow(words);
    expect(await waiting()).toBe(1);
  });

  it.each([`COMMIT`, `SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE`, `RESET ROLE`])(
    'ends with its statement, whatever that leaves behind: %s',
    async (sql) => {
      await expect(runReadOnly(config, sql)).resolves.toMatchObject({ rows: [] });
      expect(await waiting()).toBe(1);
    },
  );

  it('is refused by a database of another mode, and to a login that could do more', async () => {
    await expect(runReadOnly({ ...config, ASSENT_MODE: 'sandbox' }, 'SELECT 1')).rejects.toThrow(
      'ASSENT_MODE: is sandbox',
    );
    const superuser = { ...config, DATABASE_URL: production.superuserUrl };
    await expect(runReadOnly(superuser, 'SELECT 1')).rejects.toThrow('is a superuser');
  });
});

const acts = (of: Database) =>
  rows(of, `SELECT action, reason, after FROM audit_events WHERE action = 'sql.run'`);

describe('"sql --owner"', () => {
  it('is on record in the very database that it wrote in', async () => {
    const owner = createCli({
      url: other.url,
      keys: makeKeyring(),
      more: { ...PRODUCTION, DATABASE_OWNER_URL: production.ownerUrl },
    });
    const { code, out } = await owner.runWith(
      `BEGIN; UPDATE outbox SET workflow_id = 'intent/int_2'; COMMIT; SELECT 1 AS one`,
      ['sql', '--owner', '--reason', 'ticket 7', '--json'],
    );
    expect({ code, results: (JSON.parse(out) as { results: object[] }).results.at(-1) }).toMatchObject({
      code: 0,
      results: { rows: [{ one: 1 }] },
    });
    expect(await acts(db)).toEqual([
      {
        action: 'sql.run',
        reason: 'ticket 7',
        after: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
      },
    ]);
    const elsewhere = openDatabase(other.url, 1);
    expect(await acts(elsewhere)).toEqual([]);
    await elsewhere.destroy();
  });

  it('writes nothing into a database of another mode', async () => {
    const sandbox = createCli({
      url: production.url,
      keys: makeKeyring(),
      more: { DATABASE_OWNER_URL: production.ownerUrl },
    });
    const { code, err } = await sandbox.runWith('DELETE FROM outbox', ['sql', '--owner']);
    expect({ code, err }).toMatchObject({
      code: 1,
      err: expect.stringContaining('ASSENT_MODE: is sandbox') as string,
    });
    expect(await waiting()).toBe(1);
  });
});
