import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { engineEnvironment } from '../launch/settings';
import { ownEngine } from '../launch/own-engine';
import { Operator } from '../parties/operator';
import { runCommand, type Stops } from '../../scripts/command';
import { OperatorError } from '../../src/domain/failures';
import { findPythonTool } from './python-tool';

/**
 * `npm run fuzz:client`: clients that generators make from `/openapi.json`, in Go and in Python,
 * play the main job. It fails where a generator, or Java's, leaves an operation out, or says
 * anything else against the document.
 */

const PYTHON = { generator: 'openapi-python-client', version: '0.29.1' };
const GO = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const JAVA = { artifact: 'org.openapitools:openapi-generator-cli', version: '7.25.0' };
/** The first run fetches and compiles a generator; a client in Go has 70 000 lines to compile. */
const MADE_WITHIN_MS = 10 * 60_000;
const PLAY_WITHIN_MS = 10 * 60_000;
const OUTPUT_BYTES_MAX = 16 << 20;

const run = promisify(execFile);
const say = (line: string) => void process.stdout.write(`${line}\n`);

interface Making {
  document: string;
  /** Empty, and the maker's own. */
  folder: string;
  signal: AbortSignal;
}

/** How the play begins, with the folder's client. */
interface Play {
  command: [program: string, ...args: string[]];
  cwd: string;
  environment?: Record<string, string>;
}

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const environment = engineEnvironment();
  const engine = await ownEngine(environment, say, signal);
  stops.push(() => engine.stop());
  const folder = await mkdtemp(path.join(tmpdir(), 'assent-client-'));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  const operator = new Operator(engine.folder, environment);
  const document = `${engine.apiUrl}/openapi.json`;
  for (const [language, make] of Object.entries({ Python: python, Go: go, Java: java })) {
    const own = path.join(folder, language);
    await mkdir(own);
    const play = await make({ document, folder: own, signal });
    if (!play) continue;
    say(`${language}: the generator takes all of the document.`);
    const bank = await operator.createEntity('bank', `${language} Bank`);
    const provider = await operator.createEntity('provider', `${language} Payments`);
    const [program, ...args] = play.command;
    const { stdout } = await run(program, args, {
      cwd: play.cwd,
      env: {
        ...environment,
        ...play.environment,
        API_URL: engine.apiUrl,
        BANK: JSON.stringify(bank),
        PROVIDER: JSON.stringify(provider),
      },
      timeout: PLAY_WITHIN_MS,
      signal,
    });
    say(stdout.trim().replaceAll(/^/gm, `${language}: `));
  }
  return true;
}

async function python({ document, folder, signal }: Making): Promise<Play> {
  const commands = await findPythonTool(PYTHON.generator, PYTHON.version, say);
  const settings = path.join(folder, 'settings.json');
  // Its own hooks ask for a formatter.
  await writeFile(settings, JSON.stringify({ post_hooks: [] }));
  const said = await output(
    path.join(commands, PYTHON.generator),
    [
      'generate',
      `--url=${document}`,
      `--config=${settings}`,
      '--meta=none',
      `--output-path=${path.join(folder, 'assent_client')}`,
    ],
    folder,
    signal,
  );
  const warnings = said.match(/^(?:WARNING|ERROR) /gm) ?? [];
  // It sends a bank's file as bytes, and says so of the other types of the same body.
  const expected = said.match(/^Unsupported content type (text\/csv|application\/xml)$/gm) ?? [];
  if (warnings.length !== expected.length || said.includes('will not be generated'))
    throw new OperatorError(said.trim());
  return {
    command: [path.join(commands, 'python'), path.join(__dirname, 'play.py')],
    cwd: folder,
    environment: { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
  };
}

async function go({ document, folder, signal }: Making): Promise<Play> {
  await cp(path.join(__dirname, 'go'), folder, { recursive: true });
  await mkdir(path.join(folder, 'client'));
  const said = await output('go', ['run', GO, '-config', 'codegen.yaml', document], folder, signal);
  // What it had to download is no fault.
  const faults = said.split('\n').filter((line) => line !== '' && !line.startsWith('go: downloading'));
  if (faults.length > 0) throw new OperatorError(faults.join('\n'));
  await output('go', ['build', '-o', 'play', '.'], folder, signal);
  return { command: [path.join(folder, 'play')], cwd: folder };
}

/** Where Maven is there; no play waits for the client, which takes minutes to compile. */
async function java({ document, folder, signal }: Making): Promise<undefined> {
  const isThere = await run('mvn', ['--version'], { signal }).catch(() => undefined);
  if (!isThere) {
    say('Java: left out, for its generator is fetched with `mvn`, which is not here.');
    return undefined;
  }
  const copy = [
    '-q',
    'dependency:copy',
    `-Dartifact=${JAVA.artifact}:${JAVA.version}`,
    '-DoutputDirectory=.',
  ];
  await output('mvn', copy, folder, signal);
  const jar = `openapi-generator-cli-${JAVA.version}.jar`;
  const said = await output(
    'java',
    ['-jar', jar, 'generate', '-g', 'java', '-i', document, '-o', 'client'],
    folder,
    signal,
  );
  const faults = said.split('\n').filter((line) => / ERROR |^Exception/.test(line));
  if (faults.length > 0) throw new OperatorError(faults.join('\n'));
  say('Java: the generator finds no fault.');
  return undefined;
}

/** @throws OperatorError with what the program says, where it fails */
async function output(program: string, args: string[], cwd: string, signal: AbortSignal): Promise<string> {
  try {
    const made = await run(program, args, {
      cwd,
      timeout: MADE_WITHIN_MS,
      maxBuffer: OUTPUT_BYTES_MAX,
      signal,
    });
    return `${made.stdout}${made.stderr}`;
  } catch (cause) {
    const { stdout = '', stderr = '', message } = cause as Error & { stdout?: string; stderr?: string };
    throw new OperatorError(`${program}: ${`${stdout}${stderr}`.trim() || message}`, { cause });
  }
}

runCommand(main);
