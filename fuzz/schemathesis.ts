import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, usable } from '../src/start/built-program';
import { StartError } from '../src/start/start-error';
import type { Party } from './cast';

const VERSION = '4.32.5';
/** Some 40 packages, none of them large. */
const INSTALL_WITHIN_MS = 5 * 60_000;

const run = promisify(execFile);

/**
 * The command, out of a virtual environment in the user's cache, which the first run makes.
 *
 * @throws StartError saying what to install
 */
export async function findSchemathesis(say: (line: string) => void): Promise<string> {
  const folder = cacheFolder(`schemathesis-${VERSION}`);
  const command = path.join(folder, 'bin', 'schemathesis');
  try {
    return await usable(command);
  } catch {
    say(`Installing schemathesis ${VERSION} from PyPI into ${folder} (once) …`);
  }
  await mkdir(path.dirname(folder), { recursive: true });
  try {
    // In place, for a virtual environment cannot be moved; half of one does not answer and is made
    // anew.
    await run('python3', ['-m', 'venv', '--clear', folder], { timeout: INSTALL_WITHIN_MS });
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      `schemathesis==${VERSION}`,
    ];
    await run(path.join(folder, 'bin', 'python'), pip, { timeout: INSTALL_WITHIN_MS });
    return await usable(command);
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new StartError(
      `schemathesis ${VERSION} could not be installed: ${(stderr || message).trim().slice(-500)}\n` +
        'It needs Python 3.10 or newer as `python3`, with its venv module, and PyPI.',
    );
  }
}

/** Of one caller, with a hundred examples: many times what it takes on two busy cores. */
const MAX_S = 1_800;

/** How often each operation answered with each status, by its id. */
export type Counts = Record<string, Record<string, number>>;

export interface Outcome {
  /** Whether it found something, or could not go on. */
  failed: boolean;
  counts: Counts;
}

/** Runs it on the operations that the party may call, and shows what it says. */
export async function fuzz(
  command: string,
  apiUrl: string,
  party: Party,
  operations: string[],
  {
    seed,
    examples,
    environment,
    signal,
  }: { seed: number; examples: number; environment: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<Outcome> {
  const folder = await mkdtemp(path.join(tmpdir(), 'assent-fuzz-'));
  const countsFile = path.join(folder, 'counts.json');
  try {
    const child = spawn(
      command,
      [
        '--config-file',
        path.join(__dirname, 'schemathesis.toml'),
        'run',
        `${apiUrl}/openapi.json`,
        '--no-color',
        '--checks=all',
        `--max-examples=${examples}`,
        `--seed=${seed}`,
        '--generation-database=none',
        ...operations.map((id) => `--include-operation-id=${id}`),
      ],
      {
        cwd: folder,
        env: {
          PATH: environment['PATH'],
          HOME: environment['HOME'],
          PYTHONPATH: __dirname,
          PYTHONDONTWRITEBYTECODE: '1',
          FUZZ_HOOKS: 'hooks',
          FUZZ_TOKEN: party.token ?? 'none',
          FUZZ_ROLE: party.role ?? '',
          FUZZ_SEEDS: JSON.stringify(party.seeds),
          FUZZ_COUNTS: countsFile,
        },
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    );
    const giveUp = () => child.kill('SIGKILL');
    process.once('exit', giveUp);
    signal.addEventListener('abort', giveUp);
    const deadline = setTimeout(giveUp, MAX_S * 1000);
    const [code] = (await once(child, 'exit')) as [number | null];
    clearTimeout(deadline);
    signal.removeEventListener('abort', giveUp);
    process.off('exit', giveUp);
    signal.throwIfAborted();
    const counts = await readFile(countsFile, 'utf8').catch(() => '{}');
    return { failed: code !== 0, counts: JSON.parse(counts) as Counts };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
