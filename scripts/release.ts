import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validate } from 'dockerfile-utils';

/**
 * `npm run release`: makes in `release/` what a release publishes, and publishes nothing: the
 * packages of engine and client, the list of what the engine depends on, and a checksum of each.
 * Then it installs both packages in an empty folder, starts the engine there and plays the main
 * job against it. The image is built elsewhere; its Dockerfile is checked here.
 */

const ROOT = join(__dirname, '..');
const OUT = join(ROOT, 'release');
/** Postgres is initialised and Temporal may be built, as at any first start. */
const READY_WITHIN_MS = 600_000;

class ReleaseError extends Error {}

async function main(): Promise<void> {
  const version = versionOfAll();
  checkDockerfile();
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT);
  npm(['run', '--silent', 'build'], ROOT);
  npm(
    [
      'pack',
      '--silent',
      '--pack-destination',
      OUT,
      '--workspace',
      '@assent/client',
      '--include-workspace-root',
    ],
    ROOT,
  );
  writeFileSync(join(OUT, `assent-${version}.cdx.json`), npm(['run', '--silent', 'sbom'], ROOT));
  const made = readdirSync(OUT).sort();
  writeFileSync(join(OUT, 'SHA256SUMS'), made.map((file) => `${sha256Of(file)}  ${file}\n`).join(''));
  await playInstalled(made.filter((file) => file.endsWith('.tgz')));
  say(`release/ has ${[...made, 'SHA256SUMS'].join(', ')}`);
}

/** @throws ReleaseError where engine, client and changelog differ */
function versionOfAll(): string {
  const versionIn = (file: string) =>
    (JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as { version: string }).version;
  const version = versionIn('package.json');
  const client = versionIn('packages/client/package.json');
  if (client !== version)
    throw new ReleaseError(`the client is ${client}, the engine ${version}: set one version`);
  if (!readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').includes(`## [${version}]`)) {
    throw new ReleaseError(`CHANGELOG.md has no "## [${version}]": write what the release brings`);
  }
  return version;
}

/** @throws ReleaseError naming each line that a builder would refuse, and each missing file */
function checkDockerfile(): void {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const faults = validate(text).map(
    ({ range, message }) =>
      `line ${range.start.line + 1}: ${typeof message === 'string' ? message : message.value}`,
  );
  const copied = text
    .split('\n')
    .flatMap((line) => /^COPY (?!--from)(.+) \S+$/.exec(line)?.[1]?.split(' ') ?? []);
  const isThere = (file: string) =>
    file.startsWith('*')
      ? readdirSync(ROOT).some((name) => name.endsWith(file.slice(1)))
      : existsSync(join(ROOT, file));
  const missing = copied.filter((file) => !isThere(file)).map((file) => `${file} is not there`);
  const all = [...faults, ...missing];
  if (all.length > 0) throw new ReleaseError(`Dockerfile: ${all.join('; ')}`);
}

function sha256Of(file: string): string {
  return createHash('sha256')
    .update(readFileSync(join(OUT, file)))
    .digest('hex');
}

async function playInstalled(packages: string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assent-release-'));
  // Postgres does not run as root: the user that it runs as then must get through to its data.
  chmodSync(folder, 0o711);
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    npm(['install', '--no-audit', '--no-fund', ...packages.map((file) => join(OUT, file))], folder);
    say('installed in an empty folder');
    await playIn(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws ReleaseError where the engine does not start; the story's error where it fails */
async function playIn(folder: string): Promise<void> {
  const engine = spawn(join(folder, 'node_modules/.bin/assent'), ['start'], {
    cwd: folder,
    env: { ...process.env, PORT_OFFSET: process.env['PORT_OFFSET'] ?? '700' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(engine, 'exit');
  try {
    await isReady(engine.stdout, ended);
    say('started there');
    execFileSync(
      process.execPath,
      ['--import', require.resolve('tsx'), join(ROOT, 'examples/demo/main.ts')],
      {
        cwd: folder,
        stdio: 'inherit',
      },
    );
  } finally {
    engine.kill('SIGINT');
    await ended;
  }
}

async function isReady(output: NodeJS.ReadableStream, ended: Promise<unknown>): Promise<void> {
  const signal = AbortSignal.timeout(READY_WITHIN_MS);
  let told = '';
  const ready = new Promise<void>((resolve, reject) => {
    output.on('data', (chunk: Buffer) => {
      told += chunk.toString();
      if (told.includes('Assent is ready.')) resolve();
    });
    signal.addEventListener('abort', () => reject(new ReleaseError(`not ready in time:\n${told}`)));
  });
  await Promise.race([
    ready,
    ended.then(() => {
      throw new ReleaseError(`the engine ended before it was ready:\n${told}`);
    }),
  ]);
}

function npm(args: string[], cwd: string): string {
  return execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 << 20,
  });
}

const say = (line: string) => process.stdout.write(`release: ${line}\n`);

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof ReleaseError ? `release: ${error.message}` : String(error)}\n`);
  process.exitCode = 1;
});
