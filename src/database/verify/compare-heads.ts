import { headHash, STREAMS } from '../../domain/books/chain';
import {
  isSigned,
  lastSigned,
  readHead,
  readHeads,
  signerOf,
  type PublicKeys,
  type StoredHead,
} from '../chain/sign-head';
import { ROWS_OF } from '../chain/chained-rows';
import type { Database } from '../pool/connection';
import { raw } from '../pool/statement';
import type { Difference, Pages } from './read-in-pages';

/** Heads of a page: a megabyte. */
const PAGE = 2_000;

const nameOf = ({ number, day }: StoredHead) => `head ${number} of ${day}`;

const deleted = (from: bigint, to: bigint) => `the heads from ${from} to ${to} were deleted`;

/**
 * Compares each head with the next head's `previous`. The last head is compared with its signature,
 * with the chains, and with the number that was last signed: it stands for all before it.
 */
export async function* compareHeads(db: Database, keys: PublicKeys): Pages {
  // Read before the heads, so that a head signed meanwhile does not count as missing.
  const signed = await lastSigned(db);
  let last: StoredHead | undefined;
  for (;;) {
    const page = await readHeads(db, last?.number ?? 0n, PAGE);
    const differences: Difference[] = [];
    for (const head of page) {
      const what = wrongBefore(head, last);
      if (what !== undefined) differences.push({ id: nameOf(head), what });
      last = head;
    }
    yield { check: 'heads', checked: page.length, differences };
    if (page.length < PAGE) break;
  }
  const differences = last ? await ofLast(db, last, keys) : [];
  const end = last?.number ?? 0n;
  if (end < signed) differences.push({ id: 'heads', what: deleted(end + 1n, signed) });
  yield { check: 'heads', checked: 0, differences };
}

function wrongBefore({ number, jws }: StoredHead, before: StoredHead | undefined): string | undefined {
  const expected = (before?.number ?? 0n) + 1n;
  if (number !== expected) return deleted(expected, number - 1n);
  if (readHead(jws)?.previous === (before ? headHash(before.jws) : null)) return undefined;
  return before
    ? `it follows another head than ${nameOf(before)}: one of them was changed`
    : 'it was changed';
}

async function ofLast(db: Database, head: StoredHead, keys: PublicKeys): Promise<Difference[]> {
  const kid = signerOf(head.jws);
  const wrong: string[] = [];
  if (!keys.has(kid ?? ''))
    wrong.push(`it is signed with ${kid ?? 'no key'}, which is none of the network's`);
  else if (!isSigned(head.jws, keys))
    wrong.push(`it was changed: the key ${kid} has not signed what it says`);
  const { number, day, tips } = readHead(head.jws) ?? {};
  if (number !== Number(head.number) || day !== head.day)
    wrong.push(`it says that it is head ${number} of ${day}`);
  for (const stream of STREAMS) {
    const { n = 0, hash } = tips?.[stream] ?? {};
    const { chain } = ROWS_OF[stream];
    const link = await db.row<{
      hash: string;
    }>`SELECT encode(hash, 'hex') AS hash FROM ${raw(chain)} WHERE n = ${n}`;
    if (n === 0 || link?.hash === hash) continue;
    wrong.push(
      link
        ? `it says that link ${n} of ${chain} is ${hash}, and the chain, which was rebuilt, has ${link.hash}`
        : `it says that ${chain} has ${n} links: its end was deleted`,
    );
  }
  return wrong.map((what) => ({ id: nameOf(head), what }));
}
