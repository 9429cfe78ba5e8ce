import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ASSENT = join(__dirname, '../../bin/assent.js');

export interface CliRun {
  code: number | string | null | undefined;
  out: string;
  err: string;
}

/** `npx assent` on a database of the test's, from a folder in which no engine was ever started. */
export function createCli(database: { url: string; keys: string }) {
  const { PATH, HOME } = process.env;
  const env = {
    PATH,
    HOME,
    DATABASE_URL: database.url,
    ASSENT_KEYS: database.keys,
    ASSENT_MODE: 'sandbox',
  };

  function run(...args: string[]): Promise<CliRun> {
    return new Promise((resolve) => {
      execFile(ASSENT, args, { cwd: tmpdir(), env }, (error, out, err) =>
        resolve({ code: error ? error.code : 0, out, err }),
      );
    });
  }

  return {
    run,
    /** The one object that a command prints with `--json`. */
    async json<Told = Record<string, string>>(...args: string[]): Promise<Told> {
      const { code, out, err } = await run(...args, '--json');
      if (code !== 0) throw new Error(err);
      return JSON.parse(out) as Told;
    },
  };
}
