import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keys/keyring';
import { compareNightly, keepPart, keepResult, planNight, provenKeys, verify } from '../database/verify';

/** Compares the books, and keeps what came of it. */
export interface VerifyActivities {
  verifyBooks(): Promise<VerifiedNight>;
}

export interface VerifiedNight {
  /** Rows, links and balances that were looked at. */
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
  log: Pick<Logger, 'error'>,
): VerifyActivities {
  return {
    async verifyBooks() {
      const activity = Context.current();
      const night = await planNight(db, timeZone, wholeMax);
      let place = night.rolling?.place;
      const means = { db, keys: await provenKeys(db, keyring), timeZone };
      const pages = compareNightly(means, night, (reached) => (place = reached));
      const verified = await verify(pages, () => {
        activity.heartbeat();
        activity.cancellationSignal.throwIfAborted();
      });
      for (const one of verified.found) log.error(one, 'the books differ');
      await (place ? keepPart(db, verified, place) : keepResult(db, verified));
      const checked = Object.values(verified.compared).reduce((sum, count) => sum + count, 0);
      return { checked, differences: verified.differences, isWhole: !place };
    },
  };
}
