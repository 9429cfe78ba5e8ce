import { Context } from '@temporalio/activity';
import { TemporalFailure } from '@temporalio/common';
import type { Database } from '../database/connection';
import {
  nextDayToLookThrough,
  noteLookedThrough,
  type FinalDay,
} from '../database/ledger/days-looked-through';
import {
  hasMoreLines,
  keepDigest,
  readDigest,
  statementsOfDay,
  type StatementOf,
} from '../database/ledger/statement';
import { noteDigestCameOn } from '../database/operation/temporal-state';

/** Works out the SHA-256 of statements that are too long for a call to do so. */
export interface DigestActivities {
  keepDigests(): Promise<Digested>;
}

interface Done {
  /** Days that were looked through to their end. */
  days: number;
  /** Statements whose SHA-256 was kept now, and how many lines they have together. */
  kept: number;
  lines: number;
}

export interface Digested extends Done {
  /** Whether it ended before all was looked through. */
  isMore: boolean;
}

/** Of a statement; the cause says why. What is said here stays in the workflow's history. */
export class FileNotMadeError extends Error {
  override name = 'FileNotMadeError';

  constructor({ party, date, currency }: StatementOf, cause: unknown) {
    super(`the file of ${party.entityId} of ${date} in ${currency} cannot be made`, { cause });
  }
}

/**
 * Lines after which a run begins no other file: some two minutes. What it began it ends. So it
 * tells how far it came, however many days an update or a new form of the file has left to do.
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
  /**
   * @returns `left` where its file is left for the next run, `reopened` where the day is no final
   *   one any more, or one of another edition
   */
  async function keepDigestOf(
    of: StatementOf,
    edition: number,
    so: Done,
  ): Promise<'done' | 'left' | 'reopened'> {
    if (!(await hasMoreLines(db, of, hashedMax))) return 'done';
    if ((await readDigest(db, of, edition)) !== undefined) return 'done';
    if (so.lines >= LINES_MAX) return 'left';
    let lines = 0;
    const sha256 = await digestOf(of, (until) => {
      lines = until;
      beat(so, of, lines);
    });
    if (!(await keepDigest(db, of, edition, sha256))) return 'reopened';
    so.kept += 1;
    so.lines += lines;
    await noteDigestCameOn(db);
    return 'done';
  }

  /** @returns false where a file is left for the next run */
  async function keepDigestsOf(day: FinalDay, so: Done): Promise<boolean> {
    for await (const page of statementsOfDay(db, day.date)) {
      for (const of of page) {
        beat(so, of);
        const came = await keepDigestOf(of, day.edition, so).catch((error: unknown) => {
          throw error instanceof TemporalFailure ? error : new FileNotMadeError(of, error);
        });
        if (came !== 'done') return came === 'reopened';
      }
    }
    await noteLookedThrough(db, day, hashedMax);
    so.days += 1;
    return true;
  }

  return {
    async keepDigests() {
      const so = doneBefore();
      let isMore = true;
      for (let n = 0; n < DAYS_MAX && isMore; n++) {
        beat(so);
        const day = await nextDayToLookThrough(db, timeZone, hashedMax);
        if (day === undefined) isMore = false;
        else if (!(await keepDigestsOf(day, so))) break;
      }
      await noteDigestCameOn(db);
      return { ...so, isMore };
    },
  };
}

/** By an earlier attempt of this run, but for the seconds before its worker died. */
function doneBefore(): Done {
  const told = Context.current().info.heartbeatDetails as { done?: Partial<Done> } | null | undefined;
  const { days, kept, lines } = told?.done ?? {};
  const isWhole = [days, kept, lines].every((count) => Number.isSafeInteger(count));
  return isWhole ? ({ days, kept, lines } as Done) : { days: 0, kept: 0, lines: 0 };
}

/**
 * What it tells is seen in the Temporal UI, and what was done the next attempt begins with.
 *
 * @param lines of its file that were read
 */
function beat(so: Done, of?: StatementOf, lines = 0): void {
  const activity = Context.current();
  const inHand = of && { day: of.date, partyId: of.party.entityId, currency: of.currency, lines };
  activity.heartbeat({ ...inHand, done: { ...so } });
  activity.cancellationSignal.throwIfAborted();
}
