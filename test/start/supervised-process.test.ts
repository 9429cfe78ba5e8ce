import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { processIdentity } from '../../src/start/process-identity';
import { supervise, type Program, type SupervisedProcess } from '../../src/start/supervised-process';
import { eventually } from '../support/engine';

/** A Node program of one line. */
function program(script: string): Program {
  return {
    name: 'worker',
    command: process.execPath,
    args: ['-e', script],
    environment: {},
    stopSignal: 'SIGTERM',
  };
}

const FOR_EVER = 'setInterval(() => {}, 1000)';

describe('a supervised process', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'assent-supervised-'));
  const logFile = path.join(folder, 'log');
  const log = () => readFileSync(logFile, 'utf8');
  const started: SupervisedProcess[] = [];
  afterAll(async () => {
    await Promise.all(started.map((one) => one.stop(0)));
    rmSync(folder, { recursive: true });
  });

  /** Supervises it until it is given up. */
  async function givenUp(one: Program) {
    let changes = 0;
    const said: string[] = [];
    const error = await new Promise<Error>((resolve) => {
      supervise(
        one,
        logFile,
        (line) => said.push(line),
        () => (changes += 1),
        resolve,
      );
    });
    return { changes, error, said };
  }

  /** Supervises it in the belief that it stays well. */
  function start(one: Program, said: string[] = []) {
    const process = supervise(
      one,
      logFile,
      (line) => said.push(line),
      () => undefined,
      () => undefined,
    );
    started.push(process);
    return process;
  }

  test('that keeps dying, or cannot be started at all, is given up, saying why', async () => {
    const [dying, missing] = await Promise.all([
      givenUp(program('console.error("PORT: 1 is taken"); console.error(); process.exit(3)')),
      givenUp({ ...program(''), command: '/nowhere/temporal', advice: 'Remove its data.' }),
    ]);
    expect(dying.error.message).toContain(
      'worker died 5 times in a row: exit code 3, with the last words "PORT: 1 is taken".',
    );
    // A start and a death each.
    expect(dying.changes).toBe(10);
    expect(log().match(/^PORT: 1 is taken/gm)).toHaveLength(5);
    expect(missing.error.message).toMatch(/spawn \/nowhere\/temporal ENOENT.* Remove its data\.$/);
  });

  test('that dies is told of in one line each time, with how, how often, and when it is started again', async () => {
    const { said } = await givenUp(program('console.error("no disk"); process.exit(3)'));
    expect(said).toEqual(
      [0.5, 1, 2, 4].map(
        (s, i) =>
          `worker died (death ${i + 1} since the start): exit code 3, with the last words "no disk". ` +
          `It is started again in ${s} s.`,
      ),
    );
    expect(log()).toContain(said[3]);
    const killed: string[] = [];
    const one = start(program(FOR_EVER), killed);
    process.kill(one.pid() ?? 0, 'SIGKILL');
    await eventually(() => Promise.resolve(killed.length > 0));
    expect(killed).toEqual(['worker died (death 1 since the start): SIGKILL. It is started again in 0.5 s.']);
    await one.stop(5_000);
    expect(killed).toHaveLength(1);
  });

  test('that dies is started again, and is not once it was told to stop', async () => {
    const one = start(program(FOR_EVER));
    const first = one.pid() ?? 0;
    process.kill(first, 'SIGKILL');
    await eventually(() => Promise.resolve(![first, undefined].includes(one.pid())));
    const second = one.pid() ?? 0;
    await one.stop(5_000);
    expect(processIdentity(second)).toBeUndefined();
    expect(one.pid()).toBeUndefined();
  });

  test('that ignores the request to stop is killed when its time is over', async () => {
    const one = start(
      program(`process.on("SIGTERM", () => console.log("no")); ${FOR_EVER}; console.log("up")`),
    );
    const pid = one.pid() ?? 0;
    await eventually(() => Promise.resolve(log().includes('up')));
    await one.stop(500);
    expect(log()).toContain('no');
    expect(processIdentity(pid)).toBeUndefined();
  });

  test('has a process group of its own, which Ctrl-C in the terminal does not reach', async () => {
    const one = start(program(FOR_EVER));
    // Throws where there is no group of that number.
    expect(process.kill(-(one.pid() ?? 0), 0)).toBe(true);
    await one.stop(5_000);
  });
});
