import { fileOf } from '../api/billing/statement';
import { sha256Of } from '../api/http/download';
import type { Compared, Difference, Range } from '../database/compared';
import type { Database } from '../database/connection';
import { keptDigests, type KeptDigest } from '../database/ledger/kept-digest';
import { readFinality } from '../database/ledger/statement';

/**
 * Makes the file of each statement whose SHA-256 is kept once more, and compares: those of final
 * days that somebody has asked for, and all of closed months. A file is made of rows of charges,
 * refunds and reversals as much as of the ledger, so what of them it shows was not changed since.
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
      yield { check: 'statements', checked: 1, differences: await differencesOf(db, range, kept, beat) };
    }
  }
}

async function differencesOf(
  db: Database,
  { timeZone }: Range,
  kept: KeptDigest,
  beat: (lines: number, kept: KeptDigest) => void,
): Promise<Difference[]> {
  const id = `${kept.party.entityId} on ${kept.date} in ${kept.currency}`;
  if (kept.edition > kept.current) {
    return [{ id, wrong: 'digest_of_unknown_edition', edition: kept.edition, current: kept.current }];
  }
  const { columns, pages } = fileOf(db, kept);
  const made = await sha256Of({ columns, pages: counted(pages, (lines) => beat(lines, kept)) });
  if (made === kept.sha256) return [];
  // Its month may have been reopened meanwhile, and something posted to it.
  const { edition } = await readFinality(db, timeZone, kept);
  if (edition > kept.edition) return [];
  return [{ id, wrong: 'digest_differs', kept: kept.sha256, made }];
}

async function* counted(
  pages: AsyncGenerator<object[], void, void>,
  beat: (lines: number) => void,
): AsyncGenerator<object[], void, void> {
  let lines = 0;
  for await (const page of pages) {
    lines += page.length;
    beat(lines);
    yield page;
  }
}
