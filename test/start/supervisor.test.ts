import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import { startOf } from '../../src/process/engine-file';
import { Supervisor, type Program, type Running } from '../../src/start/supervisor';
import { eventually } from '../support/engine';

/** A Node program of one line. */
function program(script: string): Program {
  return {
    name: 'worker',
    command: process.execPath,
    args: ['-e', script],
    environment: {},
    stopSignal: 'SIGTERM',
    endsWithinMs: 5_000,
  };
}

const FOR_EVER = 'setInterval(() => {}, 1000)';

describe('a supervised program', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'assent-supervised-'));
  const logFile = path.join(folder, 'log');
  const log = () => readFileSync(logFile, 'utf8');
  const stops: (() => Promise<void>)[] = [];
  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()));
    rmSync(folder, { recursive: true });
  });

  const orphans = (count: number) =>
    eventually(() => Promise.resolve(log().match(/^has an orphan$/gm)?.length === count));
  const endGroup = (pid: number) => stops.push(() => Promise.resolve(void process.kill(-pid, 'SIGKILL')));

  function start(one: Program) {
    const said: string[] = [];
    const told: Running[][] = [];
    const supervisor = new Supervisor(
      logFile,
      (line) => said.push(line),
      (running) => told.push(running),
    );
    const stop = () => supervisor.stop();
    stops.push(stop);
    supervisor.start(one);
    return { failing: supervisor.failing, said, told, stop, pid: () => told.at(-1)?.[0]?.pid ?? 0 };
  }

  test('that keeps dying, or cannot be started at all, is given up, after a line for each death', async () => {
    const dying = start(program('console.error("PORT: 1 is taken"); console.error(); process.exit(3)'));
    const missing = start({ ...program(''), command: '/nowhere/temporal', advice: 'Remove its data.' });
    await Promise.all([dying, missing].map(({ failing }) => once(failing, 'abort')));
    const died = 'exit code 3, with the last words "PORT: 1 is taken".';
    expect(String(dying.failing.reason)).toContain(`worker died 5 times in a row: ${died}`);
    expect(dying.said).toEqual(
      [0.5, 1, 2, 4].map((s) => `worker died: ${died} It is started again in ${s} s.`),
    );
    expect(log()).toContain(dying.said[3]);
    // A start and a death each.
    expect(dying.told.map((running) => running.length)).toEqual([1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
    expect(log().match(/^PORT: 1 is taken/gm)).toHaveLength(5);
    expect(String(missing.failing.reason)).toMatch(/spawn \/nowhere\/temporal ENOENT.* Remove its data\.$/);
  });

  test('that dies is started again, though a process of its own outlives it', async () => {
    // It has the program's standard error until it ends.
    const script = `child_process.spawn("sleep", ["600"], { stdio: "inherit" }); console.log("has an orphan"); ${FOR_EVER}`;
    const one = start(program(script));
    const first = one.pid();
    await orphans(1);
    endGroup(first);
    process.kill(first, 'SIGKILL');
    await orphans(2);
    const second = one.pid();
    endGroup(second);
    expect(one.said).toEqual(['worker died: SIGKILL. It is started again in 0.5 s.']);
    await one.stop();
    expect(one.told.at(-1)).toEqual([]);
    expect(startOf(second)).toBeUndefined();
    // Its end by the stop is no death.
    expect(one.said).toHaveLength(1);
  });

  test('that ignores the request to stop is killed when its time is over', async () => {
    const script = `process.on("SIGTERM", () => console.log("no")); ${FOR_EVER}; console.log("up")`;
    const one = start({ ...program(script), endsWithinMs: 500 });
    const pid = one.pid();
    // A process group of its own, which Ctrl-C in a terminal does not reach: throws without one.
    expect(process.kill(-pid, 0)).toBe(true);
    await eventually(() => Promise.resolve(log().includes('up')));
    await one.stop();
    expect(log()).toContain('no');
    expect(startOf(pid)).toBeUndefined();
  });
});
