import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { explained } from '../../src/cli/explain';
import { createProgram } from '../../src/cli/program';
import { installation } from './installation';

export interface CliRun {
  code: number | string;
  out: string;
  err: string;
}

/** The end of a command's process, as commander asks for it. */
class Exit extends Error {
  constructor(readonly code: number) {
    super(`exit code ${code}`);
  }
}

/** The commands share the environment and the output of this process: one runs at a time. */
let last: Promise<unknown> = Promise.resolve();

/**
 * `npx assent` in this process, which takes a twentieth of the time of a process of its own.
 * `test/cli/main.test.ts` has what only a process shows.
 *
 * @param environment the whole of it
 */
export function runAssent(words: string[], environment: NodeJS.ProcessEnv): Promise<CliRun> {
  const run = last.then(() => runAlone(words, environment));
  last = run;
  return run;
}

async function runAlone(words: string[], environment: NodeJS.ProcessEnv): Promise<CliRun> {
  const seen = { out: '', err: '' };
  const { exitCode, env, stdout, stderr } = process;
  const [outIsTTY, errIsTTY] = [stdout.isTTY, stderr.isTTY];
  const spies = [
    jest.spyOn(process, 'exit').mockImplementation((code) => {
      throw new Exit(Number(code ?? 0));
    }),
    jest.spyOn(stdout, 'write').mockImplementation((text) => {
      seen.out += String(text);
      return true;
    }),
    jest.spyOn(stderr, 'write').mockImplementation((text) => {
      seen.err += String(text);
      return true;
    }),
  ];
  process.env = environment;
  stdout.isTTY = false;
  stderr.isTTY = false;
  process.exitCode = 0;
  try {
    await createProgram(words[0]).parseAsync(words, { from: 'user' });
  } catch (error) {
    process.exitCode = error instanceof Exit ? error.code : 1;
    if (!(error instanceof Exit)) seen.err += `assent: ${explained(error)}\n`;
  }
  const code = process.exitCode;
  Object.assign(process, { env, exitCode });
  stdout.isTTY = outIsTTY;
  stderr.isTTY = errIsTTY;
  for (const spy of spies) spy.mockRestore();
  return { code, ...seen };
}

/**
 * `npx assent` on a database of the test's.
 *
 * @param database its `url` is read by each command: it may be made after this
 */
export function createCli(
  database: { readonly url: string },
  keys: string,
  more: Record<string, string> = {},
) {
  const { PATH, HOME } = process.env;
  const run = (...args: string[]) =>
    runAssent(args, {
      PATH,
      HOME,
      DATABASE_URL: database.url,
      ASSENT_KEYS: keys,
      ASSENT_MODE: 'sandbox',
      ...more,
    });

  return {
    run,
    /** The one object that a command prints with `--json`. */
    async json<Output = Record<string, string>>(...args: string[]): Promise<Output> {
      const { code, out, err } = await run(...args, '--json');
      if (code !== 0) throw new Error(err);
      return JSON.parse(out) as Output;
    },
  };
}

/** The same as a process of its own, from a folder in which no engine was ever started. */
export async function spawnAssent(args: string[], env: NodeJS.ProcessEnv, cwd = tmpdir()): Promise<CliRun> {
  const { assent } = await installation();
  return new Promise((resolve) => {
    execFile(assent, args, { cwd, env }, (error, out, err) => resolve({ code: error?.code ?? 0, out, err }));
  });
}
