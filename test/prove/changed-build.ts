import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { transform } from '@swc/core';
import { changed, type Change } from './mutations';

const ROOT = path.join(__dirname, '../..');
const run = promisify(execFile);

/**
 * Puts into a folder what was built last, with the changed files in place of theirs.
 *
 * @param root empty, and of nobody else
 */
export async function buildChanged(root: string, changes: readonly Change[]): Promise<void> {
  await cp(path.join(ROOT, 'dist'), path.join(root, 'dist'), { recursive: true });
  await cp(path.join(ROOT, 'package.json'), path.join(root, 'package.json'));
  await symlink(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'));
  for (const file of new Set(changes.map(([changedFile]) => changedFile))) {
    const source = changes
      .filter(([changedFile]) => changedFile === file)
      .reduce(changed, await readFile(path.join(ROOT, file), 'utf8'));
    const { code } = await transform(source, {
      filename: file,
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
      module: { type: 'commonjs' },
      configFile: false,
      swcrc: false,
    });
    await writeFile(path.join(root, 'dist', file.replace(/\.ts$/, '.js')), code);
  }
  await run(process.execPath, [path.join(root, 'dist/src/worker/bundle.js')]);
}
