import { once } from 'node:events';
import { OperatorError } from '../domain/failures';
import { startEngine } from './engine';
import type { EngineFile } from '../process/engine-file';

/* `npm start`: runs the engine in the foreground until Ctrl-C. */

async function main(): Promise<void> {
  // Files of the engine's programs, for example Temporal's data, are private from here on.
  process.umask(0o077);
  // With no reader, as after `| head`, the engine still stops in order.
  process.stdout.on('error', () => undefined);
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // In a terminal npm adds a signal of its own, which arrives while the engine stops already.
    process.on(signal, () => stopped.abort());
  }
  try {
    const engine = await startEngine({
      environment: process.env,
      folder: '.assent',
      say: (line) => console.log(line),
      signal: stopped.signal,
    });
    console.log(welcome(engine.file));
    const end = AbortSignal.any([stopped.signal, engine.failing]);
    if (!end.aborted) await once(end, 'abort');
    console.log(stopped.signal.aborted ? '\nStopping …' : 'Stopping, because the engine cannot go on …');
    await engine.stop();
    end.throwIfAborted();
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
  }
  console.log('Stopped.');
}

function welcome(file: EngineFile): string {
  const rows = [
    ...(file.sandboxUrl === undefined ? [] : [['Sandbox', `${file.sandboxUrl}  <- open this in a browser`]]),
    ['API', file.apiUrl],
    ['Docs', `${file.apiUrl}/docs`],
    ...(file.consoleUrl === undefined ? [] : [['Console', file.consoleUrl]]),
    ['Temporal UI', file.temporalUiUrl ?? `that of ${file.temporalAddress}`],
    ['Metrics', file.metricsUrls ? `${file.metricsUrls.api} (API)` : 'none, as METRICS_PORT is 0'],
    ...(file.metricsUrls ? [['', `${file.metricsUrls.worker} (worker)`]] : []),
    ['Log file', file.logFile],
  ];
  return [
    '',
    'Assent is ready.',
    '',
    ...rows.map(([name, value]) => `  ${name?.padEnd(13)}${value}`),
    '',
    'Next, in another terminal:',
    '  npm run demo                                          the whole story, played against this engine',
    '  npx assent entity create --type bank --name "My Bank" an identity for your own first calls',
    '',
    'Ctrl-C stops everything; what waits goes on at the next start.',
  ].join('\n');
}

main().then(
  // A start that was given up may leave open handles, which must not hold the process.
  () => process.exit(0),
  (error: unknown) => {
    const shown =
      error instanceof OperatorError ? error.message : error instanceof Error ? error.stack : error;
    console.error(`\n${String(shown)}`);
    process.exit(1);
  },
);
