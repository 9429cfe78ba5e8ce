import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { installation } from './installation';

export interface CliRun {
  code: number | string | null | undefined;
  out: string;
  err: string;
}

/** `npx assent` on a database of the test's, from a folder in which no engine was ever started. */
export function createCli(database: { url: string; keys: string; more?: Record<string, string> }) {
  const { PATH, HOME } = process.env;
  const env = {
    PATH,
    HOME,
    DATABASE_URL: database.url,
    ASSENT_KEYS: database.keys,
    ASSENT_MODE: 'sandbox',
    ...database.more,
  };

  async function runWith(input: string, args: string[]): Promise<CliRun> {
    const { assent } = await installation();
    return new Promise((resolve) => {
      const child = execFile(assent, args, { cwd: tmpdir(), env }, (error, out, err) =>
        resolve({ code: error ? error.code : 0, out, err }),
      );
      // One that has refused its settings reads nothing.
      child.stdin?.on('error', () => undefined).end(input);
    });
  }
  const run = (...args: string[]) => runWith('', args);

  return {
    run,
    /** The same with something on standard input. */
    runWith,
    /** The one object that a command prints with `--json`. */
    async json<Told = Record<string, string>>(...args: string[]): Promise<Told> {
      const { code, out, err } = await run(...args, '--json');
      if (code !== 0) throw new Error(err);
      return JSON.parse(out) as Told;
    },
  };
}
