import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Has docker-compose.yml read by the Compose project's own parser, for which no Docker is needed:
 * compose-go's command, built with Go once and kept under node_modules.
 *
 * The parser knows the format, but not whether a name stands for anything; that is looked at here.
 * It reads the file without filling in variables, so no secret has to be set for it.
 */

const COMPOSE_GO = 'v2.16.2';
const root = join(__dirname, '..');
const folder = join(root, 'node_modules/.cache/compose-go', COMPOSE_GO);
const parser = join(folder, 'cmd');
/**
 * A first build downloads a dozen small modules; where it takes longer, a registry does not answer.
 */
const BUILD_TIMEOUT_MS = 300_000;

interface Service {
  depends_on?: Record<string, unknown>;
  configs?: { source: string }[];
  volumes?: { type: string; source: string }[];
}

interface Model {
  services: Record<string, Service>;
  configs?: Record<string, unknown>;
  volumes?: Record<string, unknown>;
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function run(command: string, args: string[], environment: NodeJS.ProcessEnv = process.env): string {
  const ran = spawnSync(command, args, {
    cwd: root,
    env: environment,
    encoding: 'utf8',
    timeout: BUILD_TIMEOUT_MS,
  });
  if (ran.status !== 0) fail(`${command} ${args.join(' ')}: ${ran.error?.message ?? ran.stderr}`);
  return ran.stdout;
}

if (!existsSync(parser)) {
  if (spawnSync('go', ['version']).status !== 0) {
    fail('The Compose parser is built with Go, and there is no `go` here: install Go 1.24 or newer.');
  }
  mkdirSync(folder, { recursive: true });
  run('go', ['install', `github.com/compose-spec/compose-go/v2/cmd@${COMPOSE_GO}`], {
    ...process.env,
    GOBIN: folder,
  });
}

const file = process.argv[2] ?? 'docker-compose.yml';
const model = JSON.parse(run(parser, ['-no-interpolation', '-format', 'json', file])) as Model;

const problems = Object.entries(model.services).flatMap(([name, service]) => [
  ...Object.keys(service.depends_on ?? {})
    .filter((other) => !(other in model.services))
    .map((other) => `${name} depends on "${other}", which is no service`),
  ...(service.configs ?? [])
    .filter(({ source }) => !(source in (model.configs ?? {})))
    .map(({ source }) => `${name} reads the config "${source}", which is nowhere`),
  ...(service.volumes ?? [])
    .filter(({ type, source }) => type === 'volume' && !(source in (model.volumes ?? {})))
    .map(({ source }) => `${name} mounts the volume "${source}", which is nowhere`),
]);
if (problems.length > 0) fail(`${file}:\n${problems.join('\n')}`);
process.stdout.write(`${file}: ${Object.keys(model.services).length} services, accepted\n`);
