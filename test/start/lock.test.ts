import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { takeLock, type Recorded } from '../../src/start/lock';
import { processIdentity } from '../../src/start/process-identity';

/** Ends by itself, should the test not get to it. */
const sleeper = () => spawn('sleep', ['60']);

describe('the lock of an engine’s folder', () => {
  let folder: string;
  let said: string[];
  const say = (line: string) => said.push(line);
  const leave = (holder: { pid: number; identity: string; processes: Recorded[] }) =>
    writeFileSync(path.join(folder, 'lock'), JSON.stringify(holder));

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'assent-lock-'));
    said = [];
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('is had by one, and by the next one after its release', async () => {
    const lock = await takeLock(folder, say);
    expect(statSync(path.join(folder, 'lock')).mode & 0o777).toBe(0o600);
    await expect(takeLock(folder, say)).rejects.toThrow(`already runs (pid ${process.pid})`);
    lock.release();
    const next = await takeLock(folder, say);
    next.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('goes to exactly one of many who find it stale at the same moment', async () => {
    leave({ pid: process.pid, identity: 'an earlier process of this pid', processes: [] });
    const tries = await Promise.allSettled(Array.from({ length: 20 }, () => takeLock(folder, say)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('of a dead holder goes to the next one, who ends what it left behind', async () => {
    const left = sleeper();
    const identity = processIdentity(left.pid ?? 0) ?? '';
    leave({
      pid: 2 ** 22 + 1,
      identity: 'gone',
      processes: [{ name: 'worker', pid: left.pid ?? 0, identity }],
    });
    const end = once(left, 'exit');
    const lock = await takeLock(folder, say);
    await expect(end).resolves.toEqual([null, 'SIGTERM']);
    expect(said).toEqual([`Ending worker (pid ${left.pid}), left behind by an engine that was killed.`]);
    lock.release();
  });

  test('never ends a process that was given the pid of a dead one', async () => {
    const stranger = sleeper();
    const identity = processIdentity(stranger.pid ?? 0);
    leave({
      pid: 2 ** 22 + 1,
      identity: 'gone',
      processes: [{ name: 'worker', pid: stranger.pid ?? 0, identity: '12345 node src/worker/main.ts' }],
    });
    const lock = await takeLock(folder, say);
    lock.release();
    const identityAfter = processIdentity(stranger.pid ?? 0);
    stranger.kill();
    expect(identityAfter).toContain('sleep 60');
    expect(identityAfter).toBe(identity);
    expect(said).toEqual([]);
  });

  test.each(['{"pid":', '{}', 'null', '', '[1]'])(
    'that was damaged (%j) keeps nobody out, and is told of',
    async (text) => {
      writeFileSync(path.join(folder, 'lock'), text);
      const lock = await takeLock(folder, say);
      await expect(takeLock(folder, say)).rejects.toThrow(`already runs (pid ${process.pid})`);
      expect(said).toEqual([expect.stringMatching(/lock was damaged, and is made anew/)]);
      lock.release();
    },
  );
});
