import { digestOf } from '../api/billing/statement';
import type { Compared, Difference, Range } from '../database/compared';
import type { Database } from '../database/connection';
import { keptDigests, type KeptDigest } from '../database/ledger/kept-digest';
import { readFinality } from '../database/ledger/statement';

/**
 * Makes the file of each statement whose SHA-256 is kept once more, and compares: those of final
 * days that somebody has asked for, and all of closed months. A file is made of rows of charges,
 * refunds and reversals as much as of the ledger, so what of them it shows was not changed since.
 * One that was kept of the file in another form says nothing of that, and is told as not compared.
 *
 * A file costs what it costs to download it. In memory is a page of it.
 *
 * @param beat told of each page of a long file
 */
export async function* compareStatements(
  db: Database,
  range: Range,
  beat: (lines: number, kept: KeptDigest) => void = () => undefined,
): AsyncGenerator<Compared, void, undefined> {
  for await (const page of keptDigests(db, range)) {
    for (const kept of page) {
      if (kept.edition > kept.current) yield { ...ONE, differences: [ofNoEdition(kept)] };
      else if (!kept.isOfThisForm) yield OF_ANOTHER_FORM;
      else yield { ...ONE, differences: await differencesOf(db, range, kept, beat) };
    }
  }
}

const check = 'statements';
const ONE = { check, checked: 1 };
const OF_ANOTHER_FORM: Compared = {
  check,
  checked: 0,
  differences: [],
  notCompared: { count: 1, why: 'kept_of_another_form' },
};

const nameOf = ({ party, date, currency }: KeptDigest) => `${party.entityId} on ${date} in ${currency}`;

function ofNoEdition(kept: KeptDigest): Difference {
  const { edition, current } = kept;
  return { id: nameOf(kept), wrong: 'digest_of_unknown_edition', edition, current };
}

async function differencesOf(
  db: Database,
  { timeZone }: Range,
  kept: KeptDigest,
  beat: (lines: number, kept: KeptDigest) => void,
): Promise<Difference[]> {
  const made = await digestOf(db, kept, (lines) => beat(lines, kept));
  if (made === kept.sha256) return [];
  // Its month may have been reopened meanwhile, and something posted to it.
  const { edition } = await readFinality(db, timeZone, kept);
  if (edition > kept.edition) return [];
  return [{ id: nameOf(kept), wrong: 'digest_differs', kept: kept.sha256, made }];
}
