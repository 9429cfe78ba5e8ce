import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { OperatorError } from '../domain/failures';

/**
 * Reads a secret from the environment, or typed on a terminal without echo. Never from the command
 * line, which every user of the machine can read.
 *
 * @param what in words, for the person asked
 * @throws OperatorError where there is neither
 */
export async function readSecret(
  environment: NodeJS.ProcessEnv,
  name: string,
  what: string,
): Promise<string> {
  const given = environment[name];
  if (given !== undefined && given !== '') return given;
  if (!process.stdin.isTTY)
    throw new OperatorError(`set ${name} to ${what}, or run it on a terminal to be asked`);
  process.stderr.write(`${what}: `);
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: unseen, terminal: true });
  try {
    return (await terminal.question('')).trim();
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
