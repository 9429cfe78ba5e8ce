import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import path from 'node:path';

const FOLDER = path.join(__dirname, 'results');

export interface Run {
  machine: { cores: number; model: string; node: string; loadBefore: number };
  /** When it began, in UTC. */
  at: string;
  command: string;
  /** With a `+` where the checkout has changes. */
  commit: string;
}

/** @param script of `package.json` */
export function beginRun(script: string): Run {
  const commit = execFileSync('git', ['describe', '--always', '--abbrev=12', '--exclude=*', '--dirty=+'], {
    encoding: 'utf8',
  });
  return {
    machine: {
      cores: availableParallelism(),
      model: cpus()[0]?.model ?? 'unknown',
      node: process.version,
      loadBefore: loadavg()[0] ?? 0,
    },
    at: new Date().toISOString(),
    command: [`npm run ${script} --`, ...process.argv.slice(2)].join(' '),
    commit: commit.trim(),
  };
}

const rounded = (_: string, value: unknown) =>
  typeof value === 'number' ? Number(value.toPrecision(6)) : value;

/**
 * Keeps the raw figures of a run, in place of the last of its kind.
 *
 * @param kind the file's name
 */
export function keepResult(kind: string, result: object): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(path.join(FOLDER, `${kind}.json`), `${JSON.stringify(result, rounded)}\n`);
}
