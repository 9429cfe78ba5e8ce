import { chainStream } from '../../src/database/chain/extend-chain';
import { signHead, type PublicKeys } from '../../src/database/chain/sign-head';
import type { Database } from '../../src/database/pool/connection';
import { compareBooks, provenKeys } from '../../src/database/verify/verify-books';
import { STREAMS } from '../../src/domain/books/chain';

/** The work of the workflow `chain`, and the findings of `assent books verify`. */

/** @returns how many rows were chained */
export async function chainBooks(db: Database): Promise<number> {
  let chained = 0;
  for (const stream of STREAMS) chained += await chainStream(db, stream, () => undefined);
  await signHead(db);
  return chained;
}

/** All that differs, in one line each: `check: row: finding`. */
async function differences(db: Database, keys: PublicKeys): Promise<string[]> {
  const found: string[] = [];
  for await (const page of compareBooks(db, keys, { from: null, to: null }))
    found.push(...page.differences.map(({ id, what }) => `${page.check}: ${id}: ${what}`));
  return found;
}

const isOfChains = (one: string) => one.startsWith('links') || one.startsWith('heads');

export const allDifferences = async (db: Database): Promise<string[]> =>
  differences(db, await provenKeys(db));

export const chainDifferences = async (db: Database): Promise<string[]> =>
  (await allDifferences(db)).filter(isOfChains);

/** All findings but those of the chains. */
export const bookDifferences = async (db: Database): Promise<string[]> =>
  (await differences(db, new Map())).filter((one) => !isOfChains(one));
