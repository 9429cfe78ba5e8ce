import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/** Programs that come to this machine once and are kept in the user's cache, for all checkouts. */

/** About three minutes on two cores for each that there is, most of it compiling. */
const BUILD_TIMEOUT_MS = 15 * 60_000;
const PROGRESS_EVERY_MS = 10_000;
/** A program answers `--version` in well under a second, unless the machine is very busy. */
const VERSION_TIMEOUT_MS = 15_000;

/** @param name with the version, for the versions of a program lie side by side */
export function cacheFolder(name: string): string {
  return path.join(homedir(), '.cache', 'assent', name);
}

/** Returns the command if it works. @throws Error saying why it does not */
export async function usable(command: string): Promise<string> {
  const problem = await whyUnusable(command);
  if (problem !== undefined) throw new Error(problem);
  return command;
}

export async function whyUnusable(command: string): Promise<string | undefined> {
  try {
    await promisify(execFile)(command, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    const { code } = error as { code?: string | number };
    if (code === 'ENOENT') return 'not found';
    return code === 'EACCES' ? 'not executable' : 'does not answer --version';
  }
}

/**
 * Builds a program as `go install` does.
 *
 * @param module with its version; the last part of its path is the program's name
 * @param cached where the program is to be
 * @throws Error where Go is missing, or the end of what the build said
 */
export async function buildWithGo(
  what: string,
  module: string,
  cached: string,
  say: (line: string) => void,
): Promise<string> {
  await promisify(execFile)('go', ['version'], { timeout: VERSION_TIMEOUT_MS }).catch(() => {
    throw new Error('Go is not installed');
  });
  const [packagePath = '', version = ''] = module.split('@');
  return inFreshFolder(cached, async (folder) => {
    say(`Building ${what} ${version} with Go (about three minutes, once) …`);
    await runWithProgress('go', ['install', module], { GOBIN: folder }, say);
    return path.join(folder, path.posix.basename(packagePath));
  });
}

async function runWithProgress(
  command: string,
  args: string[],
  environment: Record<string, string>,
  say: (line: string) => void,
): Promise<void> {
  const startedAt = Date.now();
  // `env` adds to the inherited environment without this module having to read it.
  const assignments = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const child = spawn('env', [...assignments, command, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  // A start that is given up meanwhile ends here, without waiting for the build.
  const giveUp = () => child.kill('SIGTERM');
  process.once('exit', giveUp);
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-1_000);
  });
  const progress = setInterval(
    () => say(`  … still building after ${Math.round((Date.now() - startedAt) / 1000)} s`),
    PROGRESS_EVERY_MS,
  );
  const deadline = setTimeout(() => child.kill('SIGTERM'), BUILD_TIMEOUT_MS);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', resolve);
    });
    if (code !== 0) throw new Error(`\`${command} ${args.join(' ')}\` failed: ${output.trim().slice(-300)}`);
  } finally {
    clearInterval(progress);
    clearTimeout(deadline);
    process.removeListener('exit', giveUp);
  }
}

/**
 * Makes the program in a folder of its own and moves it into place, so that the cache never holds
 * half of one.
 */
export async function inFreshFolder(
  cached: string,
  make: (folder: string) => Promise<string>,
): Promise<string> {
  await mkdir(path.dirname(cached), { recursive: true });
  const folder = await mkdtemp(path.join(path.dirname(cached), 'new-'));
  try {
    await rename(await usable(await make(folder)), cached);
    return cached;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
