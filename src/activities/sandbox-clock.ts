import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Database } from '../database/pool/connection';
import {
  endAdvance,
  moveTo,
  nextMoment,
  readClock,
  signalDue,
  workInHand,
  type WorkInHand,
} from '../database/sandbox-clock/advance-sandbox-clock';
import { overdueWork, restartWork } from '../database/recover/open-work';
import { endStuck, withoutWorkflow } from '../temporal/recover';

/**
 * Moves a test clock: it moves time and signals waiting workflows, which do the due work
 * themselves.
 */
export interface ClockPosition {
  /** RFC 3339 */
  now: string;
  /** Null once the clock has arrived. */
  target: string | null;
}

export type SandboxClockActivities = ReturnType<typeof createSandboxClockActivities>;

/**
 * A call moves for this long, and to a moment at least. A year of daily charges is then some dozen
 * calls in the clock's history, and each reports its position.
 */
const MOVES_FOR_MS = 5_000;
/**
 * First interval between readings of whether work is at rest: a year of daily charges waits 365
 * times. Long waits read less often, for many clocks may move at once.
 */
const POLL_MS = 50;
const POLL_MAX_MS = 500;
const POLL_SHARE = 0.25;
/**
 * Work in hand without progress is signalled again after this long, should a signal have been lost.
 */
const SIGNAL_AGAIN_MS = 2_000;
/** After this long without progress, the workflows of due work are checked for existence. */
const MISSED_AFTER_MS = 3_000;
/** Workflows checked at once. More may be missing at the same moment: the next check finds them. */
const MISSED_MAX = 100;
/** Work without progress for this long is stuck, and must not keep time from moving. */
const STUCK_MS = 60_000;

interface Moving {
  db: Database;
  client: Client;
  /** Seconds for which a bank that was asked may stay silent before time goes on. */
  clockWaitS: number;
  log: Pick<Logger, 'warn'>;
}

export const createSandboxClockActivities = (moving: Moving) => ({
  moveClock: (billerId: string) => moveClock(moving, billerId),
});

/**
 * Moves the clock through the due moments of its party, and waits at each until its work is at
 * rest. A call lasts some seconds, and moves at most to the target.
 */
async function moveClock(moving: Moving, billerId: string): Promise<ClockPosition> {
  const { db, clockWaitS } = moving;
  const startedAt = Date.now();
  const { now, realNow, target } = await readClock(db, billerId);
  if (target === null) return { now: now.toISOString(), target: null };
  // First the work that is due already, or was asked for a moment ago: the next stop may be the
  // end of its window. This is also where a worker takes up a dead worker's move.
  await signalDue(db, billerId, now);
  let askedSince = new Date(realNow.getTime() - clockWaitS * 1000);
  let isStuck = await restOrStick(moving, billerId, askedSince);
  let stop = now;
  do {
    const position = await readClock(db, billerId);
    const moment = await nextMoment(db, billerId, isStuck ? position.now : '-infinity');
    // A bank may have answered just after the wait: work that its answer makes due comes before
    // time goes on.
    if (moment === null || moment > position.now) {
      stop = moment !== null && moment < target ? moment : target;
      askedSince = position.realNow;
      await moveTo(db, billerId, stop);
      await signalDue(db, billerId, stop);
    }
    isStuck = await restOrStick(moving, billerId, askedSince);
  } while (stop < target && Date.now() - startedAt < MOVES_FOR_MS);
  if (stop < target) return { now: stop.toISOString(), target: target.toISOString() };

  await db.transaction(async (trx) => {
    await endAdvance(trx, billerId, target);
    await signalDue(trx, billerId, 'infinity');
  });
  return { now: stop.toISOString(), target: null };
}

/**
 * Waits until due work is done and announced, and banks' answers since are in, or overdue. A bank
 * hears of its merchants' charges all the time. So only webhooks written by the latest progress
 * are awaited, and no later ones.
 *
 * @param askedSince real time
 * @returns whether some work is undone, and was given up
 */
async function restOrStick(moving: Moving, billerId: string, askedSince: Date): Promise<boolean> {
  const { db, clockWaitS } = moving;
  const activity = Context.current();
  const startedAt = Date.now();
  let before: WorkInHand | undefined;
  let unattemptedBefore = 0;
  let progressAt = startedAt;
  let signalledAt = startedAt;
  let gotOnAt = 'infinity';
  for (;;) {
    activity.heartbeat();
    const work = await workInHand(db, billerId, askedSince, gotOnAt);
    const hasGotOn = gotOn(before, work);
    const unattempted = hasGotOn ? work.unattempted : work.unattemptedOfMoment;
    const undone = work.undone > 0 || unattempted > 0;
    if (!undone && work.asked === 0) return false;
    if (hasGotOn) gotOnAt = work.at;
    if (hasGotOn || work.unattemptedOfMoment < unattemptedBefore) progressAt = Date.now();
    before = work;
    unattemptedBefore = unattempted;
    const quietMs = Date.now() - progressAt;
    if (quietMs >= (undone ? STUCK_MS : clockWaitS * 1000)) return undone;
    if (undone && quietMs >= SIGNAL_AGAIN_MS && Date.now() - signalledAt >= SIGNAL_AGAIN_MS) {
      await signalDue(db, billerId, work.now);
      if (quietMs >= MISSED_AFTER_MS) await startMissing(moving, billerId);
      signalledAt = Date.now();
    }
    const waitedMs = Date.now() - startedAt;
    await activity.sleep(Math.min(POLL_MAX_MS, Math.max(POLL_MS, waitedMs * POLL_SHARE)));
  }
}

/** Due work without its workflow is never done, and time would stand still. */
async function startMissing({ db, client, log }: Moving, billerId: string): Promise<void> {
  const missing = await withoutWorkflow(client, await overdueWork(db, 0, MISSED_MAX, billerId), 0);
  if (missing.length === 0) return;
  await endStuck(client, missing);
  await restartWork(db, missing);
  const workflowIds = missing.map(({ workflowId }) => workflowId);
  log.warn({ billerId, workflowIds }, 'due, but without a workflow: started again');
}

function gotOn(before: WorkInHand | undefined, { undone, asked, lastAsked }: WorkInHand): boolean {
  return before?.undone !== undone || before.asked !== asked || before.lastAsked !== lastAsked;
}
