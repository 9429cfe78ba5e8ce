import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readEngineFile, startOf } from '../../src/process/engine-file';
import { takeFolder } from '../../src/start/lock';

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

  test('of a dead holder goes to the next one, who ends the processes that it names, and no other of their pids', async () => {
    const [left, other] = [spawn('sleep', ['60']), spawn('sleep', ['60'])];
    const [pid = 0, another = 0] = [left.pid, other.pid];
    leave({
      ...NOBODY,
      processes: [
        { name: 'API', pid: another, startedAt: 'long ago' },
        { name: 'worker', pid, startedAt: startOf(pid) },
      ],
    });
    const end = once(left, 'exit');
    await take();
    await expect(end).resolves.toEqual([null, 'SIGTERM']);
    expect(said).toEqual([`Ending worker (pid ${pid}), left behind by an engine that was killed.`]);
    expect(startOf(another)).toBeDefined();
    other.kill();
  });

  test.each(['{"pid":', ''])('whose file was damaged (%j) says what to do with it', async (text) => {
    writeFileSync(file(), text);
    for (const reading of [take, async () => readEngineFile(folder)])
      await expect(reading()).rejects.toThrow(
        /engine.json is damaged .*\. Nothing is lost by it: end what .* remove the file and start again\./,
      );
    expect(readFileSync(file(), 'utf8')).toBe(text);
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
