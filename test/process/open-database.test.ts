import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import { makeKeyring, readKeyring } from '../../src/database/keyring/keyring';
import { claimRing } from '../../src/database/key-rotation/claim-keyring';
import type { Problem } from '../../src/domain/failures';
import { ApiProcess } from '../support/api-process';
import { runAssent } from '../support/cli';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { freePort } from '../support/free-port';
import { programOf } from '../support/installation';
import { createProductionDatabase, type ProductionDatabase } from '../support/production-database';

/** The ring that the sandbox's values hang on. */
const RING = makeKeyring();
const kid = readKeyring(RING).current;

let sandbox: TestDatabase;
let production: ProductionDatabase;
beforeAll(async () => {
  sandbox = await createTestDatabase();
  production = await createProductionDatabase();
  await claimRing(sandbox.db, readKeyring(RING));
});
afterAll(() => Promise.all([sandbox.drop(), production.drop()]));

const environment = (url: string, mode = 'sandbox', ring = makeKeyring()) => ({
  ...process.env,
  ASSENT_MODE: mode,
  ALLOW_PLAINTEXT: 'true',
  DATABASE_URL: url,
  ASSENT_KEYS: ring,
  // Nothing answers there.
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  METRICS_PORT: '0',
});

/** Runs a program to its end. */
async function run(program: 'api' | 'worker', env: NodeJS.ProcessEnv) {
  const command = [await programOf(program)];
  const more = { PORT: String(await freePort()) };
  return new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    execFile(process.execPath, command, { env: { ...env, ...more } }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err }),
    );
  });
}
const assent = (words: string, env: NodeJS.ProcessEnv) => runAssent(words.split(' '), env);

const otherMode = /^(assent: )?ASSENT_MODE: is sandbox, but the database was created for production\. .*\n$/;
const otherRing = (what: string) =>
  new RegExp(`^(assent: )?ASSENT_KEYS: ${what} "${kid}".*Every process needs the same ring.*\\n$`);

describe('a process', () => {
  it('of another mode than its database ends with a sentence', async () => {
    const { code, out, err } = await run('worker', environment(production.url));
    expect([code, err]).toEqual([1, expect.stringMatching(otherMode)]);
    expect(JSON.parse(out.split('\n')[0] ?? '')).toMatchObject({ mode: 'sandbox' });
  });

  it('of production that is given a wrong password ends with a sentence', async () => {
    const wrong = Object.assign(new URL(production.url), { password: 'guessed' });
    expect(await run('worker', environment(wrong.href, 'production'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^DATABASE_URL: Postgres does not let us in \(password auth.*\n$/),
    });
  });

  it('whose ring does not decrypt what is stored ends with a sentence, where every call would be a 500', async () => {
    const env = environment(sandbox.url);
    const { code, err } = await run('api', env);
    expect([code, err]).toEqual([1, expect.stringMatching(otherRing('lacks the key'))]);
    expect(err).not.toContain(env.ASSENT_KEYS.split(':')[1]);
  });

  it('that started while Postgres was away ends once the ring turns out not to be that of the database', async () => {
    const postgresPort = await freePort();
    const away = new URL(sandbox.url);
    const there = { host: away.hostname, port: Number(away.port) };
    away.port = String(postgresPort);
    const api = await ApiProcess.started(away.href, [], environment(away.href));
    const readiness = await fetch(`${api.url}/readyz`);
    expect(readiness.status).toBe(503);
    expect(await readiness.json()).toMatchObject({ data: { mode: 'sandbox' } });

    const sockets: Socket[] = [];
    const proxy = createServer((socket) => {
      const upstream = connect(there);
      sockets.push(socket, upstream);
      for (const [one, other] of [
        [socket, upstream],
        [upstream, socket],
      ] as const) {
        one.pipe(other).on('error', () => undefined);
        one.on('error', () => undefined);
      }
    }).listen(postgresPort, '127.0.0.1');
    await once(proxy, 'listening');
    // Two that ask within a moment are told the same, without a second look.
    let ended = false;
    void api.ended().then(() => (ended = true));
    await eventually(async () => {
      await fetch(`${api.url}/readyz`).catch(() => undefined);
      return ended;
    });
    expect(await api.ended()).toBe(1);
    expect(api.output).toContain('ASSENT_KEYS: lacks the key');
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });

  it('that runs when another puts a key in front which it lacks says so in /readyz, and goes on', async () => {
    const own = await createTestDatabase();
    const api = await ApiProcess.started(own.url, [], environment(own.url, 'sandbox', RING));
    const problems = async () => {
      const { errors } = (await (await fetch(`${api.url}/readyz`)).json()) as { errors: Problem[] };
      return errors.filter(({ path }) => path === 'keys');
    };
    expect(await problems()).toEqual([]);
    const front = makeKeyring();
    await claimRing(own.db, readKeyring(`${front},${RING}`));
    let told: Problem[] = [];
    await eventually(async () => (told = await problems()).length > 0);
    expect(told).toEqual([
      {
        path: 'keys',
        message: expect.stringContaining(`lacks the key "${front.split(':')[0]}"`) as string,
      },
    ]);
    expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
    await api.stop();
    await own.drop();
  });
});

describe('a command', () => {
  it.each([
    ['entity list', () => production.url],
    ['migrate', () => production.ownerUrl],
  ])('of another mode than its database ends with a sentence: %s', async (words, url) => {
    expect(await assent(words, environment(url()))).toMatchObject({
      code: 1,
      err: expect.stringMatching(otherMode) as string,
    });
  });

  it.each([
    ['entity list', 'lacks the key', makeKeyring()],
    ['keys rotate', 'lacks the key', makeKeyring()],
    ['token mch_1', 'has another key under the id', `${kid}:${randomBytes(32).toString('base64')}`],
  ])('whose ring does not decrypt what is stored ends with a sentence: %s, %s', async (words, what, keys) => {
    const { code, err } = await assent(words, environment(sandbox.url, 'sandbox', keys));
    expect([code, err]).toEqual([1, expect.stringMatching(otherRing(what))]);
    expect(err).not.toContain(keys.split(':')[1]);
  });

  it('that looks for what is wrong works with any ring, and is told what is', async () => {
    const env = environment(sandbox.url);
    expect(JSON.parse((await assent('status --json', env)).out)).toMatchObject({
      problems: expect.arrayContaining([
        { path: 'keys', message: expect.stringContaining(`lacks the key "${kid}"`) as string },
      ]) as object,
    });
    for (const words of ['keys status', 'exceptions list'])
      expect(await assent(words, env)).toMatchObject({ code: 0 });
    for (const words of ['reconcile', 'reconcile --fix'])
      expect((await assent(words, env)).err).toContain('Temporal does not answer');
  });
});
