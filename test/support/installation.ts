import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { oncePerRun } from './once-per-run';

/**
 * The engine as an installation has it: compiled, and with its workflows bundled. It is made once
 * for a run of jest, because a process started from source compiles all of that anew, which takes
 * longer than most tests. That it also starts from source is what the tests of `npm start` are for.
 */
export interface Installation {
  /** The folder of the programs: `api/main.js` and others. */
  programs: string;
  /** `npx assent` */
  assent: string;
  /** The workflows, bundled. */
  workflows: string;
}

const ROOT = path.join(__dirname, '../..');
const run = promisify(execFile);

let known: Promise<Installation> | undefined;

export function installation(): Promise<Installation> {
  return (known ??= oncePerRun('installation', install));
}

/** @returns the file to give to `node` */
export async function programOf(name: 'api' | 'worker' | 'cli'): Promise<string> {
  return path.join((await installation()).programs, name, 'main.js');
}

/**
 * Makes a folder one in which `npx assent` is found, as in a checkout.
 *
 * @returns the `PATH` with a stand-in for npx in it, which does what npx does with a program of the
 *   folder: npx itself is npm's, and takes longer than most commands
 */
export async function linkProgram(folder: string): Promise<string> {
  const programs = path.join(folder, 'node_modules/.bin');
  const standIn = path.join(folder, 'node_modules/.stand-in');
  await Promise.all([programs, standIn].map((made) => mkdir(made, { recursive: true })));
  const { assent } = await installation();
  await symlink(assent, path.join(programs, 'assent'));
  const npx = path.join(standIn, 'npx');
  await writeFile(npx, '#!/bin/sh\nprogram=$1; shift\nexec "node_modules/.bin/$program" "$@"\n');
  await chmod(npx, 0o755);
  return `${standIn}${path.delimiter}${process.env['PATH']}`;
}

async function install(folder: string): Promise<Installation> {
  const programs = path.join(folder, 'dist/src');
  const built = path.join(folder, 'dist');
  await Promise.all([
    symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules')),
    ...['package.json', 'bin'].map((name) =>
      cp(path.join(ROOT, name), path.join(folder, name), { recursive: true }),
    ),
    run(process.execPath, ['--import', 'tsx', 'packages/pages/src/build.ts', built], { cwd: ROOT }),
    // `npm run build` without its look at the types, which `npm run check` has: a test may be run
    // before all of them fit.
    ...['tsconfig.build.json', 'packages/conformance', 'packages/sandbox'].map((project) =>
      run(process.execPath, [
        path.join(ROOT, 'node_modules/.bin/tsc'),
        '--project',
        path.join(ROOT, project),
        '--noCheck',
        '--outDir',
        built,
      ]),
    ),
  ]);
  await run(process.execPath, [path.join(programs, 'worker/bundle.js')]);
  return {
    programs,
    assent: path.join(folder, 'bin/assent.js'),
    workflows: path.join(folder, 'dist/workflows.js'),
  };
}
