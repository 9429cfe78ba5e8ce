import { execFile } from 'node:child_process';
import { makeKeyring } from '../../src/database/keyring/keyring';
import type { Problem } from '../../src/domain/failures';
import { lazyClient } from '../../src/temporal/connection';
import { temporalProblems } from '../../src/temporal/readiness';
import { programOf } from '../support/installation';
import { startRefusingTemporal } from '../support/refusing-temporal';

const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

async function told(status: number, tls = false): Promise<Problem[]> {
  const server = await startRefusingTemporal(status);
  const client = lazyClient({
    TEMPORAL_ADDRESS: server.address,
    TEMPORAL_NAMESPACE: 'default',
    TEMPORAL_TLS: tls,
  });
  const problems = await temporalProblems(client);
  await client.connection.close();
  server.stop();
  return problems;
}

async function run(program: 'cli' | 'worker', address: string, args: string[] = [], tls = 'false') {
  const command = [await programOf(program), ...args];
  const env = {
    ...process.env,
    ASSENT_MODE: 'sandbox',
    ASSENT_KEYS: makeKeyring(),
    // Nothing answers there.
    DATABASE_URL: 'postgresql://assent@127.0.0.1:1/assent',
    TEMPORAL_ADDRESS: address,
    TEMPORAL_TLS: tls,
    METRICS_PORT: '0',
  };
  return new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    execFile(process.execPath, command, { env }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err }),
    );
  });
}

/** Whoever is told to start a Temporal that runs looks in the wrong place. */
describe('a Temporal that answers, and lets us do nothing', () => {
  it.each([
    [UNAUTHENTICATED, 'UNAUTHENTICATED'],
    [PERMISSION_DENIED, 'PERMISSION_DENIED'],
  ])('is told of in /readyz as one that refuses us: %s %s', async (status, name) => {
    expect(await told(status)).toEqual([{ path: 'temporal', message: `refuses us, ${name}` }]);
  });

  it('is told of in /readyz as one that is not reached over TLS, where the handshake fails', async () => {
    expect(await told(UNAUTHENTICATED, true)).toEqual([
      { path: 'temporal', message: 'cannot be reached over TLS' },
    ]);
  });

  it.each([
    ['false', /refuses us, UNAUTHENTICATED \(.*Request unauthorized\..*\): correct TEMPORAL_API_KEY/],
    ['true', /cannot be reached over TLS \(.+\): correct TEMPORAL_TLS,/],
  ])(
    'has the last line of a worker, and a line of the doctor, say why and which setting to correct: TLS %s',
    async (tls, words) => {
      const server = await startRefusingTemporal(UNAUTHENTICATED);
      const [worker, doctor] = await Promise.all([
        run('worker', server.address, [], tls),
        run('cli', server.address, ['doctor', '--json'], tls),
      ]);
      server.stop();
      expect(worker.code).toBe(1);
      expect(doctor.code).toBe(1);
      const { checks } = JSON.parse(doctor.out) as { checks: { name: string; message: string }[] };
      const line = worker.err.trimEnd().split('\n').at(-1);
      for (const said of [line, checks.find(({ name }) => name === 'temporal')?.message]) {
        expect(said).toMatch(words);
        expect(said).not.toMatch(/start it/i);
      }
    },
  );
});
