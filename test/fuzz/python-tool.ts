import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { OperatorError } from '../../src/domain/failures';
import { cacheFolder, usable } from '../../src/start/temporal-binary';

const INSTALL_WITHIN_MS = 5 * 60_000;

const run = promisify(execFile);

/**
 * A command of a PyPI package, out of a virtual environment in the user's cache, which the first
 * run makes.
 *
 * @returns the folder of the commands
 * @throws OperatorError saying what to install
 */
export async function findPythonTool(
  name: string,
  version: string,
  say: (line: string) => void,
): Promise<string> {
  const folder = cacheFolder(`${name}-${version}`);
  const commands = path.join(folder, 'bin');
  const works = () => usable(path.join(commands, name)).then(() => commands);
  try {
    return await works();
  } catch {
    say(`Installing ${name} ${version} from PyPI into ${folder} (once) …`);
  }
  await mkdir(path.dirname(folder), { recursive: true });
  try {
    // In place, for a virtual environment cannot be moved; half of one does not answer and is made
    // anew.
    await run('python3', ['-m', 'venv', '--clear', folder], { timeout: INSTALL_WITHIN_MS });
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `${name}==${version}`];
    await run(path.join(commands, 'python'), pip, { timeout: INSTALL_WITHIN_MS });
    return await works();
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new OperatorError(
      `${name} ${version} could not be installed: ${(stderr || message).trim().slice(-500)}\n` +
        'It needs Python 3.11 or newer as `python3`, with its venv module, and PyPI.',
    );
  }
}
