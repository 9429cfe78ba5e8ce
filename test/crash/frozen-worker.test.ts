import { eventually, startEngine, type TestEngine } from '../support/engine';
import { metricsOnFreePorts, valueOf, type Metrics } from '../support/metrics';

/** A worker whose process is there, with all its connections open, and does nothing. */

let engine: TestEngine;
let metrics: Metrics;

beforeAll(async () => {
  metrics = await metricsOnFreePorts();
  engine = await startEngine(metrics.settings);
});

afterAll(async () => {
  engine.worker.thaw();
  await engine.stop();
});

interface Readiness {
  status: number;
  message: string;
}

async function readiness(): Promise<Readiness> {
  const answer = await fetch(`${engine.apiUrl}/readyz`);
  const { message } = (await answer.json()) as { message: string };
  return { status: answer.status, message };
}

const HEARTBEAT_AGE = 'assent_worker_heartbeat_age_seconds';

test('a frozen worker is not ready within 15 s, the API tells what waits, and all is well when it thaws', async () => {
  await eventually(async () => (await readiness()).status === 200);
  expect(valueOf(await metrics.api(), 'assent_workers{version="0.2.0"}')).toBe(1);
  expect(valueOf(await metrics.api(), HEARTBEAT_AGE)).toBeLessThan(10);

  expect(await metrics.workerProbes()).toEqual({ healthz: 200, readyz: 200 });

  engine.worker.freeze();
  // What the contract promises, not what the machine happens to do.
  await eventually(async () => (await readiness()).status === 503, 15_000);
  expect((await readiness()).message).toMatch(
    /^Not ready: worker: no worker has sent a heartbeat for \d+ s$/,
  );
  const told = await metrics.api();
  expect(valueOf(told, HEARTBEAT_AGE)).toBeGreaterThan(10);
  expect(valueOf(told, 'assent_workers{version="0.2.0"}')).toBeUndefined();
  expect(valueOf(told, 'assent_outbox_messages{rank="call"}')).toBe(0);
  expect(valueOf(told, 'assent_outbox_oldest_age_seconds{rank="call"}')).toBe(0);
  expect(valueOf(told, 'assent_dependency_up{dependency="temporal"}')).toBe(1);
  expect(valueOf(told, 'assent_dependency_up{dependency="worker"}')).toBe(0);

  // Whoever restarts what does not answer notices it.
  await expect(metrics.workerProbes()).rejects.toThrow('aborted due to timeout');

  engine.worker.thaw();
  await eventually(async () => (await readiness()).status === 200);
  expect(await metrics.workerProbes()).toEqual({ healthz: 200, readyz: 200 });
});
