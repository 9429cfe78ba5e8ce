import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { withDeadline } from '../process/deadline';
import { OperatorError } from '../domain/failures';

/*
 * Finds or installs the Temporal command, whose development server is the embedded Temporal. The
 * user's cache keeps the command for all checkouts.
 */

/** The newest version that `go install` can build unchanged. */
const VERSION = 'v1.5.1';
const GO_MODULE = `github.com/temporalio/cli/cmd/temporal@${VERSION}`;

/** About 60 MB. A slower network is better served by the error's advice. */
const DOWNLOAD_TIMEOUT_MS = 120_000;
/** About three minutes on two idle cores, and fifteen on busy ones. */
const BUILD_TIMEOUT_MS = 45 * 60_000;
/** A program answers `--version` in well under a second, except on a very busy machine. */
const VERSION_TIMEOUT_MS = 15_000;

const run = promisify(execFile);

/** A way to get a command. */
export interface Source {
  name: string;
  /** @returns path or name of a working command @throws Error with the reason if there is none */
  find(): Promise<string>;
}

/**
 * @param cliPath the setting TEMPORAL_CLI_PATH; it rules out all other sources
 * @param say prints a line of progress
 * @throws OperatorError with all failed sources and a remedy
 */
export async function findTemporal(options: {
  cliPath: string | undefined;
  say: (line: string) => void;
}): Promise<string> {
  const { cliPath, say } = options;
  const cached = path.join(cacheFolder(`temporal-${VERSION}`), 'temporal');
  const sources: Source[] = [
    { name: '`temporal` on PATH', find: () => usable('temporal') },
    { name: `the cache ${cached}`, find: () => usable(cached) },
    { name: "the Temporal SDK's download", find: () => download(cached, say) },
    { name: 'a build with Go', find: () => buildWithGo('the Temporal command', GO_MODULE, cached, say) },
  ];
  return firstOf(
    'the Temporal command',
    cliPath === undefined
      ? sources
      : [{ name: `TEMPORAL_CLI_PATH: ${cliPath}`, find: () => usable(cliPath) }],
    'Install the Temporal CLI (https://docs.temporal.io/cli) or Go (https://go.dev/dl), or set ' +
      'TEMPORAL_CLI_PATH to a temporal command, or TEMPORAL_ADDRESS to a running server.',
  );
}

/** @throws OperatorError with the reason of each failed source */
export async function firstOf(what: string, candidates: Source[], advice: string): Promise<string> {
  const tried: string[] = [];
  for (const source of candidates) {
    try {
      return await source.find();
    } catch (error) {
      tried.push(`  - ${source.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new OperatorError(`Found no way to get ${what}. Tried:\n${tried.join('\n')}\n${advice}`);
}

/** @param name with the version, since versions of a program lie side by side */
export function cacheFolder(name: string): string {
  return path.join(homedir(), '.cache', 'assent', name);
}

/** @returns the command @throws Error with the reason if the command does not work */
export async function usable(command: string): Promise<string> {
  await run(command, ['--version'], { timeout: VERSION_TIMEOUT_MS }).catch(({ code }: { code?: unknown }) => {
    throw new Error(code === 'ENOENT' ? 'not found' : `does not answer --version (${String(code)})`);
  });
  return command;
}

/** The SDK's test environment knows the download's address, and leaves the command in a folder. */
async function download(cached: string, say: (line: string) => void): Promise<string> {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  return inFreshFolder(cached, async (folder) => {
    say('Downloading the Temporal command (about 60 MB, once) …');
    const started = TestWorkflowEnvironment.createLocal({
      server: { executable: { type: 'cached-download', downloadDir: folder } },
    });
    const environment = await withDeadline(started, DOWNLOAD_TIMEOUT_MS, () => {
      throw new Error(`not done within ${DOWNLOAD_TIMEOUT_MS / 1000} s`);
    });
    await environment.teardown();
  }).catch((error: unknown) => {
    say(`The download failed: ${error instanceof Error ? error.message : String(error)}`);
    throw error;
  });
}

/**
 * Builds a program with `go install`.
 *
 * @param module with its version
 * @throws Error if Go is missing; else with the end of the build's output
 */
export async function buildWithGo(
  what: string,
  module: string,
  cached: string,
  say: (line: string) => void,
): Promise<string> {
  await run('go', ['version'], { timeout: VERSION_TIMEOUT_MS }).catch(() => {
    throw new Error('Go is not installed');
  });
  return inFreshFolder(cached, async (folder) => {
    say(`Building ${what} ${module.split('@')[1]} with Go (three minutes or more, once) …`);
    // `env` adds to the inherited environment, so this module need not read `process.env`.
    await run('env', [`GOBIN=${folder}`, 'go', 'install', module], { timeout: BUILD_TIMEOUT_MS }).catch(
      ({ stderr, message }: Error & { stderr?: string }) => {
        throw new Error(`\`go install ${module}\` failed: ${(stderr || message).trim().slice(-300)}`);
      },
    );
  });
}

/** Moves the program that `make` leaves into the cache once it works, never half a program. */
async function inFreshFolder(cached: string, make: (folder: string) => Promise<void>): Promise<string> {
  await mkdir(path.dirname(cached), { recursive: true });
  const folder = await mkdtemp(path.join(path.dirname(cached), 'new-'));
  try {
    await make(folder);
    const [program = ''] = await readdir(folder);
    await rename(await usable(path.join(folder, program)), cached);
    return cached;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
