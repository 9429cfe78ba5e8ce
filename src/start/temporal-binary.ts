import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { StartError } from './start-error';

/**
 * Finds the Temporal command, whose development server is the embedded Temporal, or brings it here.
 *
 * In order: the path that a setting gives, `temporal` on PATH, what an earlier run left in the cache, the SDK's
 * own download, and a build with Go where Go is installed.
 */

/** The newest version that `go install` can build as it stands. */
const VERSION = 'v1.5.1';
const GO_MODULE = `github.com/temporalio/cli/cmd/temporal@${VERSION}`;

/** Some 60 MB; a network that takes longer than this is better served by the error's advice. */
const DOWNLOAD_TIMEOUT_MS = 120_000;
/** About three minutes on two cores, most of it compiling. */
const BUILD_TIMEOUT_MS = 15 * 60_000;
const PROGRESS_EVERY_MS = 10_000;
/** The command answers `--version` in well under a second, unless the machine is very busy. */
const VERSION_TIMEOUT_MS = 15_000;

/** One way to come by the command. It throws, or says why not, in words for the list in the final error. */
export interface Source {
  name: string;
  /** Path or name of a command that works. @throws Error saying why there is none here */
  find(): Promise<string>;
}

/** Shared by all checkouts on this machine: the build takes minutes, and is the same for all. */
const CACHE_FOLDER = path.join(homedir(), '.cache', 'assent', `temporal-${VERSION}`);

/**
 * @param cliPath what the setting TEMPORAL_CLI_PATH says; nothing else is tried then
 * @param say prints a line of progress
 * @throws StartError that lists what was tried and what to install
 */
export async function findTemporal(options: {
  cliPath: string | undefined;
  say: (line: string) => void;
}): Promise<string> {
  const { cliPath, say } = options;
  if (cliPath !== undefined) {
    const problem = await whyUnusable(cliPath);
    if (problem === undefined) return cliPath;
    throw new StartError(`TEMPORAL_CLI_PATH: ${cliPath} is not a working temporal command (${problem}).`);
  }
  return firstOf('the Temporal command', sources(CACHE_FOLDER, say), INSTALL_ADVICE);
}

const INSTALL_ADVICE =
  'Install the Temporal CLI (https://docs.temporal.io/cli) or Go (https://go.dev/dl), or set ' +
  'TEMPORAL_CLI_PATH to a temporal command, or TEMPORAL_ADDRESS to a running server.';

/** @throws StartError that lists why each source had none */
export async function firstOf(what: string, candidates: Source[], advice: string): Promise<string> {
  const tried: string[] = [];
  for (const source of candidates) {
    try {
      return await source.find();
    } catch (error) {
      tried.push(`  - ${source.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new StartError(`Found no way to get ${what}. Tried:\n${tried.join('\n')}\n${advice}`);
}

function sources(cacheFolder: string, say: (line: string) => void): Source[] {
  const cached = path.join(cacheFolder, 'temporal');
  return [
    { name: '`temporal` on PATH', find: () => usable('temporal') },
    { name: `the cache ${cached}`, find: () => usable(cached) },
    { name: "the Temporal SDK's download", find: () => download(cacheFolder, cached, say) },
    { name: 'a build with Go', find: () => build(cacheFolder, cached, say) },
  ];
}

async function usable(command: string): Promise<string> {
  const problem = await whyUnusable(command);
  if (problem !== undefined) throw new Error(problem);
  return command;
}

async function whyUnusable(command: string): Promise<string | undefined> {
  try {
    await promisify(execFile)(command, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    const { code } = error as { code?: string | number };
    if (code === 'ENOENT') return 'not found';
    return code === 'EACCES' ? 'not executable' : 'does not answer --version';
  }
}

/** The SDK's test environment knows where to download from; it leaves the command in the folder it is given. */
async function download(cacheFolder: string, cached: string, say: (line: string) => void): Promise<string> {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  return inFreshFolder(cacheFolder, cached, async (folder) => {
    say('Downloading the Temporal command (about 60 MB, once) …');
    const started = TestWorkflowEnvironment.createLocal({
      server: { executable: { type: 'cached-download', downloadDir: folder } },
    });
    const environment = await withDeadline(started, DOWNLOAD_TIMEOUT_MS);
    await environment.teardown();
    const [file] = (await readdir(folder)).filter((name) => name.startsWith('temporal'));
    if (file === undefined) throw new Error('the download left no command');
    return path.join(folder, file);
  });
}

async function withDeadline<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

async function build(cacheFolder: string, cached: string, say: (line: string) => void): Promise<string> {
  await promisify(execFile)('go', ['version'], { timeout: VERSION_TIMEOUT_MS }).catch(() => {
    throw new Error('Go is not installed');
  });
  return inFreshFolder(cacheFolder, cached, async (folder) => {
    say(`Building the Temporal command ${VERSION} with Go (about three minutes, once) …`);
    await runWithProgress('go', ['install', GO_MODULE], { GOBIN: folder }, say);
    return path.join(folder, 'temporal');
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

/** Makes the command in a folder of its own and moves it into place, so that the cache never holds half of one. */
async function inFreshFolder(
  cacheFolder: string,
  cached: string,
  make: (folder: string) => Promise<string>,
): Promise<string> {
  await mkdir(cacheFolder, { recursive: true });
  const folder = await mkdtemp(path.join(cacheFolder, 'new-'));
  try {
    await rename(await usable(await make(folder)), cached);
    return cached;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
