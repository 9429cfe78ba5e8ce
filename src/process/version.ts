import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** From package.json beside `src`, or in a build beside `dist`. */
export const VERSION = readVersion();

function readVersion(): string {
  const file = ['../../package.json', '../../../package.json']
    .map((path) => join(__dirname, path))
    .find((path) => existsSync(path));
  if (file === undefined) throw new Error('package.json is not where it belongs');
  return String((JSON.parse(readFileSync(file, 'utf8')) as { version: unknown }).version);
}
