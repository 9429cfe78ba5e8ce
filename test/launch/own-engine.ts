import { randomInt } from 'node:crypto';
import path from 'node:path';
import * as start from '../../src/start/engine';
import { readEngineFile, type EngineFile } from '../../src/process/engine-file';
import * as ports from '../../src/start/ports';
import { makeFolder } from './folder';

export interface StoryEngine extends Omit<EngineFile, 'pid' | 'keysFile'> {
  /** From where `npx assent` finds it. */
  folder: string;
  /** Stops it and takes its data away, where the demo started it; leaves a running one as it is. */
  stop: () => Promise<void>;
}

const DATA_FOLDER = '.assent';
/** An engine that runs answers at once; one that takes longer would tell no story either. */
const ANSWERS_WITHIN_MS = 5_000;
/** Its own engine must not meet one that is started with a small offset, nor another demo. */
const OFFSETS = { first: 20_000, last: 50_000 };
/**
 * Out of thirty thousand, an offset with a taken port is rare; five in a row mean something else.
 */
const MOST_TRIES = 5;

/** The engine that `npm start` runs in this folder, if it is ready. */
export async function runningEngine(folder: string): Promise<StoryEngine | undefined> {
  const file = readEngineFile(path.join(folder, DATA_FOLDER));
  if (!file) return undefined;
  const ready = await fetch(`${file.apiUrl}/readyz`, { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );
  return ready ? { ...file, folder, stop: () => Promise.resolve() } : undefined;
}

/**
 * An engine of the demo's own, on free ports, with its data in a temporary folder.
 *
 * @param signal gives up starting
 * @param code what starts it, and runs as it does: from source, or from the build
 * @throws ConfigError, OperatorError saying what to do; the signal's reason
 */
export async function ownEngine(
  environment: NodeJS.ProcessEnv,
  say: (line: string) => void,
  signal: AbortSignal,
  { startEngine, PortTakenError }: StartCode = { ...start, ...ports },
): Promise<StoryEngine> {
  const { folder, remove } = makeFolder('demo');
  try {
    const engine = await onFreePorts(PortTakenError, (offset) =>
      startEngine({
        environment: { ...environment, PORT_OFFSET: String(offset) },
        folder: path.join(folder, DATA_FOLDER),
        say,
        signal,
      }),
    );
    return {
      ...engine.file,
      folder,
      stop: async () => {
        await engine.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** The code that starts an engine, from source or from the build. */
export type StartCode = Pick<typeof start, 'startEngine'> & Pick<typeof ports, 'PortTakenError'>;

async function onFreePorts<Started>(
  taken: typeof ports.PortTakenError,
  begin: (offset: number) => Promise<Started>,
): Promise<Started> {
  for (let tries = 1; ; tries++) {
    try {
      return await begin(randomInt(OFFSETS.first, OFFSETS.last));
    } catch (error) {
      if (!(error instanceof taken) || tries === MOST_TRIES) throw error;
    }
  }
}
