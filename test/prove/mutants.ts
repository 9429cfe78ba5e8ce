import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildChanged } from './changed-build';
import { MUTATIONS, SEED } from './mutations';
import { iso } from './oracle/both';
import { makePlan, startYearFrom } from './make-plan';
import { prove } from './years';

export interface Verdict {
  name: string;
  /** The first difference; undefined where none was found. */
  found: string | undefined;
}

/** So few that all of the faults are tried in an hour or two. */
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
      const plan = makePlan(seed, BILLINGS, startYearFrom(new Date()));
      const proof = await prove(plan, { calm: !withDeaths, root, keep: false }, () => undefined, signal);
      const [first] = proof.differences;
      const found = first ? `${iso(first.at)} ${first.who}: ${first.what}` : proof.books[0];
      say(found ?? 'NOT FOUND');
      verdicts.push({ name, found });
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  }
  return verdicts;
}
