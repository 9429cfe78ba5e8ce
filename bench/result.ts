import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const FOLDER = path.join(__dirname, 'results');

const rounded = (_: string, value: unknown) =>
  typeof value === 'number' ? Number(value.toPrecision(6)) : value;

/**
 * Keeps the raw figures of a run, in place of the last of its kind.
 *
 * @param kind the file's name
 */
export function keepResult(kind: string, result: object): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(path.join(FOLDER, `${kind}.json`), `${JSON.stringify(result, rounded)}\n`);
}
