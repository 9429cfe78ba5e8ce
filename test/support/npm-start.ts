import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { lives, readEngineFile, type EngineFile, type Started } from '../../src/process/engine-file';
import { whyNotFree } from '../../src/start/ports';
import { OwnProcess } from '../launch/process';
import { installation } from './installation';

const ROOT = path.join(__dirname, '../..');

/** A command, and the environment that it inherits. */
interface Run {
  command: readonly [string, ...string[]];
  inherited: NodeJS.ProcessEnv;
}

/** The command of `npm start`, in a folder where npm would find nothing to run. */
export const FROM_SOURCE: Run = {
  command: [process.execPath, path.join(ROOT, 'bin/assent.js'), 'start'],
  inherited: process.env,
};

/** The same, compiled once for all tests: a start from source compiles for ten seconds. */
export async function fromBuild(): Promise<Run> {
  const { programs } = await installation();
  return { ...FROM_SOURCE, command: [process.execPath, path.join(programs, 'start/main.js')] };
}

/** `npm start` says this when all is up. */
const READY = 'Assent is ready.';

/**
 * A run of `npm start`, as a process of its own in a process group of its own, as in a terminal.
 */
export class NpmStart extends OwnProcess {
  /** @param run npm itself needs a checkout as its folder */
  constructor(
    private readonly folder: string,
    settings: Record<string, string>,
    { command: [command, ...args], inherited }: Run,
  ) {
    super({ command, args, environment: { ...inherited, ...settings }, cwd: folder, detached: true });
    this.start();
  }

  /** Waits until it says that it is ready. @throws Error with its output, should it end before */
  async ready(): Promise<EngineFile> {
    await this.says(READY);
    const file = readEngineFile(path.join(this.folder, '.assent'));
    if (!file) throw new Error('it left no engine.json');
    return file;
  }

  /** Ctrl-C, which a terminal sends to everything in its foreground group. */
  interrupt(): void {
    process.kill(-(this.pid ?? 0), 'SIGINT');
  }
}

/**
 * An offset at which everything that the engine listens on is free, below the ports that
 * connections are given.
 */
export async function freeOffset(): Promise<number> {
  for (;;) {
    const offset = 1_000 + Math.floor(Math.random() * 20_000);
    const problems = await Promise.all(
      [3000, 5433, 7233, 8233, 9464, 9465].map((port) => whyNotFree(port + offset)),
    );
    if (problems.every((problem) => problem === undefined)) return offset;
  }
}

/** The processes that a running engine has written down as its own. */
export async function recorded(folder: string): Promise<(Started & { name: string })[]> {
  const lock = await readFile(path.join(folder, '.assent/engine.json'), 'utf8');
  return (JSON.parse(lock) as { processes: (Started & { name: string })[] }).processes;
}

export { lives };
