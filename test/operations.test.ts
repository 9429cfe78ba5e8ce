import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { blocksRunBy, type CodeBlock } from './support/code-blocks';
import { eventually, startEngine, type TestEngine } from './support/engine';
import { linkProgram } from './support/installation';
import { startOwnServers, type OwnServers } from './support/own-servers';

/**
 * The commands of docs/operations.md, and of docs/going-live.md, as an operator pastes them beside
 * servers of one's own. `readme.test.ts` has those that are for `npm start`.
 */

/** A start takes ten seconds, and several times that while others use the machine. */
const START_TIMEOUT_MS = 240_000;
const BLOCK_TIMEOUT_MS = 150_000;

/** Of a page, all blocks that are for this test. */
const blocksOf = (name = 'operations') =>
  blocksRunBy('test/operations.test.ts', `docs/${name}.md`).filter((block) => !isSql(block));

/** What is done to a copy of a database would hurt its original. */
const isForCopy = ({ text }: CodeBlock) => /database copied/.test(text);
const withoutCopies = (blocks: CodeBlock[]) => blocks.filter((block) => !isForCopy(block));

/** Blocks for psql; the rest is for a shell. */
const isSql = ({ language }: CodeBlock) => language === 'sql';
const sqlOf = () => blocksRunBy('test/operations.test.ts', 'docs/operations.md').filter(isSql);

/** Pastes a block into a shell. */
function paste(
  script: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: unknown; output: string }> {
  return new Promise((resolve) => {
    execFile('bash', ['-ec', script], { cwd, env }, (error, out, err) =>
      resolve({ code: error ? error.code : 0, output: out + err }),
    );
  });
}

async function expectEachRuns(blocks: CodeBlock[], folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  for (const { heading, text } of blocks) {
    const { code, output } = await paste(text, folder, env);
    expect({ heading, code, output }).toEqual({
      heading,
      code: 0,
      output: expect.not.stringMatching(/not found|error:/i) as string,
    });
  }
}

/** What a database is by itself: its id, and the zone that its days begin in. */
const identityOf = async (url: string) => {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ is: string }>(
    'SELECT installation || time_zone AS is FROM temporal_state, deployment',
  );
  await client.end();
  return rows[0]?.is;
};

describe('beside servers of one’s own', () => {
  const COPIES = ['staging', 'drill'];
  let servers: OwnServers;
  let engine: TestEngine;
  let folder: string;
  let PATH: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'assent-operations-'));
    PATH = await linkProgram(folder);
    servers = await startOwnServers();
    // One for each block that is for a copy; nobody may be connected meanwhile.
    const superuser = new Client(servers.superuserUrl);
    await superuser.connect();
    for (const copy of COPIES)
      await superuser.query(`CREATE DATABASE ${copy} TEMPLATE assent OWNER assent_owner`);
    await superuser.end();
    engine = await startEngine({}, servers);
    await eventually(async () => (await fetch(`${engine.apiUrl}/readyz`)).status === 200);
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await engine.stop();
    await servers.stop();
    await rm(folder, { recursive: true });
  });

  test(
    'each block of the page runs as it stands',
    async () => {
      const { LOG_FILE: _, ...env } = engine.environment;
      await expectEachRuns(withoutCopies(blocksOf()), folder, {
        ...env,
        PATH,
        DATABASE_OWNER_URL: servers.ownerUrl,
      });
    },
    3 * BLOCK_TIMEOUT_MS,
  );

  test(
    'what docs/going-live.md has an operator do on an installation can be done, and finds nothing wrong',
    async () => {
      const { LOG_FILE: _, ...env } = engine.environment;
      const blocks = withoutCopies(blocksOf('going-live'));
      expect(blocks).toHaveLength(3);
      await expectEachRuns(blocks, folder, env);
    },
    BLOCK_TIMEOUT_MS,
  );

  test(
    'what the pages have an operator do to a copy of the database can be done, and leaves the original be',
    async () => {
      const { LOG_FILE: _, ...env } = engine.environment;
      const before = await identityOf(servers.ownerUrl);
      const blocks = [...blocksOf(), ...blocksOf('going-live')].filter(isForCopy);
      expect(blocks).toHaveLength(COPIES.length);
      for (const [n, block] of blocks.entries()) {
        const on = (url: string) => Object.assign(new URL(url), { pathname: `/${COPIES[n]}` }).href;
        await expectEachRuns([block], folder, {
          ...env,
          DATABASE_URL: on(servers.database.url),
          DATABASE_OWNER_URL: on(servers.ownerUrl),
        });
        expect(await identityOf(on(servers.ownerUrl))).not.toBe(before);
      }
      expect(await identityOf(servers.ownerUrl)).toBe(before);
    },
    BLOCK_TIMEOUT_MS,
  );

  test('the logins that the page has a superuser make serve a production, and are not written down', async () => {
    const login = (user: string, database = 'assent_of_page') => {
      const url = new URL(servers.superuserUrl);
      url.username = user;
      // Quoting must not matter.
      url.password = `${user}'s "secret" $1`;
      url.pathname = `/${database}`;
      return url.href;
    };
    const settings = {
      ...engine.environment,
      PATH,
      ASSENT_MODE: 'production',
      ALLOW_PLAINTEXT: 'true',
      DATABASE_URL: login('login_of_page'),
      DATABASE_OWNER_URL: login('owner_of_page'),
    };
    const printed = await paste('npx assent database logins 2>/dev/null', folder, settings);
    expect(printed).toMatchObject({ code: 0, output: expect.not.stringContaining('secret') as string });
    const superuser = new Client(servers.superuserUrl);
    await superuser.connect();
    for (const line of printed.output.trim().split('\n')) await superuser.query(line);
    await superuser.end();
    const elsewhere = { ...settings, TEMPORAL_NAMESPACE: 'of-page' };
    const migrated = await paste('npx assent migrate --create-namespace', folder, elsewhere);
    expect(migrated).toMatchObject({ code: 0 });
    const listed = await paste('npx assent entity list --json 2>/dev/null', folder, settings);
    expect(listed).toEqual({ code: 0, output: '{"entities":[]}\n' });
  });

  test('each statement of the page runs as the owner of the schema, and names what it is for', async () => {
    const owner = new Client(servers.ownerUrl);
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
    const superuser = new Client(servers.superuserUrl);
    const forgotten = new Client(servers.superuserUrl);
    forgotten.on('error', () => undefined);
    await Promise.all([superuser.connect(), forgotten.connect()]);
    await forgotten.query(`BEGIN; SELECT pg_current_xact_id()`);
    const [{ pid } = { pid: 0 }] = (await forgotten.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))
      .rows;
    const [named = '', end = ''] = sqlOf()
      .filter(({ heading }) => heading === 'The events feed stands still')
      .map(({ text }) => text);
    expect((await superuser.query(named)).rows).toContainEqual(expect.objectContaining({ pid }));
    await superuser.query(end.replace('4711', String(pid)));
    await expect(forgotten.query('COMMIT')).rejects.toThrow(/not queryable|terminat/);
    await superuser.end();
  });
});
