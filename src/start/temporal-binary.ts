import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { withDeadline } from '../deadline';
import { buildWithGo, cacheFolder, inFreshFolder, usable, whyUnusable } from './built-program';
import { StartError } from './start-error';

/**
 * Finds the Temporal command, whose development server is the embedded Temporal, or brings it here.
 *
 * In order: the path that a setting gives, `temporal` on PATH, what an earlier run left in the
 * cache, the SDK's own download, and a build with Go where Go is installed.
 */

/** The newest version that `go install` can build as it stands. */
const VERSION = 'v1.5.1';
const GO_MODULE = `github.com/temporalio/cli/cmd/temporal@${VERSION}`;

/** Some 60 MB; a network that takes longer than this is better served by the error's advice. */
const DOWNLOAD_TIMEOUT_MS = 120_000;

/**
 * One way to come by the command. It throws, or says why not, in words for the list in the final
 * error.
 */
export interface Source {
  name: string;
  /** Path or name of a command that works. @throws Error saying why there is none here */
  find(): Promise<string>;
}

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
  return firstOf('the Temporal command', sources(cacheFolder(`temporal-${VERSION}`), say), INSTALL_ADVICE);
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

function sources(folder: string, say: (line: string) => void): Source[] {
  const cached = path.join(folder, 'temporal');
  return [
    { name: '`temporal` on PATH', find: () => usable('temporal') },
    { name: `the cache ${cached}`, find: () => usable(cached) },
    { name: "the Temporal SDK's download", find: () => download(cached, say) },
    { name: 'a build with Go', find: () => buildWithGo('the Temporal command', GO_MODULE, cached, say) },
  ];
}

/**
 * The SDK's test environment knows where to download from; it leaves the command in the folder it
 * is given.
 */
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
    const [file] = (await readdir(folder)).filter((name) => name.startsWith('temporal'));
    if (file === undefined) throw new Error('the download left no command');
    return path.join(folder, file);
  });
}
