import { chainStream } from '../../src/database/chain/extend-chain';
import { publicKeys, signHead } from '../../src/database/chain/sign-head';
import { chainKeys } from '../../src/database/chain/chain-key';
import type { Database } from '../../src/database/pool/connection';
import type { Keyring } from '../../src/database/keys/keyring';
import { compareHeads } from '../../src/database/verify/compare-heads';
import type { Page } from '../../src/database/verify/read-in-pages';
import { compareBooks } from '../../src/database/verify/verify-books';
import { STREAMS } from '../../src/domain/books/chain';

/** What the workflow `chain` does, and what `assent books verify` finds. */

const timeZone = 'Africa/Lagos';

/** @returns how many rows were chained */
export async function chainBooks(db: Database, ring: Keyring): Promise<number> {
  let chained = 0;
  for (const stream of STREAMS) chained += await chainStream(db, stream, () => undefined);
  await signHead(db, ring, timeZone);
  return chained;
}

const isOfChains = (check: string) => check.startsWith('links') || check === 'heads';

/** What is found to differ, in one line each. */
async function differencesIn(pages: AsyncIterable<Page>, isAsked: (check: string) => boolean) {
  const found: string[] = [];
  for await (const { check, differences } of pages) {
    if (isAsked(check)) found.push(...differences.map(({ id, what }) => `${check}: ${id}: ${what}`));
  }
  return found;
}

export async function chainDifferences(db: Database, ring: Keyring): Promise<string[]> {
  const keys = publicKeys(await chainKeys(db, ring));
  const all = compareBooks({ db, keys, timeZone }, { from: null, to: null });
  return differencesIn(all, isOfChains);
}

/** What is found of heads that were kept. */
export async function keptDifferences(db: Database, kept: string[]): Promise<string[]> {
  const found = await differencesIn(compareHeads(db, new Map(), kept), () => true);
  return found.filter((one) => one.includes('it was kept'));
}

/** What is found without the chains. */
export async function bookDifferences(db: Database): Promise<string[]> {
  const all = compareBooks({ db, keys: new Map(), timeZone }, { from: null, to: null });
  return differencesIn(all, (check) => !isOfChains(check));
}
