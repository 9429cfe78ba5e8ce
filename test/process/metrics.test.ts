import { pino } from 'pino';
import { ConfigError, readConfig } from '../../src/settings/config';
import {
  createMetrics,
  gauge,
  inTime,
  measureDependencies,
  serveMetrics,
  type MetricsServer,
} from '../../src/process/metrics';
import type { Problem } from '../../src/domain/failures';
import { freePort } from '../support/free-port';
import { readMetrics, valueOf } from '../support/metrics';

const serve = (port: number, registry = createMetrics(), isReady?: () => boolean) =>
  serveMetrics(
    readConfig({ METRICS_PORT: String(port) }),
    pino({ level: 'silent' }),
    () => registry.metrics(),
    isReady,
  );

test('an answer is kept for all who ask soon after it', async () => {
  jest.useFakeTimers();
  let asked = 0;
  const probe = inTime(() => Promise.resolve((asked += 1)), 1_000);
  expect(await Promise.all([probe(), probe()])).toEqual([1, 1]);
  jest.advanceTimersByTime(999);
  expect(await probe()).toBe(1);
  jest.advanceTimersByTime(1);
  expect(await probe()).toBe(2);
  jest.useRealTimers();
});

describe('metrics', () => {
  let port: number;
  let server: MetricsServer;
  let questions = 0;
  let answer: () => Promise<number>;
  let problems: () => Promise<Problem[]>;
  const registry = createMetrics();

  beforeAll(async () => {
    port = await freePort();
    server = await serve(port, registry);
    const read = inTime(() => {
      questions += 1;
      return answer();
    });
    gauge(registry, { name: 'asked', help: 'What another server says.', read });
    gauge(registry, { name: 'asked_too', help: 'What it says to the same question.', read });
    measureDependencies(registry, [
      { names: ['postgres'], problems: () => Promise.resolve([]) },
      { names: ['temporal', 'worker'], problems: () => problems() },
    ]);
  });
  beforeEach(() => {
    questions = 0;
    answer = () => Promise.resolve(7);
    problems = () => Promise.resolve([]);
  });
  afterAll(() => server.close());

  it('tell what another server says, asked once for all who read at that moment', async () => {
    const texts = await Promise.all([readMetrics(port), readMetrics(port)]);
    for (const text of texts) {
      expect([valueOf(text, 'asked'), valueOf(text, 'asked_too')]).toEqual([7, 7]);
    }
    expect(questions).toBeLessThanOrEqual(2);
  });

  it('forget what it said once it fails', async () => {
    answer = () => Promise.reject(new Error('away'));
    const text = await readMetrics(port);
    expect(valueOf(text, 'asked')).toBeUndefined();
    expect(valueOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(0);
  });

  it.each([
    [[], { postgres: 1, temporal: 1, worker: 1 }],
    [['worker'], { postgres: 1, temporal: 1, worker: 0 }],
    [['temporal'], { postgres: 1, temporal: 0, worker: 0 }],
  ])('with %j missing have a 1 for what can be reached: %j', async (missing, up) => {
    problems = () => Promise.resolve(missing.map((path) => ({ path, message: 'does not answer' })));
    const text = await readMetrics(port);
    for (const [name, value] of Object.entries(up)) {
      expect([name, valueOf(text, `assent_dependency_up{dependency="${name}"}`)]).toEqual([name, value]);
    }
  });

  // The last: its questions stay open.
  it('are served though nothing that they ask is ever answered, and no question is asked a second time', async () => {
    answer = () => new Promise(() => undefined);
    problems = () => new Promise(() => undefined);
    await readMetrics(port);
    const text = await readMetrics(port);
    expect(valueOf(text, 'asked')).toBeUndefined();
    expect(valueOf(text, 'assent_dependency_up{dependency="postgres"}')).toBe(1);
    expect(valueOf(text, 'assent_dependency_up{dependency="temporal"}')).toBe(0);
    expect(valueOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(0);
    expect(questions).toBe(1);
  });

  it.each([
    ['GET', '/', 404],
    ['GET', '/metrics/', 404],
    ['POST', '/metrics', 405],
    ['GET', '/healthz', 200],
    ['GET', '/readyz', 404],
  ])('are, with a probe, all that their port has: %s %s is a %i', async (method, path, status) => {
    const { status: got } = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    expect(got).toBe(status);
  });

  it('have beside them whether the process does its work, where it has no other port to say so', async () => {
    let ready = false;
    const own = await freePort();
    const worker = await serve(own, createMetrics(), () => ready);
    const probed = async (path: string) => (await fetch(`http://127.0.0.1:${own}${path}`)).status;
    expect([await probed('/healthz'), await probed('/readyz')]).toEqual([200, 503]);
    ready = true;
    expect([await probed('/healthz'), await probed('/readyz')]).toEqual([200, 200]);
    await worker.close();
  });

  it('say what to set where their port is taken', async () => {
    const taken = serve(port);
    await expect(taken).rejects.toBeInstanceOf(ConfigError);
    await expect(taken).rejects.toThrow(
      `METRICS_PORT: ${port} is taken. Stop what listens there, or set METRICS_PORT or PORT_OFFSET to use another.`,
    );
  });

  it('are served nowhere with METRICS_PORT=0, whatever the offset', async () => {
    const offset = await freePort();
    const config = readConfig({ METRICS_PORT: '0', PORT_OFFSET: String(Math.min(offset, 50_000)) });
    const none = await serveMetrics(config, pino({ level: 'silent' }), () => Promise.resolve(''));
    await expect(readMetrics(config.PORT_OFFSET)).rejects.toThrow('fetch failed');
    await none.close();
  });
});
