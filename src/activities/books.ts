import type { Logger } from 'pino';
import { chainStream } from '../database/chain/extend-chain';
import { signHead } from '../database/chain/sign-head';
import type { Database } from '../database/pool/connection';
import { keepResult, planNight } from '../database/verify/nightly-result';
import { compareSpans, provenKeys, verify } from '../database/verify/verify-books';
import { STREAMS } from '../domain/books/chain';
import { counted } from '../domain/words/counted';
import { heartbeat } from './heartbeat';

export type BooksActivities = ReturnType<typeof createBooksActivities>;

const NAMES = { ledger: 'the ledger', events: 'events', audit: 'audit events' } as const;

/**
 * @param wholeMax entries of the ledger up to which a night compares all there is
 */
export function createBooksActivities(db: Database, wholeMax: number, log: Pick<Logger, 'info' | 'error'>) {
  return {
    /** @returns what was chained, in words, for the Temporal UI */
    async chainBooks(): Promise<string> {
      const chained: string[] = [];
      for (const stream of STREAMS)
        chained.push(`${await chainStream(db, stream, heartbeat)} of ${NAMES[stream]}`);
      const head = await signHead(db);
      if (!head) return 'Nothing was written since the last head.';
      // A log that is kept elsewhere tells of a head that was taken away.
      log.info({ number: head.number, day: head.day, tips: head.tips }, 'the books are chained');
      return `Chained ${chained.join(', ')}; signed as head ${head.number} of ${head.day}.`;
    },
    /** @returns what came of it, in words, for the Temporal UI */
    async verifyBooks(): Promise<string> {
      const { spans, part } = await planNight(db, wholeMax);
      const verified = await verify(compareSpans(db, await provenKeys(db), spans), heartbeat);
      const { compared, differences, found } = verified;
      for (const one of found) log.error(one, 'the books differ');
      await keepResult(db, verified, part);
      const checked = Object.values(compared).reduce((sum, count) => sum + count, 0);
      const what = `Compared ${checked} things of ${part ? 'the last days and one part' : 'all books'}`;
      return differences === 0
        ? `${what}: no differences.`
        : `${what}: ${counted(differences, 'differences')}, which "assent status" names.`;
    },
  };
}
