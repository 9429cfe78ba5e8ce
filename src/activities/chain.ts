import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { chainStream } from '../database/chain/advance';
import { lastHead, signHead } from '../database/chain/head';
import { row, type Database } from '../database/connection';
import type { Keyring } from '../database/keys/keyring';
import { STREAMS, type Stream } from '../domain/books/chain';

/** Chains what was written since, and signs how far that has come. */
export interface ChainActivities {
  chainBooks(): Promise<Chained>;
}

export interface Chained {
  /** Rows that were chained now. */
  chained: Record<Stream, number>;
  /** The head that says so; null where nothing was, and the day has its head. */
  head: { number: number; day: string } | null;
}

/** @param timeZone of the network, in which days begin */
export function createChainActivities(
  db: Database,
  keyring: Keyring,
  timeZone: string,
  log: Pick<Logger, 'info'>,
): ChainActivities {
  return {
    async chainBooks() {
      const activity = Context.current();
      const thorough = (await lastHead(db))?.day !== (await today(db, timeZone));
      const chained: Partial<Record<Stream, number>> = {};
      for (const stream of STREAMS) {
        chained[stream] = await chainStream(db, stream, thorough, () => {
          activity.heartbeat();
          activity.cancellationSignal.throwIfAborted();
        });
      }
      const head = await signHead(db, keyring, timeZone);
      // Whoever keeps the log elsewhere can tell a head that was taken away.
      if (head) log.info({ number: head.number, day: head.day, tips: head.tips }, 'the books are chained');
      return {
        chained: chained as Record<Stream, number>,
        head: head ? { number: head.number, day: head.day } : null,
      };
    },
  };
}

async function today(db: Database, timeZone: string): Promise<string | undefined> {
  const now = await row<{ day: string }>(
    db,
    `SELECT (clock_timestamp() AT TIME ZONE :timeZone)::date::text AS day`,
    { timeZone },
  );
  return now?.day;
}
