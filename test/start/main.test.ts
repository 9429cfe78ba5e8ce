import { execFile } from 'node:child_process';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { preparePostgres } from '../../src/start/postgres';
import { asOwner } from '../support/database';
import { eventually } from '../support/engine';
import { freePort } from '../support/free-port';
import { installation } from '../support/installation';
import {
  freeOffset,
  fromBuild,
  FROM_SOURCE,
  lives,
  makeStartFolder,
  NpmStart,
  recorded,
} from '../support/npm-start';
import { serverProcess } from '../support/own-servers';

const run = promisify(execFile);

/** A start takes ten seconds, and several times that while others use the machine. */
const START_TIMEOUT_MS = 180_000;

/** All but one start: from source it takes three times as long. */
let built: Awaited<ReturnType<typeof fromBuild>>;
beforeAll(async () => {
  built = await fromBuild();
});

describe('npm start that cannot start', () => {
  test.each([
    ['PORT', { PORT: 'abc', RATE_LIMIT_TOKEN: 'much' }, /^PORT: .*\nRATE_LIMIT_TOKEN: must be rate\/burst/m],
    ['ASSENT_KEYS', { ASSENT_KEYS: 'k1:short' }, /^ASSENT_KEYS: entry 1 is not kid:base64 of 32 bytes$/m],
    [
      'DATABASE_URL',
      { ASSENT_MODE: 'sandbox', DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' },
      /^DATABASE_URL: Postgres at 127.0.0.1:1 /m,
    ],
    ['TEMPORAL_ADDRESS', { TEMPORAL_ADDRESS: '127.0.0.1:1' }, /^TEMPORAL_ADDRESS: Temporal at 127.0.0.1:1,/m],
  ])('for %s says so before it starts anything, and ends with exit code 1', async (_, wrong, words) => {
    const { folder, remove } = await makeStartFolder();
    const started = new NpmStart(folder, { PORT_OFFSET: String(await freeOffset()), ...wrong }, built);
    await expect(started.exit()).resolves.toBe(1);
    expect(started.output()).toMatch(words);
    expect(started.output()).not.toMatch(/Starting|    at /);
    await remove();
  });

  test(
    'because it is told to stop meanwhile leaves no process and ends with exit code 0',
    async () => {
      const { folder, remove } = await makeStartFolder();
      const started = new NpmStart(folder, { PORT_OFFSET: String(await freeOffset()) }, built);
      await started.says('Starting Temporal');
      await eventually(async () => (await recorded(folder)).length === 2);
      const processes = await recorded(folder);
      started.interrupt();
      await expect(started.exit()).resolves.toBe(0);
      expect(started.output()).toContain('Stopped.');
      expect(processes.filter(lives)).toEqual([]);
      await remove();
    },
    START_TIMEOUT_MS,
  );
});

describe('npm start', () => {
  let folder: string;
  let removeFolder: () => Promise<void>;
  let settings: Record<string, string>;
  let started: NpmStart;
  const start = (from = built) => (started = new NpmStart(folder, settings, from));
  const inFolder = (name: string) => path.join(folder, '.assent', name);
  const log = () => readFile(inFolder('assent.log'), 'utf8');
  const at = (port: number) => `http://127.0.0.1:${port + Number(settings['PORT_OFFSET'])}`;

  beforeAll(async () => {
    ({ folder, remove: removeFolder } = await makeStartFolder());
    settings = { PORT_OFFSET: String(await freeOffset()) };
  });

  afterAll(async () => {
    await started.stop();
    await removeFolder();
  });

  // One engine goes through all of this, in order: a start takes most of the time that there is.
  test(
    'starts all by itself, although an earlier start was cut off while it made its data folder',
    async () => {
      await mkdir(inFolder('postgres.new/base'), { recursive: true });

      const file = await start(FROM_SOURCE).ready();

      await expect(stat(inFolder('postgres.new'))).rejects.toThrow('ENOENT');
      expect(file).toMatchObject({
        pid: started.pid,
        apiUrl: at(3000),
        metricsUrls: { api: `${at(9464)}/metrics`, worker: `${at(9465)}/metrics` },
      });
      const metrics = [file.metricsUrls?.api ?? 'missing', file.metricsUrls?.worker ?? 'missing'];
      for (const address of [file.apiUrl, file.temporalUiUrl ?? 'missing', ...metrics, file.logFile]) {
        expect(started.output()).toContain(address);
        if (address.startsWith('http')) expect((await fetch(address)).status).toBe(200);
      }
      await expect(fetch(`${file.apiUrl}/readyz`)).resolves.toMatchObject({ status: 200 });
      // What a newcomer is to open stands first, and its page needs nothing built.
      expect(started.output()).toMatch(/Assent is ready\.\n\n {2}Sandbox +http:\S+\/sandbox/);
      const page = await (await fetch(file.sandboxUrl ?? 'missing')).text();
      const [, script] = /src="(\/pages\/[^"]+)"/.exec(page) ?? [];
      await expect(fetch(`${file.apiUrl}${script}`)).resolves.toMatchObject({ status: 200 });
      // A first start has no faults: what reads like one would teach people to pass over those that
      // are.
      expect((await log()).match(/.*("level":[456]0|FATAL|ERROR|[Ww]arning).*/g)).toBeNull();
      for (const process of ['api', 'worker']) {
        const first = (await log()).split('\n').find((line) => line.includes(`"process":"${process}"`));
        expect(JSON.parse(first ?? '{}')).toMatchObject({ mode: 'sandbox' });
      }
    },
    START_TIMEOUT_MS,
  );

  test('keeps its secrets to itself, and gives its own processes a login that owns nothing', async () => {
    for (const name of [
      'engine.json',
      'keys',
      'postgres-logins.json',
      'sandbox.json',
      'assent.log',
      'temporal.db',
    ]) {
      expect([name, (await stat(inFolder(name))).mode & 0o077]).toEqual([name, 0]);
    }
    const { databaseUrl } = await started.ready();
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    await expect(client.query('DROP TABLE entities')).rejects.toThrow('must be owner of table entities');
    await client.end();
  });

  test('a second copy in the same folder ends at once and says where the first one is', async () => {
    const second = new NpmStart(folder, settings, built);
    await expect(second.exit()).resolves.toBe(1);
    const { apiUrl } = await started.ready();
    expect(second.output()).toContain(`already runs (pid ${started.pid}): API ${apiUrl}`);
    await expect(fetch(`${apiUrl}/healthz`)).resolves.toMatchObject({ status: 200 });
  });

  test(
    'processes that die, even all at once, are started again, and the engine goes on',
    async () => {
      const { apiUrl } = await started.ready();
      const before = await recorded(folder);
      for (const { pid } of before) process.kill(pid, 'SIGKILL');
      await eventually(async () => {
        const after = await recorded(folder);
        return (
          after.length === before.length && !after.some(({ pid }) => before.some((one) => one.pid === pid))
        );
      });
      for (const { name } of before) {
        const lines = started.output().match(new RegExp(`^${name} died: SIGKILL`, 'gm'));
        expect([name, lines?.length]).toEqual([name, 1]);
      }
      await eventually(async () => {
        const answer = await fetch(`${apiUrl}/readyz`).catch(() => undefined);
        return answer?.status === 200;
      });
      await expect(fetch(`${apiUrl}/readyz`)).resolves.toMatchObject({ status: 200 });
    },
    START_TIMEOUT_MS,
  );

  test(
    'after a kill of the supervisor alone, a new start ends what it left behind and goes on',
    async () => {
      const { assent } = await installation();
      // A zone of the shell is not the engine's, whose settings a command beside it has.
      await run(assent, ['entity', 'create', '--type', 'bank', '--name', 'Kept Bank'], {
        cwd: folder,
        env: { ...process.env, NETWORK_TIMEZONE: 'Europe/Berlin' },
      });
      const parties = await readFile(inFolder('sandbox.json'), 'utf8');
      const left = await recorded(folder);
      expect(left.map(({ name }) => name)).toEqual(['Postgres', 'Temporal', 'worker', 'API']);
      await started.kill();
      expect(left.filter(lives)).not.toEqual([]);

      await start().ready();

      expect(left.filter(lives)).toEqual([]);
      expect(started.output()).toContain('left behind by an engine that was killed');
      const { stdout } = await run(assent, ['entity', 'list'], { cwd: folder });
      expect(stdout).toContain('Kept Bank');
      expect(await readFile(inFolder('sandbox.json'), 'utf8')).toBe(parties);
    },
    START_TIMEOUT_MS,
  );

  test('Ctrl-C stops API, worker, Temporal and Postgres in this order, within 10 s, and leaves none', async () => {
    const processes = await recorded(folder);
    const before = (await log()).length;
    const ends: string[] = [];
    const watch = setInterval(() => {
      // A slow machine looks seldom: those that it finds ended at one look are taken in the order
      // that is expected.
      for (const one of processes.toReversed())
        if (!ends.includes(one.name) && !lives(one)) ends.push(one.name);
    }, 2);
    const interruptedAt = performance.now();
    started.interrupt();
    await expect(started.exit()).resolves.toBe(0);
    clearInterval(watch);

    expect(performance.now() - interruptedAt).toBeLessThan(10_000);
    expect(processes.filter(lives)).toEqual([]);
    expect(ends.slice(0, 3)).toEqual(['API', 'worker', 'Temporal']);
    // Each had the time to end by itself: a killed one has no last words.
    const told = (await log()).slice(before);
    for (const last of ['API stops', 'worker has stopped', 'database system is shut down']) {
      expect(told).toContain(last);
    }
    await expect(stat(inFolder('engine.json'))).rejects.toThrow('ENOENT');
  });

  test('with another zone than its data was made with names that', async () => {
    const other = new NpmStart(folder, { ...settings, NETWORK_TIMEZONE: 'Europe/Berlin' }, built);
    await expect(other.exit()).resolves.toBe(1);
    expect(other.output()).toMatch(
      /NETWORK_TIMEZONE: is Europe\/Berlin, but the days of this database begin in Africa\/Lagos\. Set NETWORK_TIMEZONE=Africa\/Lagos.*\nThe database is that of .*\.assent: to start afresh, move that folder away, or remove it/,
    );
  });

  test('makes no empty database beside the keys and Temporal’s data of a lost one', async () => {
    await rename(inFolder('postgres'), inFolder('elsewhere'));
    await expect(start().exit()).resolves.toBe(1);
    expect(started.output()).toMatch(
      /postgres is gone\. .* holds every entity, .* from a backup, or set DATABASE_URL .*, remove .* and start afresh/,
    );
    expect(started.output()).not.toMatch(/Starting|    at /);
    await expect(stat(inFolder('postgres'))).rejects.toThrow('ENOENT');
    await rename(inFolder('elsewhere'), inFolder('postgres'));
  });

  test('does not make new keys for data that only the old ones open', async () => {
    await rename(inFolder('keys'), inFolder('elsewhere'));
    await expect(start().exit()).resolves.toBe(1);
    expect(started.output()).toMatch(/keys is gone, and without it nothing encrypted/);
    await expect(stat(inFolder('keys'))).rejects.toThrow('ENOENT');
    await rename(inFolder('elsewhere'), inFolder('keys'));
  });

  test.each([
    ['Postgres', 'postgres/PG_VERSION', /every entity, .* from a backup, or set DATABASE_URL/],
    ['Temporal', 'temporal.db', /remove it, with .*-wal and .*-shm: .* again from Postgres/],
  ])(
    'on damaged data of %s gives up, and says what to do',
    async (name, damaged, words) => {
      await rename(inFolder(damaged), inFolder('elsewhere'));
      await writeFile(inFolder(damaged), 'damaged');
      await expect(start().exit()).resolves.toBe(1);
      expect(started.output()).toMatch(new RegExp(`^${name} died 5 times in a row: `, 'm'));
      expect(started.output()).toMatch(words);
      await rename(inFolder('elsewhere'), inFolder(damaged));
    },
    START_TIMEOUT_MS,
  );

  test('on the data of another version says what to do', async () => {
    const server = await preparePostgres(inFolder(''), await freePort(), () => undefined);
    const postgres = serverProcess(server.program, () => server.setUp());
    await postgres.start();
    await asOwner(
      server.ownerUrl,
      `UPDATE knex_migrations SET name = '0001_identity' WHERE name = '0001_parties'`,
    );
    await postgres.kill();
    await expect(start().exit()).resolves.toBe(1);
    expect(started.output()).toMatch(
      /another version created the schema .*, and this version has no upgrade from it\. Run the version that created it.*\nThe database is that of .*\.assent: to start afresh, move that folder away/,
    );
  });
});
