import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * Set by jest's global set-up: the folder of this run, which is made by who first needs it, and
 * gone when the run is.
 */
export const FOLDER_VARIABLE = 'ASSENT_TEST_FOLDER';

/** The start of the servers takes longest, which may have to be built first. */
const MADE_WITHIN_MS = 15 * 60_000;

export function runFolder(): string {
  const folder = process.env[FOLDER_VARIABLE];
  if (folder === undefined) throw new Error(`${FOLDER_VARIABLE} is not set: run the tests with jest`);
  return folder;
}

/**
 * Has something made once for a whole run of jest: by the test file that asks first, while the
 * others wait for it, so that a run that does not need it does not make it.
 *
 * @param make is given a folder of its own; what it returns is handed to the others as JSON
 */
export async function oncePerRun<Made>(name: string, make: (folder: string) => Promise<Made>): Promise<Made> {
  const folder = path.join(runFolder(), name);
  const [made, failed] = [`${folder}.json`, `${folder}.failed`];
  if (!(await isFirst(folder))) {
    const deadline = Date.now() + MADE_WITHIN_MS;
    for (;;) {
      const written = await readFile(made, 'utf8').catch(() => undefined);
      if (written !== undefined) return JSON.parse(written) as Made;
      const problem = await readFile(failed, 'utf8').catch(() => undefined);
      if (problem !== undefined || Date.now() > deadline)
        throw new Error(
          `${name}, which the tests share, could not be made: ${problem ?? 'it takes too long'}`,
        );
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  try {
    const result = await make(folder);
    // In one step, so that nobody reads half of it.
    await writeFile(`${made}.new`, JSON.stringify(result));
    await rename(`${made}.new`, made);
    return result;
  } catch (error) {
    await writeFile(failed, String(error));
    throw error;
  }
}

/** The caller that makes the folder is the first of all that ask at once. */
async function isFirst(folder: string): Promise<boolean> {
  await mkdir(path.dirname(folder), { recursive: true });
  // As root, Postgres runs as a user of its own, who must get through to its data.
  await chmod(path.dirname(folder), 0o711);
  return mkdir(folder).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return false;
    },
  );
}
