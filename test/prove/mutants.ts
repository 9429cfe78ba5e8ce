import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildChanged } from './changed-build';
import { MUTATIONS, SEED } from './mutations';
import { iso, type Difference } from './oracle/both';
import { makePlan, startYearFrom } from './make-plan';
import { prove } from './years';

export interface Verdict {
  name: string;
  /** The first difference; undefined where none was found. */
  found: string | undefined;
}

/** So few that all of the faults are tried within an hour. */
const BILLINGS = 30;

export async function proveMutants(
  only: string,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const [name, { seed = SEED, changes, withDeaths = false }] of Object.entries(MUTATIONS)) {
    if (!name.includes(only)) continue;
    say(`\n${name}:`);
    const root = await mkdtemp(path.join(tmpdir(), 'assent-mutant-'));
    try {
      await buildChanged(root, changes);
      const found = await firstFound(seed, { calm: !withDeaths, root }, signal);
      say(found ?? 'NOT FOUND');
      verdicts.push({ name, found });
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  }
  return verdicts;
}

/** Ends with the first difference: the rest of the years would prove no more. */
async function firstFound(
  seed: number,
  options: { calm: boolean; root: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const plan = makePlan(seed, BILLINGS, startYearFrom(new Date()));
  const enough = new AbortController();
  let first: Difference | undefined;
  const report = (difference: Difference) => {
    first ??= difference;
    enough.abort();
  };
  const either = AbortSignal.any([signal, enough.signal]);
  const proof = await prove(plan, { ...options, keep: false, report }, () => undefined, either).catch(
    (error: unknown) => {
      if (!first) throw error;
    },
  );
  signal.throwIfAborted();
  return first ? `${iso(first.at)} ${first.who}: ${first.what}` : proof?.books[0];
}
