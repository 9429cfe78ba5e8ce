import { onDatabase } from '../../src/database/pool/one-connection';
import { openDatabase, type Database } from '../../src/database/pool/connection';
import { Explainer, undone, type Plan } from './explain';
import { paths, type Path } from './paths';
import type { Server } from './server';
import { findSubjects } from './subjects';

export interface Measured {
  name: string;
  medianMs: number;
  p99Ms: number;
  runs: number;
  statements: number;
  buffers: number;
  indexes: string[];
  faults: string[];
}

/** Before what counts: statements are prepared from the twentieth run on. */
const WARM_UP = 30;
const RUNS = 200;
/** A slow path is measured less often. */
const LONGEST_MS = 4_000;

/**
 * Each path by itself, one run after the other on one connection, with all of it undone after each
 * run.
 */
export async function measure(
  server: Server,
  only: RegExp,
  say: (line: string) => void,
): Promise<Measured[]> {
  const subjects = await onDatabase(server.superuserUrl, (client) =>
    findSubjects(client, server.facts.keyring),
  );
  const db = openDatabase(server.databaseUrl, 1, server.facts);
  const explainer = await Explainer.open(server.explainedUrl, server.facts);
  const measured: Measured[] = [];
  try {
    for (const [name, run] of Object.entries(paths(subjects))) {
      if (!only.test(name)) continue;
      // One that ends in the statement timeout is a result as well.
      const one = await measurePath(db, explainer, name, run).catch((error: Error): Measured => {
        return { ...NOTHING, name, faults: [error.message] };
      });
      say(`${one.name}: ${one.medianMs.toFixed(1)} ms, ${one.buffers} pages ${one.faults.join('; ')}`);
      measured.push(one);
    }
  } finally {
    await explainer.close();
    await db.destroy();
  }
  return measured;
}

const NOTHING = { medianMs: 0, p99Ms: 0, runs: 0, statements: 0, buffers: 0, indexes: [], faults: [] };

async function measurePath(db: Database, explainer: Explainer, name: string, run: Path): Promise<Measured> {
  let n = 0;
  const once = async () => {
    const start = performance.now();
    await undone(db, async (trx) => void (await run(trx, n++)));
    return performance.now() - start;
  };
  const began = performance.now();
  for (let i = 0; i < WARM_UP && performance.now() - began < LONGEST_MS; i++) await once();
  const times: number[] = [];
  const counted = performance.now();
  while (times.length < RUNS && (times.length < 5 || performance.now() - counted < LONGEST_MS)) {
    times.push(await once());
  }
  times.sort((a, b) => a - b);
  const plans = await explainer.explained(async (trx) => void (await run(trx, n++)));
  return {
    name,
    medianMs: times[Math.floor(times.length / 2)] ?? 0,
    p99Ms: times[Math.floor(times.length * 0.99)] ?? 0,
    runs: times.length,
    statements: plans.length,
    buffers: sum(plans),
    indexes: [...new Set(plans.flatMap((plan) => plan.indexes))],
    faults: plans.flatMap((plan) => plan.faults.map((fault) => `${fault}: ${plan.statement.slice(0, 160)}`)),
  };
}

const sum = (plans: Plan[]) => plans.reduce((total, { buffers }) => total + buffers, 0);
