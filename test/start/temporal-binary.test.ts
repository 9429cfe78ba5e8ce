import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installation } from '../support/installation';

/**
 * A machine with nothing but what a test puts on it: its PATH and its home are folders of the test.
 */
interface Machine {
  bin: string;
  cached: string;
  /** Puts a shell script there that runs as a program. */
  program(file: string, script: string): Promise<string>;
  find(cliPath?: string): Promise<{ found: string; error: string; lines: string[] }>;
}

let machine: Machine;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'assent-ladder-'));
  machine = await bareMachine(folder);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('findTemporal', () => {
  it('takes the command that TEMPORAL_CLI_PATH names, then the one on PATH, then that of an earlier run, and builds last', async () => {
    const onPath = path.join(machine.bin, 'temporal');
    await machine.program(onPath, 'exit 0');
    const named = await machine.program(path.join(folder, 'my-temporal'), 'exit 0');
    await machine.program(machine.cached, 'exit 0');
    await machine.program(path.join(machine.bin, 'go'), BUILDS);
    expect(await machine.find(named)).toMatchObject({ found: named });
    expect(await machine.find()).toMatchObject({ found: 'temporal', lines: [] });
    // One that does not work is passed over.
    await machine.program(onPath, 'exit 3');
    expect(await machine.find()).toMatchObject({ found: machine.cached, lines: [] });
  });

  it.each([
    ['is not there', undefined, 'not found'],
    ['is no Temporal command', 'exit 3', 'does not answer --version'],
  ])('stops at once when the TEMPORAL_CLI_PATH %s, though another would do', async (_, script, why) => {
    await machine.program(path.join(machine.bin, 'temporal'), 'exit 0');
    const named = path.join(folder, 'my-temporal');
    if (script !== undefined) await machine.program(named, script);
    const { found, error } = await machine.find(named);
    expect(found).toBe('');
    // A OperatorError is shown to the operator without a stack.
    expect(error).toMatch(/^OperatorError: /);
    expect(error).toContain(`TEMPORAL_CLI_PATH: ${named}: ${why}`);
  });

  it('says why the download failed and then builds one with Go, into the cache for the next run', async () => {
    await machine.program(path.join(machine.bin, 'go'), BUILDS);
    const first = await machine.find();
    expect(first).toMatchObject({ found: machine.cached });
    expect(first.lines).toEqual([
      expect.stringMatching(/^Downloading /),
      expect.stringMatching(/^The download failed: .+/),
      expect.stringMatching(/^Building /),
    ]);
    expect(await machine.find()).toMatchObject({ found: machine.cached, lines: [] });
  });

  it.each([
    ['that failed half-way', () => BREAKS_HALF_WAY, 'out of disk space'],
    ['that does not run', () => BUILDS_ANOTHER_ARCHITECTURE, 'a build with Go: does not answer --version'],
  ])('keeps nothing of a build %s', async (_, go, why) => {
    await machine.program(path.join(machine.bin, 'go'), go());
    expect((await machine.find()).error).toContain(why);
    expect(await readdir(path.dirname(machine.cached))).toEqual([]);
  });

  it('says on a bare machine all that it tried, and what to install', async () => {
    const { error } = await machine.find();
    const tried = error.split('\n').filter((line) => line.startsWith('  - '));
    expect(tried).toEqual([
      '  - `temporal` on PATH: not found',
      `  - the cache ${machine.cached}: not found`,
      expect.stringMatching(/^ {2}- the Temporal SDK's download: ./),
      '  - a build with Go: Go is not installed',
    ]);
    expect(error).toMatch(/^OperatorError: Found no way to get/);
    expect(error).toMatch(/Install .*Temporal CLI.* or Go .*TEMPORAL_CLI_PATH.*TEMPORAL_ADDRESS/);
  });
});

/** Does at once what `go install` does: it leaves a program in GOBIN. */
const BUILDS = `
  [ "$1" = install ] || exit 0
  printf '#!/bin/sh\\nexit 0\\n' > "$GOBIN/temporal"
  chmod +x "$GOBIN/temporal"`;

const BREAKS_HALF_WAY = `
  [ "$1" = install ] || exit 0
  printf 'half' > "$GOBIN/temporal"
  echo 'out of disk space' >&2
  exit 1`;

const BUILDS_ANOTHER_ARCHITECTURE = `
  [ "$1" = install ] || exit 0
  printf '#!/bin/sh\\nexit 126\\n' > "$GOBIN/temporal"
  chmod +x "$GOBIN/temporal"`;

/**
 * The search runs as a process of its own, as PATH and home are a process's. Its downloads go to a
 * proxy that refuses them, so that no test depends on a network.
 */
async function bareMachine(place: string): Promise<Machine> {
  const bin = path.join(place, 'bin');
  await mkdir(bin);
  // The scripts and the build need these of a system, and no more: /usr/bin may well hold Go.
  for (const program of ['/usr/bin/env', '/bin/chmod']) {
    await symlink(program, path.join(bin, path.basename(program)));
  }
  const { programs } = await installation();
  const script = `
    const { findTemporal } = require('./start/temporal-binary.js');
    const say = (line) => process.stderr.write(line + '\\n');
    findTemporal({ cliPath: process.argv[1], say }).then(
      (found) => process.stdout.write(JSON.stringify({ found, error: '' })),
      (error) => process.stdout.write(JSON.stringify({ found: '', error: String(error) })),
    );`;
  return {
    bin,
    cached: path.join(place, '.cache/assent/temporal-v1.5.1/temporal'),
    async program(file, text) {
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, `#!/bin/sh\n${text}\n`);
      await chmod(file, 0o755);
      return file;
    },
    find: (cliPath) =>
      new Promise((resolve, reject) => {
        const args = ['--eval', script, ...(cliPath === undefined ? [] : [cliPath])];
        const environment = { PATH: bin, HOME: place, HTTPS_PROXY: 'http://127.0.0.1:9', TMPDIR: place };
        execFile(process.execPath, args, { cwd: programs, env: environment }, (error, stdout, stderr) => {
          if (error) return reject(error);
          const lines = stderr.split('\n').filter((line) => line !== '');
          return resolve({ ...(JSON.parse(stdout) as { found: string; error: string }), lines });
        });
      }),
  };
}
