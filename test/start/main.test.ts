import { execFile } from 'node:child_process';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { OperatorError } from '../../src/domain/failures';
import { onDatabase } from '../../src/database/pool/one-connection';
import { startEngine } from '../../src/start/engine';
import { eventually } from '../support/engine';
import { installation } from '../support/installation';
import { makeFolder } from '../launch/folder';
import { freeOffset, fromBuild, FROM_SOURCE, lives, NpmStart, recorded } from '../support/npm-start';

const run = promisify(execFile);

/** A start takes ten seconds, and several times that while others use the machine. */
const START_TIMEOUT_MS = 180_000;

/** All starts but the first: from source it takes three times as long. */
let built: Awaited<ReturnType<typeof fromBuild>>;
beforeAll(async () => {
  built = await fromBuild();
});

const KEPT = `SELECT FROM entities WHERE name = 'Kept Bank'`;

describe('npm start', () => {
  let folder: string;
  let removeFolder: () => void;
  let settings: Record<string, string>;
  let started: NpmStart;
  const start = (from = built) => (started = new NpmStart(folder, settings, from));
  const inFolder = (name: string) => path.join(folder, '.assent', name);
  const log = () => readFile(inFolder('assent.log'), 'utf8');
  const at = (port: number) => `http://127.0.0.1:${port + Number(settings['PORT_OFFSET'])}`;

  beforeAll(async () => {
    ({ folder, remove: removeFolder } = makeFolder('start'));
    settings = { PORT_OFFSET: String(await freeOffset()) };
  });

  afterAll(async () => {
    await started.stop();
    removeFolder();
  });

  // A single engine goes through all of this, in order: a start takes most of the time.
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
      for (const address of [
        file.apiUrl,
        `${file.apiUrl}/docs`,
        file.temporalUiUrl ?? 'missing',
        ...metrics,
        file.logFile,
      ]) {
        expect(started.output).toContain(address);
        if (address.startsWith('http')) expect((await fetch(address)).status).toBe(200);
      }
      await expect(fetch(`${file.apiUrl}/readyz`)).resolves.toMatchObject({ status: 200 });
      // The page for a newcomer stands first, and needs nothing built.
      expect(started.output).toMatch(/Assent is ready\.\n\n {2}Sandbox +http:\S+\/sandbox/);
      const page = await (await fetch(file.sandboxUrl ?? 'missing')).text();
      const [, script] = /src="(\/pages\/[^"]+)"/.exec(page) ?? [];
      await expect(fetch(`${file.apiUrl}${script}`)).resolves.toMatchObject({ status: 200 });
      // A first start has no faults: what reads like one would teach people to pass over those that
      // are.
      const faults = (await log()).match(/.*("level":[456]0|FATAL|ERROR|[Ww]arning).*/g) ?? [];
      // On a busy machine the dev server's queues may read before they have their shard.
      expect(faults.filter((line) => !line.includes('shard status unknown'))).toEqual([]);
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
    await expect(onDatabase(databaseUrl, (client) => client.query('DROP TABLE entities'))).rejects.toThrow(
      'must be owner of table entities',
    );
  });

  test('a second copy in the same folder ends at once and says where the first one is', async () => {
    const second = new NpmStart(folder, settings, built);
    await expect(second.ended()).resolves.toBe(1);
    const { apiUrl } = await started.ready();
    expect(second.output).toContain(`already runs (pid ${started.pid}): API ${apiUrl}`);
    await expect(fetch(`${apiUrl}/healthz`)).resolves.toMatchObject({ status: 200 });
  });

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
      expect(started.output).toContain('left behind by an engine that was killed');
      const { ownerUrl } = await started.ready();
      await expect(onDatabase(ownerUrl, (client) => client.query(KEPT))).resolves.toMatchObject({
        rowCount: 1,
      });
      expect(await readFile(inFolder('sandbox.json'), 'utf8')).toBe(parties);
    },
    START_TIMEOUT_MS,
  );

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
        const lines = started.output.match(new RegExp(`^${name} died: SIGKILL`, 'gm'));
        expect([name, lines?.length]).toEqual([name, 1]);
      }
      await eventually(async () => {
        const answer = await fetch(`${apiUrl}/readyz`).catch(() => undefined);
        return answer?.status === 200;
      });
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
    await expect(started.ended()).resolves.toBe(0);
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

  test('told to stop while it starts leaves no process, and ends with exit code 0', async () => {
    await start().says('Starting Temporal');
    await eventually(async () => (await recorded(folder)).length === 2);
    const processes = await recorded(folder);
    started.interrupt();
    await expect(started.ended()).resolves.toBe(0);
    expect(started.output).toContain('Stopped.');
    expect(processes.filter(lives)).toEqual([]);
  });

  test('that is refused ends with exit code 1 and the remedy alone', async () => {
    settings = { ...settings, PORT: 'abc', RATE_LIMIT_TOKEN: 'much' };
    await expect(start().ended()).resolves.toBe(1);
    expect(started.output).toMatch(/^PORT: .*\nRATE_LIMIT_TOKEN: must be rate\/burst/m);
    expect(started.output).not.toMatch(/Starting|    at /);
  });

  /* The refusals of a start, in this process. Nothing is started unless it says so. */

  async function refusal(
    more: Record<string, string> = {},
    of = inFolder(''),
  ): Promise<{ why: string; said: string }> {
    const said: string[] = [];
    const environment = { ...process.env, PORT_OFFSET: settings['PORT_OFFSET'], ...more };
    const signal = new AbortController().signal;
    const say = (line: string) => said.push(line);
    const starting = startEngine({ environment, folder: of, say, signal });
    const why = await starting.then(
      () => 'it started',
      (error: unknown) => (error instanceof OperatorError ? error.message : String(error)),
    );
    return { why, said: said.join('\n') };
  }

  /** The refusal where that file of the folder is gone. */
  async function refusalWithout(name: string): Promise<{ why: string; said: string }> {
    await rename(inFolder(name), inFolder('elsewhere'));
    const refused = await refusal();
    await expect(stat(inFolder(name))).rejects.toThrow('ENOENT');
    await rename(inFolder('elsewhere'), inFolder(name));
    return refused;
  }

  test.each([
    [{ ASSENT_KEYS: 'k1:short' }, /^ASSENT_KEYS: entry 1 is not kid:base64 of 32 bytes$/],
    [{ DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' }, /^DATABASE_URL: Postgres at 127.0.0.1:1 /],
    [{ TEMPORAL_ADDRESS: '127.0.0.1:1' }, /^TEMPORAL_ADDRESS: Temporal at 127.0.0.1:1,/],
  ])('with the wrong setting %p says so before it starts anything', async (wrong, words) => {
    const { why, said } = await refusal({ ASSENT_MODE: 'sandbox', ...wrong });
    expect(why).toMatch(words);
    expect(said).not.toContain('Starting');
  });

  test('with another zone than its data was made with names that', async () => {
    const { why } = await refusal({ NETWORK_TIMEZONE: 'Europe/Berlin' });
    expect(why).toMatch(
      /NETWORK_TIMEZONE: is Europe\/Berlin, but the days of this database begin in Africa\/Lagos\. Set NETWORK_TIMEZONE=Africa\/Lagos.*\nThe database is that of .*\.assent\/?: to start afresh, move that folder away, or remove it/,
    );
  });

  test('makes no empty database beside the keys and Temporal’s data of a lost one', async () => {
    const { why, said } = await refusalWithout('postgres');
    expect(why).toMatch(
      /postgres is gone\. .* holds every entity, .* from a backup, or set DATABASE_URL .*, remove .* and start afresh/,
    );
    expect(said).not.toContain('Starting');
  });

  test('does not make new keys for data that only the old ones open', async () => {
    expect((await refusalWithout('keys')).why).toMatch(/keys is gone, and without it nothing encrypted/);
  });

  test('on damaged data of Postgres, or of Temporal, gives up, and says what to do', async () => {
    // Side by side: most of it is the pauses between five starts of what dies.
    const refusals = ['postgres/PG_VERSION', 'temporal.db'].map(async (damaged, n) => {
      const copy = path.join(folder, `damaged-${n}`);
      await run('cp', ['-a', inFolder(''), copy]);
      await writeFile(path.join(copy, damaged), 'damaged');
      return (await refusal({ PORT_OFFSET: String(await freeOffset()) }, copy)).why;
    });
    const [ofPostgres, ofTemporal] = await Promise.all(refusals);
    expect(ofPostgres).toMatch(
      /^Postgres died 5 times in a row: .*every entity, .* from a backup, or set DATABASE_URL/s,
    );
    expect(ofTemporal).toMatch(
      /^Temporal died 5 times in a row: .*remove it, with .*-wal and .*-shm: .* again from Postgres/s,
    );
  });
});
