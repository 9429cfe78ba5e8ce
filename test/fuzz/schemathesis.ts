import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Party } from './cast';
import { findPythonTool } from './python-tool';

const VERSION = '4.32.5';
export const findSchemathesis = async (say: (line: string) => void) =>
  path.join(await findPythonTool('schemathesis', VERSION, say), 'schemathesis');

/** Many times what one caller takes on two busy cores, with a hundred examples. */
const MAX_S = 1_800;

export type Counts = Record<string, Record<string, number>>;

export interface Outcome {
  /** Whether it found something, or could not go on. */
  failed: boolean;
  counts: Counts;
}

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
