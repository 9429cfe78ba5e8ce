import { runCommand } from '../../scripts/command';
import { ownEngine, runningEngine, type StoryEngine } from '../../test/launch/own-engine';
import { Narrator, paint } from './narrator';
import { Operator } from '../../test/parties/operator';
import type { Stage } from './story';

/**
 * Plays a story against the engine that runs in this folder, or against one of its own that it
 * stops afterwards. Exit code 1 if anything does not hold.
 */
export function play(tell: (stage: Stage) => Promise<void>): void {
  runCommand(
    async (signal, stops) => {
      const engine = (await runningEngine(process.cwd())) ?? (await startOwn(signal));
      stops.push(() => engine.stop());
      console.log(`Playing on ${engine.apiUrl}; Temporal UI at ${engine.temporalUiUrl ?? 'its own address'}`);
      await tell({
        apiUrl: engine.apiUrl,
        operator: new Operator(engine.folder, process.env),
        narrator: new Narrator(engine.temporalUiUrl, engine.namespace),
        own: (party) => stops.push(() => party.stop()),
      });
      console.log(`\n${paint('green', 'All of it holds.')}`);
      return true;
    },
    (text) => console.error(`\n${paint('red', 'It does not hold:')} ${text}`),
  );
}

async function startOwn(signal: AbortSignal): Promise<StoryEngine> {
  console.log('No engine is ready in this folder (npm start); starting one for this story alone.');
  return ownEngine(process.env, (line) => console.log(paint('dim', `  ${line}`)), signal);
}
