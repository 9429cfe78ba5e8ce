import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { transform } from '@swc/core';
import { changed, MUTATIONS, type Mutation } from './mutations';
import { iso } from './oracle/both';
import { makePlan, startYearFrom } from './make-plan';
import { prove } from './years';

/** Some years on one faulty engine after the other: whether the proof finds what is wrong. */

const ROOT = path.join(__dirname, '..');
const run = promisify(execFile);

export interface Verdict {
  name: string;
  /** The first difference; undefined where none was found. */
  found: string | undefined;
}

/** So few that all of the faults are tried in half an hour. */
const BILLINGS = 30;

/** @param only part of the name of those that are tried */
export async function proveMutants(
  only: string,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const mutation of MUTATIONS.filter(({ name }) => name.includes(only))) {
    say(`\n${mutation.name}:`);
    const root = await mkdtemp(path.join(tmpdir(), 'assent-mutant-'));
    try {
      await build(root, mutation);
      const plan = makePlan(mutation.seed, BILLINGS, startYearFrom(new Date()));
      const proof = await prove(plan, { calm: true, root, keep: false }, () => undefined, signal);
      const [first] = proof.differences;
      const found = first ? `${iso(first.at)} ${first.who}: ${first.what}` : proof.books[0];
      say(found ?? 'NOT FOUND');
      verdicts.push({ name: mutation.name, found });
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  }
  return verdicts;
}

/** What was built last, with the changed files in place of theirs. */
async function build(root: string, { changes }: Mutation): Promise<void> {
  await cp(path.join(ROOT, 'dist'), path.join(root, 'dist'), { recursive: true });
  await cp(path.join(ROOT, 'package.json'), path.join(root, 'package.json'));
  await symlink(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'));
  for (const file of new Set(changes.map((one) => one.file))) {
    const source = changes
      .filter((one) => one.file === file)
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
