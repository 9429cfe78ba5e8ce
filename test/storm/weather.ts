import { setTimeout as wait } from 'node:timers/promises';
import type { Fault as Misbehaviour } from '../parties/receiver';
import { partiesOf, type Cast } from './cast';
import type { EngineProcess, LinkName, StormEngine } from './engine';
import type { Link } from './link';
import { FAULTS, type Fault } from './plan';

/** Requests that one fault of a receiver spoils: some, and not all that will ever come. */
const SPOILED = 5;
/** Beyond the longest that the engine waits for a receiver in a storm. */
const TOO_LATE_MS = 5_000;

export async function rage(
  faults: readonly Fault[],
  engine: StormEngine,
  cast: Cast,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const startedAt = Date.now();
  const sleepUntil = (atMs: number) =>
    wait(Math.max(0, startedAt + atMs - Date.now()), undefined, { signal });
  await Promise.all(
    faults.map(async (fault) => {
      await sleepUntil(fault.atMs);
      say(`${seconds(fault.atMs)}  ${fault.target} ${FAULTS[fault.what]} for ${seconds(fault.lastsMs)}`);
      const end = await begin(fault, engine, cast);
      await sleepUntil(fault.atMs + fault.lastsMs);
      await end();
    }),
  );
}

async function begin(
  { what, target }: Fault,
  engine: StormEngine,
  cast: Cast,
): Promise<() => void | Promise<void>> {
  if (what === 'readOnly') {
    await engine.setReadOnly(true);
    return () => engine.setReadOnly(false);
  }
  if (what === 'full') return engine.disk.fill();
  if (what === 'kill' || what === 'freeze') {
    const process = engine.processes[target as EngineProcess];
    if (what === 'kill') {
      await process.kill();
      return () => process.start();
    }
    process.freeze();
    return () => process.thaw();
  }
  const party = partiesOf(cast).find(({ name }) => name === target);
  const link = party?.link ?? engine.links[target as LinkName];
  if (what === 'cut' || what === 'slow' || what === 'stalled' || what === 'halfOpen')
    return impair(link, what);
  const faults: Record<'error' | 'hang' | 'late', Misbehaviour> = {
    error: { kind: 'status', status: 500, times: SPOILED },
    hang: { kind: 'hang', times: SPOILED },
    late: { kind: 'slow', delayMs: TOO_LATE_MS, times: SPOILED },
  };
  party?.receiver.misbehave(faults[what]);
  return () => undefined;
}

function impair(link: Link, what: 'cut' | 'slow' | 'stalled' | 'halfOpen'): () => void {
  if (what === 'cut') {
    link.cut();
    return () => undefined;
  }
  link.become(what);
  return () => link.become('open');
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
