import { readdir, symlink } from 'node:fs/promises';
import path from 'node:path';

const ROOT = path.join(__dirname, '../..');
/** What a run has left in the folder, and what is not part of it. */
const NOT_CHECKED_OUT = new Set(['.assent', '.git']);

/** Makes a folder one as after `git clone` and `npm ci`: npm and npx find there what is here. */
export async function linkCheckout(folder: string): Promise<void> {
  const names = (await readdir(ROOT)).filter((name) => !NOT_CHECKED_OUT.has(name));
  await Promise.all(names.map((name) => symlink(path.join(ROOT, name), path.join(folder, name))));
}
