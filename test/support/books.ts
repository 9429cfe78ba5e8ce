import { compareAnnouncements } from '../../src/database/announcement-check';
import { digestOf } from '../../src/api/billing/statement';
import { chainStream } from '../../src/database/chain/advance';
import { checkChains, checkKept } from '../../src/database/chain/check';
import { publicKeys, signHead } from '../../src/database/chain/head';
import { chainKeys } from '../../src/database/chain/key';
import type { Compared } from '../../src/database/compared';
import type { Database } from '../../src/database/connection';
import type { Keyring } from '../../src/database/keys/keyring';
import { compareLedger } from '../../src/database/ledger/check';
import { comparePeriods } from '../../src/database/ledger/period-check';
import { compareStatements, type FileMeans } from '../../src/database/ledger/statement-check';
import { compareTrails } from '../../src/database/trail';
import { STREAMS } from '../../src/domain/books/chain';
import { faultWords } from '../../src/domain/words/verify-words';

/** What the workflow `chain` does, and what `assent books verify` finds. */

const timeZone = 'Africa/Lagos';

/** @returns how many rows were chained */
export async function chainBooks(db: Database, ring: Keyring): Promise<number> {
  let chained = 0;
  for (const stream of STREAMS) chained += await chainStream(db, stream, false, () => undefined);
  await signHead(db, ring, timeZone);
  return chained;
}

const WHOLE = { from: null, to: null, timeZone };

/** What is found to differ, in one line each. */
async function differencesIn(pages: AsyncIterable<Compared>): Promise<string[]> {
  const found: string[] = [];
  for await (const { check, differences } of pages) {
    found.push(...differences.map((one) => `${check}: ${one.id}: ${faultWords(one)}`));
  }
  return found;
}

export async function chainDifferences(db: Database, ring: Keyring): Promise<string[]> {
  return differencesIn(checkChains(db, publicKeys(await chainKeys(db, ring)), WHOLE));
}

export const keptDifferences = (db: Database, kept: string[]) => differencesIn(checkKept(db, kept));

/** Makes the files of statements anew. */
export const filesOf = (db: Database): FileMeans => ({
  db,
  digestOf: (of, beat) => digestOf(db, of, beat),
  beat: () => undefined,
});

/** What is found without the chains. */
export async function bookDifferences(db: Database): Promise<string[]> {
  return [
    ...(await differencesIn(compareLedger(db, WHOLE))),
    ...(await differencesIn(compareTrails(db, WHOLE))),
    ...(await differencesIn(compareAnnouncements(db, WHOLE))),
    ...(await differencesIn(comparePeriods(db, WHOLE))),
    ...(await differencesIn(compareStatements(filesOf(db), WHOLE))),
  ];
}
