import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { readKeyring } from '../src/database/keyring/keyring';
import { openDatabase } from '../src/database/pool/connection';
import { runAssent } from './support/cli';
import { blocksRunBy, type CodeBlock } from './support/code-blocks';
import { asSchemaLogin } from './support/database';
import { eventually, startEngine, type TestEngine } from './support/engine';
import { createProductionDatabase, PRODUCTION, type ProductionDatabase } from './support/production-database';
import { servers } from './support/servers';
import { engineFacts } from './support/keyring';

/**
 * The commands of docs/operations.md, and of docs/going-live.md, beside an engine of production.
 * `readme.test.ts` has the commands that are for `npm start`.
 */

/** The blocks of a page that are for this test. */
const blocksOf = (name: string, language: string) =>
  blocksRunBy('test/operations.test.ts', `docs/${name}.md`).filter((block) => block.language === language);
const sqlOf = () => blocksOf('operations', 'sql');

/** A block for a copy of a database would hurt its original. */
const isForCopy = ({ text }: CodeBlock) => /database copied/.test(text);
const shOf = (name: string) => blocksOf(name, 'sh').filter((block) => !isForCopy(block));

const COPIES = ['staging', 'drill'];
let production: ProductionDatabase;
let engine: TestEngine;
let name: string;

beforeAll(async () => {
  production = await createProductionDatabase();
  name = new URL(production.url).pathname.slice(1);
  // A copy for each block that is for one. The original may have no connection meanwhile.
  for (const copy of COPIES) {
    const made = `${name}_${copy}`;
    await asSchemaLogin(await adminUrl(), `CREATE DATABASE ${made} TEMPLATE ${name} OWNER ${name}_owner`);
    await asSchemaLogin(
      await adminUrl(),
      `REVOKE ALL ON DATABASE ${made} FROM PUBLIC; GRANT CONNECT ON DATABASE ${made} TO ${name}_login`,
    );
  }
  const db = openDatabase(production.url, 2, engineFacts);
  const drop = async () => {
    await db.destroy();
    for (const copy of COPIES) await asSchemaLogin(await adminUrl(), `DROP DATABASE ${name}_${copy}`);
    await production.drop();
  };
  const { TEMPORAL_ADDRESS: _, ...settings } = PRODUCTION;
  const { temporalAddress } = await servers();
  engine = await startEngine(
    { ...settings, DATABASE_OWNER_URL: production.ownerUrl },
    { database: { url: production.url, db, drop }, temporalAddress },
  );
  await eventually(async () => (await fetch(`${engine.apiUrl}/readyz`)).status === 200);
});
afterAll(() => engine.stop());

const adminUrl = async () => `${(await servers()).postgres}/postgres`;

async function expectEachRuns(blocks: CodeBlock[], settings: Record<string, string> = {}): Promise<void> {
  for (const { heading, text } of blocks) {
    for (const line of text.trim().split('\n')) {
      const [npx, program, ...words] = (line.match(/'[^']*'|\S+/g) ?? []).map((one) =>
        one.replaceAll("'", ''),
      );
      expect([npx, program]).toEqual(['npx', 'assent']);
      const { code, out, err } = await runAssent(words, { ...engine.environment, ...settings });
      expect({ heading, line, code, out, err }).toMatchObject({ heading, line, code: 0, err: '' });
    }
  }
}

/** What a database is by itself: its id, and the zone that its days begin in. */
async function identityOf(url: string): Promise<string> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ is: string }>(
    'SELECT installation || time_zone AS is FROM temporal_state, deployment',
  );
  await client.end();
  return String(rows[0]?.is);
}

test('each command of the page runs as it stands', async () => {
  const blocks = shOf('operations');
  expect(blocks.length).toBeGreaterThan(5);
  await expectEachRuns(blocks);
});

test('the commands of docs/going-live.md can be run on an installation, and find nothing wrong', async () => {
  const [key, ...blocks] = shOf('going-live');
  const { stdout } = await promisify(execFile)('bash', ['-ec', key?.text ?? '']);
  expect(() => readKeyring(stdout.trim())).not.toThrow();
  expect(blocks).toHaveLength(2);
  await expectEachRuns(blocks);
});

test('the commands for a copy of the database can be run, and leave the original be', async () => {
  const before = await identityOf(production.ownerUrl);
  const blocks = ['operations', 'going-live'].flatMap((page) => blocksOf(page, 'sh').filter(isForCopy));
  expect(blocks).toHaveLength(COPIES.length);
  for (const [n, block] of blocks.entries()) {
    const on = (url: string) => Object.assign(new URL(url), { pathname: `/${name}_${COPIES[n]}` }).href;
    const ownerUrl = on(production.ownerUrl);
    await expectEachRuns([block], { DATABASE_URL: on(production.url), DATABASE_OWNER_URL: ownerUrl });
    expect(await identityOf(ownerUrl)).not.toBe(before);
  }
  expect(await identityOf(production.ownerUrl)).toBe(before);
});

test('each statement of the page runs as the owner of the schema', async () => {
  const owner = new Client(production.ownerUrl);
  await owner.connect();
  const statements = sqlOf();
  expect(statements.length).toBeGreaterThan(5);
  await owner.query('BEGIN');
  for (const { text } of statements) await owner.query(text);
  const zone = await owner.query('SELECT time_zone FROM deployment');
  expect(zone.rows).toEqual([{ time_zone: 'Europe/Berlin' }]);
  await owner.query('ROLLBACK');
  await owner.end();
});

test('a transaction that holds up the events feed is named, and ended', async () => {
  const superuser = new Client(production.superuserUrl);
  const owner = new Client(production.ownerUrl);
  const held = new Client(production.superuserUrl);
  const forgotten = new Client(production.superuserUrl);
  forgotten.on('error', () => undefined);
  await Promise.all([superuser, owner, held, forgotten].map((one) => one.connect()));
  await forgotten.query(`BEGIN; SELECT pg_current_xact_id(), pg_advisory_xact_lock(4711)`);
  const [{ pid } = { pid: 0 }] = (await forgotten.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))
    .rows;
  const [named = '', end = ''] = sqlOf()
    .filter(({ heading }) => heading === 'The events feed stands still')
    .map(({ text }) => text);
  const waiting = held.query('SELECT pg_advisory_xact_lock(4711)');
  // Postgres tells the owner little of the sessions of other logins.
  await eventually(async () => {
    const { rows } = await owner.query<{ pid: number; waits_for: number[] }>(named);
    return rows.some((one) => one.pid === pid) && rows.some((one) => one.waits_for.includes(pid));
  }, 15_000);
  await superuser.query(end.replace('4711', String(pid)));
  await expect(forgotten.query('COMMIT')).rejects.toThrow(/not queryable|terminat/);
  await waiting;
  await Promise.all([superuser, owner, held].map((one) => one.end()));
});
