import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keys/keyring';
import { compareNightly, keepResult, planNight, provenKeys, verify, type Means } from '../database/verify';

/** Compares the books, and keeps what came of it. */
export interface VerifyActivities {
  verifyBooks(): Promise<VerifiedNight>;
}

export interface VerifiedNight {
  /** Rows, links, balances and files that were looked at. */
  checked: number;
  differences: number;
  /** Whether all there is was compared. */
  isWhole: boolean;
}

/**
 * @param timeZone of the network
 * @param wholeMax entries of the ledger up to which all there is is compared
 */
export function createVerifyActivities(
  db: Database,
  keyring: Keyring,
  timeZone: string,
  wholeMax: number,
  digestOf: Means['digestOf'],
  log: Pick<Logger, 'error'>,
): VerifyActivities {
  return {
    async verifyBooks() {
      const activity = Context.current();
      const beat = () => {
        activity.heartbeat();
        activity.cancellationSignal.throwIfAborted();
      };
      const night = await planNight(db, timeZone, wholeMax);
      const means = { db, keys: await provenKeys(db, keyring), digestOf, beat };
      const { compared, differences, found } = await verify(compareNightly(means, night, timeZone), beat);
      for (const one of found) log.error(one, 'the books differ');
      await db.transaction((trx) => keepResult(trx, night, { differences, found }));
      const checked = Object.values(compared).reduce((sum, count) => sum + count, 0);
      return { checked, differences, isWhole: night.since === null };
    },
  };
}
