import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { benchEnvironment } from '../../bench/engine';
import { ownEngine } from '../../examples/demo/engine';
import { Operator } from '../../examples/demo/operator';
import { runCommand, type Stops } from '../../scripts/command';
import { OperatorError } from '../../src/domain/failures';
import { findPythonTool } from './python-tool';

/**
 * `npm run fuzz:client`: a client that `openapi-python-client` makes from `/openapi.json` plays
 * the main job. It fails where the generator leaves an operation out, or says anything else against
 * the document.
 */

const GENERATOR = 'openapi-python-client';
const VERSION = '0.29.1';
const GENERATE_WITHIN_MS = 60_000;
const PLAY_WITHIN_MS = 120_000;

const run = promisify(execFile);
const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const commands = await findPythonTool(GENERATOR, VERSION, say);
  const environment = benchEnvironment();
  const engine = await ownEngine(environment, say, signal);
  stops.push(() => engine.stop());
  const folder = await mkdtemp(path.join(tmpdir(), 'assent-client-'));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  await generate(path.join(commands, GENERATOR), engine.apiUrl, folder, signal);
  const operator = new Operator(engine.folder, environment);
  const bank = await operator.createEntity('bank', 'Harbour Bank');
  const provider = await operator.createEntity('provider', 'Northwind Payments');
  const { stdout } = await run(path.join(commands, 'python'), [path.join(__dirname, 'play.py')], {
    env: {
      PATH: environment['PATH'],
      PYTHONPATH: folder,
      PYTHONDONTWRITEBYTECODE: '1',
      API_URL: engine.apiUrl,
      BANK: JSON.stringify(bank),
      PROVIDER: JSON.stringify(provider),
    },
    timeout: PLAY_WITHIN_MS,
    signal,
  });
  say(stdout.trim());
  return true;
}

async function generate(command: string, apiUrl: string, folder: string, signal: AbortSignal): Promise<void> {
  const settings = path.join(folder, 'settings.json');
  // Files are bytes to it.
  const overrides = { 'text/csv': 'application/octet-stream', 'application/xml': 'application/octet-stream' };
  await writeFile(settings, JSON.stringify({ content_type_overrides: overrides, post_hooks: [] }));
  const { stdout, stderr } = await run(
    command,
    [
      'generate',
      `--url=${apiUrl}/openapi.json`,
      `--config=${settings}`,
      '--meta=none',
      `--output-path=${path.join(folder, 'assent_client')}`,
    ],
    { cwd: folder, timeout: GENERATE_WITHIN_MS, signal },
  );
  const said = `${stdout}${stderr}`;
  if (/warning|skipp|error/i.test(said)) throw new OperatorError(said.trim());
  say('The generator takes all of the document.');
}

runCommand(main);
