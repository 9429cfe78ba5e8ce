import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readEngineFile, startOf, takeFolder } from '../../src/start/engine-file';

/** Ends by itself, should the test not get to it. */
const sleeper = () => spawn('sleep', ['60']).pid ?? 0;

/** No process has this pid. */
const NOBODY = { pid: 2 ** 22 + 1, startedAt: 'long ago' };

describe('the folder of an engine', () => {
  let folder: string;
  let said: string[];
  const file = () => path.join(folder, 'engine.json');
  const take = () => takeFolder(folder, (line) => said.push(line));
  const leave = (lock: object) => writeFileSync(file(), JSON.stringify(lock));

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'assent-lock-'));
    said = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('is had by one, and by the next one after its release', async () => {
    const held = await take();
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    await expect(take()).rejects.toThrow(`already runs (pid ${process.pid})`);
    held.release();
    (await take()).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('goes to exactly one of many who find its holder dead at the same moment', async () => {
    leave({ pid: process.pid, startedAt: 'before a process of this pid', processes: [] });
    const tries = await Promise.allSettled(Array.from({ length: 20 }, take));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('of a dead holder goes to the next one, who ends the processes that it names', async () => {
    const left = spawn('sleep', ['60']);
    const pid = left.pid ?? 0;
    leave({ ...NOBODY, processes: [{ name: 'worker', pid, startedAt: startOf(pid) }] });
    const end = once(left, 'exit');
    await take();
    await expect(end).resolves.toEqual([null, 'SIGTERM']);
    expect(said).toEqual([`Ending worker (pid ${pid}), left behind by an engine that was killed.`]);
  });

  test('costs no process its life that was given the pid of a dead one', async () => {
    const pid = sleeper();
    const before = startOf(pid);
    leave({ ...NOBODY, processes: [{ name: 'worker', pid, startedAt: 'long ago' }] });
    await take();
    const after = startOf(pid);
    process.kill(pid);
    expect(after).toBeDefined();
    expect(after).toBe(before);
    expect(said).toEqual([]);
  });

  test.each(['{"pid":', ''])('whose file was damaged (%j) says what to do with it', async (text) => {
    writeFileSync(file(), text);
    for (const reading of [take, async () => readEngineFile(folder)])
      await expect(reading()).rejects.toThrow(
        /engine.json is damaged .*\. Nothing is lost by it: end what .* remove the file and start again\./,
      );
    expect(readFileSync(file(), 'utf8')).toBe(text);
  });

  test('whose file another version left, without its processes, says what to do with it', async () => {
    leave(NOBODY);
    await expect(take()).rejects.toThrow(
      /engine.json is of another version\. .* remove the file and start again\.$/,
    );
  });

  test('has no engine before all is up, nor where none was started', async () => {
    expect(readEngineFile(folder)).toBeUndefined();
    const held = await take();
    expect(readEngineFile(folder)).toBeUndefined();
    held.publish({ databaseUrl: 'postgres://here/' } as Parameters<typeof held.publish>[0]);
    held.record([]);
    expect(readEngineFile(folder)).toMatchObject({ pid: process.pid, databaseUrl: 'postgres://here/' });
  });

  test('that cannot be written to, as on a full disk, ends nothing that runs', async () => {
    const held = await take();
    rmSync(folder, { recursive: true });
    expect(() => held.record([{ name: 'worker', pid: process.pid }])).not.toThrow();
  });
});
