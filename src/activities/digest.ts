import { Context } from '@temporalio/activity';
import type { Database } from '../database/connection';
import {
  hasMoved,
  keepDigest,
  readDigest,
  statementsOfDay,
  type StatementOf,
} from '../database/ledger/statement';
import { nextUndigestedDay, noteDigested, type UndigestedDay } from '../database/ledger/undigested';

/** Works out the SHA-256 of statements that are too long for a call to do so. */
export interface DigestActivities {
  keepDigests(): Promise<Digested>;
}

export interface Digested {
  /** Days that were looked through to their end. */
  days: number;
  /** Statements whose SHA-256 was kept now, and how many lines they have together. */
  kept: number;
  lines: number;
  /** Whether it ended before all was looked through. */
  isMore: boolean;
}

/**
 * Lines after which a run begins no other file: some two minutes. So a run ends well within its
 * hour, however many days an update or a new form of the file has left to do, and tells how far it
 * came.
 */
const LINES_MAX = 1_000_000;
/**
 * Days that a run looks through. To count what each of a thousand parties has moved on one takes a
 * second.
 */
const DAYS_MAX = 100;

/**
 * It reads a page at a time, each by a statement of its own: no snapshot is held while a file is
 * made, and a final day needs none. That its month was not reopened meanwhile is asked by the
 * statement that keeps the SHA-256. What was kept is not made again, so a run that was cut off is
 * taken up by the next at the file that was in hand.
 *
 * @param timeZone of the network
 * @param hashedMax lines of a statement whose SHA-256 is worked out when it is asked for
 * @param digestOf the SHA-256 of its file in hexadecimal, telling after each page how many lines
 *   there were
 */
export function createDigestActivities(
  db: Database,
  timeZone: string,
  hashedMax: number,
  digestOf: (of: StatementOf, beat: (lines: number) => void) => Promise<string>,
): DigestActivities {
  /** @returns false where a file is left for the next run */
  async function keepDigestsOf(day: UndigestedDay, done: Digested): Promise<boolean> {
    for await (const page of statementsOfDay(db, day.date)) {
      for (const of of page) {
        beat();
        if (!(await hasMoved(db, of, hashedMax))) continue;
        if ((await readDigest(db, of, day.edition)) !== undefined) continue;
        if (done.lines >= LINES_MAX) return false;
        let lines = 0;
        const sha256 = await digestOf(of, (until) => {
          lines = until;
          beat();
        });
        // Reopened meanwhile: it is no final day any more, or one of another edition.
        if (!(await keepDigest(db, of, day.edition, sha256))) return true;
        done.kept += 1;
        done.lines += lines;
      }
    }
    await noteDigested(db, day);
    done.days += 1;
    return true;
  }

  return {
    async keepDigests() {
      const done: Digested = { days: 0, kept: 0, lines: 0, isMore: false };
      for (let n = 0; n < DAYS_MAX; n++) {
        beat();
        const day = await nextUndigestedDay(db, timeZone);
        if (day === undefined) return done;
        if (!(await keepDigestsOf(day, done))) break;
      }
      return { ...done, isMore: true };
    },
  };
}

function beat(): void {
  const activity = Context.current();
  activity.heartbeat();
  activity.cancellationSignal.throwIfAborted();
}
