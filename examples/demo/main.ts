import { ConfigError } from '../../src/settings/config';
import { StartError } from '../../src/start/start-error';
import { ownEngine, runningEngine, type StoryEngine } from './engine';
import { Narrator, paint, StoryError } from './narrator';
import { Operator } from './operator';
import type { PartyProcess } from './parties/process';
import { tellStory } from './story';

/**
 * `npm run demo`: plays the main job against the engine that runs in this folder, or against one of
 * its own that it stops afterwards. Exit code 1 if anything does not hold.
 */
async function main(): Promise<void> {
  // What is made from here on, the data of an engine for one, is for nobody else to read.
  process.umask(0o077);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new StoryError('interrupted')));
  }
  const engine = (await runningEngine(process.cwd())) ?? (await startOwn(interrupted.signal));
  const parties: PartyProcess[] = [];
  try {
    console.log(`Playing on ${engine.apiUrl}; Temporal UI at ${engine.temporalUiUrl ?? 'its own address'}`);
    await Promise.race([play(engine, parties), rejection(interrupted.signal)]);
    console.log(`\n${paint('green', 'All of it holds.')}`);
  } finally {
    await Promise.all(parties.map((party) => party.stop()));
    await engine.stop();
  }
}

async function startOwn(signal: AbortSignal): Promise<StoryEngine> {
  console.log('No engine is ready in this folder (npm start); starting one for this story alone.');
  return ownEngine(process.env, (line) => console.log(paint('dim', `  ${line}`)), signal);
}

function play(engine: StoryEngine, parties: PartyProcess[]): Promise<void> {
  return tellStory({
    apiUrl: engine.apiUrl,
    operator: new Operator(engine.folder, process.env),
    narrator: new Narrator(engine.temporalUiUrl, engine.namespace),
    own: (party) => parties.push(party),
  });
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

main().then(
  // A step that was given up may still wait for something, which must not hold the process.
  () => process.exit(0),
  (error: unknown) => {
    const told = [StoryError, StartError, ConfigError].some((kind) => error instanceof kind);
    const text =
      error instanceof Error ? (told ? error.message : (error.stack ?? error.message)) : String(error);
    console.error(`\n${paint('red', 'It does not hold:')} ${text}`);
    process.exit(1);
  },
);
