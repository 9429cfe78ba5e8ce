import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ownEngine, type StoryEngine } from '../test/launch/own-engine';
import { readConfig } from '../src/settings/config';
import type { BucketRate } from '../src/database/call/rate-limit';
import { poll } from '../src/process/poll';
import type * as Start from '../src/start/engine';
import type { ownProgram } from '../src/start/own-program';
import type * as Ports from '../src/start/ports';
import { Supervisor } from '../src/start/supervisor';
import { importBuilt } from './build';
import { freePorts } from '../test/launch/ports';

/** Settings that decide how fast the engine may go and how long it waits. */
export function settingsInForce(environment: NodeJS.ProcessEnv): Record<string, string> {
  const config = readConfig(environment);
  return {
    RATE_LIMIT_CALLER: rate(config.RATE_LIMIT_CALLER),
    RATE_LIMIT_ANSWER: rate(config.RATE_LIMIT_ANSWER),
    APPROVAL_WINDOW_S: String(config.APPROVAL_WINDOW_S),
    SETTLEMENT_WINDOW_S: String(config.SETTLEMENT_WINDOW_S),
    DUE_RATE: String(config.DUE_RATE),
    DATABASE_POOL: String(config.DATABASE_POOL),
    LOG_LEVEL: config.LOG_LEVEL,
  };
}

const rate = ({ perSecond, burst }: BucketRate) => `${perSecond}/s, burst ${burst}`;

/** An engine of the benchmark's own, with as many processes of each kind as were asked for. */
export interface BenchEngine extends StoryEngine {
  apiUrls: string[];
  /** Aborted, with the error as its reason, should one of the further processes keep dying. */
  failing: AbortSignal;
}

/** The worker compiles the workflows first, which takes some seconds of a free core. */
const READY_MS = 120_000;

/**
 * Starts it in a temporary folder: Postgres as it comes (fsync on), each part a process. Further
 * APIs and workers are given what the first ones have, and know nothing of each other.
 */
export async function startEngine(
  environment: NodeJS.ProcessEnv,
  count: { apis: number; workers: number },
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<BenchEngine> {
  const { startEngine: start } = await importBuilt<typeof Start>('src/start/engine');
  const { PortTakenError } = await importBuilt<typeof Ports>('src/start/ports');
  const { ownProgram: program } = await importBuilt<{ ownProgram: typeof ownProgram }>(
    'src/start/own-program',
  );
  const engine = await ownEngine(environment, say, signal, { startEngine: start, PortTakenError });
  const settings = {
    ...environment,
    ASSENT_MODE: 'sandbox',
    DATABASE_URL: engine.databaseUrl,
    TEMPORAL_ADDRESS: engine.temporalAddress,
    TEMPORAL_NAMESPACE: engine.namespace,
    // The first of each kind have the two ports.
    METRICS_PORT: '0',
  };
  const log = path.join(engine.folder, 'more.log');
  const more = new Supervisor(log, (line) => process.stderr.write(`${line}\n`));
  const stop = async () => {
    await more.stop();
    await engine.stop();
  };
  try {
    const ports = await freePorts(count.apis);
    const apiUrls = [engine.apiUrl, ...ports.slice(1).map((port) => `http://127.0.0.1:${port}`)];
    if (count.apis + count.workers > 2) say('Starting the other APIs and workers …');
    for (const port of ports.slice(1)) {
      more.start(program('API', { ...settings, PORT: String(port) }));
    }
    for (let n = 1; n < count.workers; n++) more.start(program('worker', settings));
    await poll('An API', READY_MS, signal, async () => {
      await Promise.all(apiUrls.map((url) => fetch(`${url}/healthz`)));
    });
    await poll('A worker', READY_MS, signal, async () => {
      const lines = count.workers > 1 ? await readFile(log, 'utf8') : '';
      const ready = lines.split('"msg":"worker is ready"').length;
      if (ready < count.workers) throw new Error(`${ready} of ${count.workers} are ready`);
    });
    return { ...engine, apiUrls, failing: more.failing, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
