import { headHash, STREAMS } from '../../domain/books/chain';
import { isSigned, readHead, readHeads, signerOf, type PublicKeys, type StoredHead } from '../chain/head';
import { ROWS_OF } from '../chain/stream';
import { oneRow, row, type Database } from '../connection';
import type { Difference, Pages } from './page';

/** Heads of a page: a megabyte. */
const PAGE = 2_000;

const nameOf = ({ number, day }: StoredHead) => `head ${number} of ${day}`;

/**
 * Compares each head with what the head after it says of it. The last is compared with its
 * signature and with the chains: it stands for all before it.
 */
export async function* compareHeads(db: Database, keys: PublicKeys): Pages {
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
  yield { check: 'heads', checked: 0, differences: last ? await ofLast(db, last, keys) : await ofNone(db) };
}

function wrongBefore({ number, jws }: StoredHead, before: StoredHead | undefined): string | undefined {
  const expected = (before?.number ?? 0n) + 1n;
  if (number !== expected) return `the heads from ${expected} to ${number - 1n} were deleted`;
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
    const link = await row<{ hash: string }>(
      db,
      `SELECT encode(hash, 'hex') AS hash FROM ${ROWS_OF[stream].chain} WHERE n = :n`,
      { n },
    );
    if (n === 0 || link?.hash === hash) continue;
    wrong.push(
      link
        ? `it says that link ${n} of ${stream} is ${hash}, and the chain, which was made anew, has ${link.hash}`
        : `it says that the chain of ${stream} has ${n} links: its end was deleted`,
    );
  }
  return wrong.map((what) => ({ id: nameOf(head), what }));
}

/** Each run signs what it has chained. */
async function ofNone(db: Database): Promise<Difference[]> {
  const { links } = await oneRow<{ links: boolean }>(
    db,
    `SELECT ${STREAMS.map((stream) => `EXISTS (SELECT FROM ${ROWS_OF[stream].chain})`).join(' OR ')} AS links`,
  );
  return links ? [{ id: 'heads', what: 'the chains have links, and all heads were deleted' }] : [];
}

/**
 * Compares heads that somebody has kept elsewhere with those of the database. Deleted rows, links
 * and heads at the end leave nothing in the database that tells.
 */
export async function* compareKeptHeads(db: Database, kept: string[]): Pages {
  const differences: Difference[] = [];
  for (const jws of kept) {
    const said = readHead(jws);
    const stands = await row<{ jws: string }>(db, `SELECT jws FROM chain_heads WHERE number = :number`, {
      number: said?.number ?? 0,
    });
    if (stands?.jws === jws) continue;
    const what = stands
      ? 'it was kept, and the database has another of its number: the chains were made anew'
      : 'it was kept, and the database has it no more: what was chained by then may be gone';
    differences.push({ id: `head ${said?.number} of ${said?.day}`, what });
  }
  yield { check: 'heads', checked: kept.length, differences };
}
