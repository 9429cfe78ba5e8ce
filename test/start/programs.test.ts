import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Recorded } from '../../src/start/lock';
import { processIdentity } from '../../src/start/process-identity';
import { Programs } from '../../src/start/programs';
import type { Program } from '../../src/start/supervised-process';
import { eventually } from '../support/engine';

const folder = mkdtempSync(path.join(tmpdir(), 'assent-programs-'));
afterAll(() => rmSync(folder, { recursive: true }));

const WORKER: Program = {
  name: 'worker',
  command: process.execPath,
  args: ['-e', 'setInterval(() => {}, 1000)'],
  environment: {},
  stopSignal: 'SIGTERM',
};

test('a disk that is full as a program dies keeps it from nothing: it is started again, written down once there is room, and stopped', async () => {
  let recorded: Recorded[] = [];
  let isFull = false;
  const said: string[] = [];
  const lock = {
    record(processes: Recorded[]) {
      if (isFull) throw new Error('ENOSPC: no space left on device, write');
      recorded = processes;
    },
    release: () => undefined,
  };
  const programs = new Programs(
    path.join(folder, 'log'),
    (line) => {
      said.push(line);
      // Before the next start.
      if (line.startsWith('worker died')) isFull = false;
    },
    lock,
    new AbortController().signal,
  );
  let failure: Error | undefined;
  void programs.failed.then((error) => (failure = error));
  programs.start(WORKER);
  const first = recorded[0]?.pid ?? 0;
  isFull = true;
  process.kill(first, 'SIGKILL');
  await eventually(() =>
    Promise.resolve(failure !== undefined || ![first, undefined].includes(recorded[0]?.pid)),
  );
  expect(failure).toBeUndefined();
  expect(said[0]).toMatch(/^Which processes run could not be written down \(ENOSPC: /);
  const second = recorded[0]?.pid ?? 0;
  expect(processIdentity(second)).toBe(recorded[0]?.identity);
  await programs.stop();
  expect(processIdentity(second)).toBeUndefined();
});
