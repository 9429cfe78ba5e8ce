import type { Compared, Difference, Range } from '../compared';
import type { Database } from '../connection';
import { keptDigests, type KeptDigest } from './kept-digest';
import { readFinality, type StatementOf } from './statement';

export interface FileMeans {
  db: Database;
  /** The SHA-256 of a statement's file, in hexadecimal. */
  digestOf: (of: StatementOf, beat: (lines: number) => void) => Promise<string>;
  /** Told after each page of a file how many lines there were. */
  beat: (lines: number, of: StatementOf) => void;
}

/**
 * Makes the file of each statement whose SHA-256 is kept once more, and compares: those of final
 * days that somebody has asked for, and all of closed months. A file is made of rows of charges,
 * refunds and reversals as much as of the ledger, so what of them it shows was not changed since.
 *
 * A file costs what it costs to download it. In memory is a page of it.
 */
export async function* compareStatements(
  means: FileMeans,
  range: Range,
): AsyncGenerator<Compared, void, undefined> {
  for await (const page of keptDigests(means.db, range)) {
    for (const kept of page) {
      if (kept.edition > kept.current) yield { ...ONE, differences: [ofNoEdition(kept)] };
      else yield { ...ONE, differences: await differencesOf(means, range, kept) };
    }
  }
}

const check = 'statements';
const ONE = { check, checked: 1 };
const nameOf = ({ party, date, currency }: KeptDigest) => `${party.entityId} on ${date} in ${currency}`;

function ofNoEdition(kept: KeptDigest): Difference {
  const { edition, current } = kept;
  return { id: nameOf(kept), wrong: 'digest_of_unknown_edition', edition, current };
}

async function differencesOf(
  { db, digestOf, beat }: FileMeans,
  { timeZone }: Range,
  kept: KeptDigest,
): Promise<Difference[]> {
  const made = await digestOf(kept, (lines) => beat(lines, kept));
  if (made === kept.sha256) return [];
  // Its month may have been reopened meanwhile, and something posted to it.
  const { edition } = await readFinality(db, timeZone, kept);
  if (edition > kept.edition) return [];
  return [{ id: nameOf(kept), wrong: 'digest_differs', kept: kept.sha256, made }];
}
