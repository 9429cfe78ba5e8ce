import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import { makeKeyring, readKeyring } from '../src/database/keys/keyring';
import { claimRing } from '../src/database/key-rotation/claim-keyring';
import type { Problem } from '../src/domain/failures';
import { createTestDatabase, type TestDatabase } from './support/database';
import { eventually } from './support/engine';
import { freePort } from './support/free-port';
import { programOf } from './support/installation';
import { createProductionDatabase, type ProductionDatabase } from './support/production-database';

/** The ring that the sandbox's values hang on. */
const RING = makeKeyring();
const kid = readKeyring(RING).current;
const OTHER_BYTES = randomBytes(32).toString('base64');

let sandbox: TestDatabase;
let production: ProductionDatabase;
beforeAll(async () => {
  sandbox = await createTestDatabase();
  production = await createProductionDatabase();
  await claimRing(sandbox.db, readKeyring(RING));
});
afterAll(() => Promise.all([sandbox.drop(), production.drop()]));

const environment = (url: string, mode: string, more: Record<string, string> = {}) => ({
  ...process.env,
  ASSENT_MODE: mode,
  ALLOW_PLAINTEXT: 'true',
  DATABASE_URL: url,
  ASSENT_KEYS: makeKeyring(),
  // Nothing answers there.
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  METRICS_PORT: '0',
  ...more,
});

type Program = 'api' | 'worker' | 'cli';

/** Runs it to its end. */
async function run(program: Program, env: NodeJS.ProcessEnv, args: string[] = []) {
  const command = [await programOf(program), ...args];
  return new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    execFile(process.execPath, command, { env }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err }),
    );
  });
}

const MINUTE = 60_000;

describe('a process', () => {
  it.each([
    ['api', []],
    ['worker', []],
    ['cli', ['entity', 'list']],
    ['cli', ['migrate']],
  ] as [Program, string[]][])(
    'of another mode than its database ends with a sentence: %s %j',
    async (program, args) => {
      const port = String(await freePort());
      const { code, out, err } = await run(
        program,
        environment(args[0] === 'migrate' ? production.ownerUrl : production.url, 'sandbox', { PORT: port }),
        args,
      );
      expect(code).toBe(1);
      expect(err).toMatch(
        /^(assent: )?ASSENT_MODE: is sandbox, but the database was created for production\. .*\n$/,
      );
      if (program !== 'cli') expect(JSON.parse(out.split('\n')[0] ?? '')).toMatchObject({ mode: 'sandbox' });
    },
    MINUTE,
  );

  it(
    'of production that is given the owner’s login, or a wrong password, ends with a sentence',
    async () => {
      const wrong = new URL(production.url);
      wrong.password = 'guessed';
      const [owner, guessed] = await Promise.all([
        run('api', environment(production.memberUrl, 'production')),
        run('worker', environment(wrong.href, 'production')),
      ]);
      expect(owner).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^DATABASE_URL: the login .* owns the/),
      });
      expect(guessed).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^DATABASE_URL: Postgres does not let us in \(password auth.*\n$/),
      });
    },
    MINUTE,
  );

  it.each([
    ['api', [], 'lacks the key'],
    ['worker', [], 'lacks the key'],
    ['cli', ['entity', 'list'], 'lacks the key'],
    ['cli', ['keys', 'rotate'], 'lacks the key'],
    ['api', [], 'has another key under the id'],
    ['cli', ['token', 'mch_1'], 'has another key under the id'],
  ] as [Program, string[], string][])(
    'whose ring does not open what is stored ends with a sentence, where every call would be a 500: %s %j %s',
    async (program, args, what) => {
      const keys = what.startsWith('lacks') ? makeKeyring() : `${kid}:${OTHER_BYTES}`;
      const port = String(await freePort());
      const { code, err } = await run(
        program,
        environment(sandbox.url, 'sandbox', { PORT: port, ASSENT_KEYS: keys }),
        args,
      );
      expect(code).toBe(1);
      expect(err).toMatch(
        new RegExp(`^(assent: )?ASSENT_KEYS: ${what} "${kid}".*Every process needs the same ring.*\\n$`),
      );
      expect(err).not.toContain(keys.split(':')[1]);
    },
    MINUTE,
  );

  it(
    'that looks for what is wrong works with any ring, and is told what is',
    async () => {
      const env = environment(sandbox.url, 'sandbox');
      const [status, keys, exceptions, looking, mending] = await Promise.all([
        run('cli', env, ['status', '--json']),
        run('cli', env, ['keys', 'status', '--json']),
        run('cli', env, ['exceptions', 'list', '--json']),
        run('cli', env, ['reconcile']),
        run('cli', env, ['reconcile', '--fix']),
      ]);
      expect(JSON.parse(status.out)).toMatchObject({
        problems: expect.arrayContaining([
          { path: 'keys', message: expect.stringContaining(`lacks the key "${kid}"`) as string },
        ]) as object,
      });
      expect([keys.code, exceptions.code]).toEqual([0, 0]);
      expect(looking.err).toContain('Temporal does not answer');
      expect(mending.err).toContain('Temporal does not answer');
    },
    MINUTE,
  );

  it.each([
    [
      'a database of another mode',
      () => [production.url, RING],
      'ASSENT_MODE: is sandbox, but the database was',
    ],
    ['one that its ring does not open', () => [sandbox.url, makeKeyring()], 'ASSENT_KEYS: lacks the key'],
  ])(
    'that started while Postgres was away ends once it turns out to be %s',
    async (_what, given, words) => {
      const [url = '', keys = ''] = given();
      const postgresPort = await freePort();
      const away = new URL(url);
      const there = { host: away.hostname, port: Number(away.port) };
      away.port = String(postgresPort);
      const api = await startApi(environment(away.href, 'sandbox', { ASSENT_KEYS: keys }));
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
      // Whoever asks soon after another is told the same, without a look.
      let ended = false;
      void api.ended.then(() => (ended = true));
      await eventually(async () => {
        await fetch(`${api.url}/readyz`).catch(() => undefined);
        return ended;
      });
      expect(await api.ended).toEqual([1, null]);
      expect(api.err()).toContain(words);
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
    MINUTE,
  );

  it(
    'that runs when another puts a key in front which it lacks says so in /readyz, and goes on',
    async () => {
      const own = await createTestDatabase();
      const api = await startApi(environment(own.url, 'sandbox', { ASSENT_KEYS: RING }));
      const problems = async () => {
        const { errors } = (await (await fetch(`${api.url}/readyz`)).json()) as { errors: Problem[] };
        return errors.filter(({ path }) => path === 'keys');
      };
      expect(await problems()).toEqual([]);
      const front = makeKeyring();
      await claimRing(own.db, readKeyring(`${front},${RING}`));
      await eventually(async () => (await problems()).length > 0);
      expect(await problems()).toEqual([
        {
          path: 'keys',
          message: expect.stringContaining(`lacks the key "${front.split(':')[0]}"`) as string,
        },
      ]);
      expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
      api.stop();
      await api.ended;
      await own.drop();
    },
    MINUTE,
  );
});

/** An API that lives; whether it can do anything is another matter. */
async function startApi(env: NodeJS.ProcessEnv) {
  const port = await freePort();
  const api = spawn(process.execPath, [await programOf('api')], {
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let err = '';
  api.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const ended = once(api, 'exit');
  const url = `http://127.0.0.1:${port}`;
  await eventually(() =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return { url, ended, err: () => err, stop: () => api.kill('SIGTERM') };
}
