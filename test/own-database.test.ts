import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { makeKeyring } from '../src/database/keyring';
import { freePort } from '../src/listening';
import { createTestDatabase, type TestDatabase } from './support/database';
import { eventually } from './support/engine';
import { createProductionDatabase, type ProductionDatabase } from './support/production-database';

let sandbox: TestDatabase;
let production: ProductionDatabase;
beforeAll(async () => {
  sandbox = await createTestDatabase();
  production = await createProductionDatabase();
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
const command = (program: Program, args: string[] = []) => [
  '--import',
  'tsx',
  join(__dirname, `../src/${program}/main.ts`),
  ...args,
];

/** Runs it to its end. */
function run(program: Program, env: NodeJS.ProcessEnv, args?: string[]) {
  return new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    execFile(process.execPath, command(program, args), { env }, (error, out, err) =>
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
        /^(assent: )?ASSENT_MODE: is sandbox, but the database was made for production\. .*\n$/,
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

  it(
    'that started while Postgres was away ends once it turns out to be a database of another mode',
    async () => {
      const [port, postgresPort] = [await freePort(), await freePort()];
      const away = new URL(production.url);
      const there = { host: away.hostname, port: Number(away.port) };
      away.port = String(postgresPort);
      const env = environment(away.href, 'sandbox', { PORT: String(port) });
      const api = spawn(process.execPath, command('api'), { env, stdio: ['ignore', 'ignore', 'pipe'] });
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
      const readiness = await fetch(`${url}/readyz`);
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
      const unheard = new AbortController();
      // A readiness is kept for a while, and Postgres not asked again until then.
      const asking = eventually(async () => {
        await fetch(`${url}/readyz`, { signal: unheard.signal }).catch(() => undefined);
        return unheard.signal.aborted;
      });
      expect(await ended).toEqual([1, null]);
      unheard.abort();
      await asking;
      expect(err).toContain('ASSENT_MODE: is sandbox, but the database was made for production');
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
    MINUTE,
  );
});
