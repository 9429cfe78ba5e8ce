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
    const error = await new Promise<Error>((resolve) => {
      supervise(one, logFile, () => (changes += 1), resolve);
    });
    return { changes, error };
  }

  /** Supervises it in the belief that it stays well. */
  function start(one: Program) {
    const process = supervise(
      one,
      logFile,
      () => undefined,
      () => undefined,
    );
    started.push(process);
    return process;
  }

  test('that keeps dying, or cannot be started at all, is given up, saying why', async () => {
    const [dying, missing] = await Promise.all([
      givenUp(program('console.error("PORT: 1 is taken"); console.error(); process.exit(3)')),
      givenUp({ ...program(''), command: '/nowhere/temporal' }),
    ]);
    expect(dying.error.message).toContain(
      'worker died 5 times in a row: exit code 3, with the last words "PORT: 1 is taken".',
    );
    // A start and a death each.
    expect(dying.changes).toBe(10);
    expect(log().match(/PORT: 1 is taken/g)).toHaveLength(5);
    expect(missing.error.message).toContain('spawn /nowhere/temporal ENOENT');
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
