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
import { overdueWork, restartWork } from '../database/reconcile/open-work';
import { withoutWorkflow } from '../temporal/reconcile';
import type { Relay } from '../temporal/relay';

/**
 * Moving a test clock. It only moves time and signals what sleeps; what is due is done by its own
 * workflow, with no worker ahead of it.
 */
export interface ClockPosition {
  /** RFC 3339 */
  now: string;
  /** Null once the clock has arrived. */
  target: string | null;
  /**
   * Workflows that somebody had ended although something of theirs was due: they are started again.
   */
  startedAgain: string[];
}

export interface SandboxClockActivities {
  /**
   * Moves the clock from moment to moment at which something of its owner is due, for some seconds
   * and at most to its target, and waits at each until what was due there is at rest.
   */
  moveClock(ownerId: string): Promise<ClockPosition>;
}

interface Rest {
  startedAgain: string[];
  /** Something is still undone, and was given up. */
  stuck: boolean;
}

/**
 * For so long one call goes from moment to moment, and to one at least: a year of daily charges is
 * then some dozen calls in the clock's history, and each says where it has come.
 */
const MOVES_FOR_MS = 5_000;
/**
 * How soon the database is asked again whether work is at rest: a year of daily charges has 365
 * such waits. What takes long is asked for less often, for many clocks may be on their way at once.
 */
const POLL_MS = 50;
const POLL_MAX_MS = 500;
const POLL_SHARE = 0.25;
/**
 * Work in hand that does not get on is signalled again after this long, should a signal have been
 * lost.
 */
const SIGNAL_AGAIN_MS = 2_000;
/**
 * After this long without any progress it is asked whether the workflows of what is due are there
 * at all.
 */
const MISSED_AFTER_MS = 3_000;
/**
 * Workflows asked about at once. What is due at one moment and has none may be more: then it is
 * found the next time.
 */
const MISSED_MAX = 100;
/** After this long without any progress a thing is stuck, and must not keep time from moving. */
const STUCK_MS = 60_000;

/**
 * @param clockWaitS seconds that a bank which has been asked may stay silent before time goes on
 */
export function createSandboxClockActivities(
  db: Database,
  client: Client,
  relay: Pick<Relay, 'kick'>,
  clockWaitS: number,
  log: Pick<Logger, 'warn'>,
): SandboxClockActivities {
  const clockWaitMs = clockWaitS * 1000;

  async function signal(ownerId: string, until: Date | 'infinity'): Promise<void> {
    await signalDue(db, ownerId, until);
    relay.kick();
  }

  /**
   * Waits until what is due is done and told, and what banks were asked since is answered, or has
   * been waited for long enough. A bank is told of its merchants' charges all the time, so webhooks
   * are waited for that had been written when the work was last seen to get on, and no later ones.
   *
   * @param askedSince real time
   */
  async function rest(ownerId: string, askedSince: Date): Promise<Rest> {
    const activity = Context.current();
    const startedAt = Date.now();
    let before: WorkInHand | undefined;
    let unattemptedBefore = 0;
    let progressAt = startedAt;
    let signalledAt = startedAt;
    let gotOnAt = 'infinity';
    const startedAgain: string[] = [];
    for (;;) {
      activity.heartbeat();
      const work = await workInHand(db, ownerId, askedSince, gotOnAt);
      const hasGotOn = gotOn(before, work);
      const unattempted = hasGotOn ? work.unattempted : work.unattemptedOfMoment;
      const undone = work.undone > 0 || unattempted > 0;
      if (!undone && work.asked === 0) return { startedAgain, stuck: false };
      if (hasGotOn) gotOnAt = work.at;
      if (hasGotOn || work.unattemptedOfMoment < unattemptedBefore) progressAt = Date.now();
      before = work;
      unattemptedBefore = unattempted;
      const quietMs = Date.now() - progressAt;
      if (quietMs >= (undone ? STUCK_MS : clockWaitMs)) return { startedAgain, stuck: undone };
      if (undone && quietMs >= SIGNAL_AGAIN_MS && Date.now() - signalledAt >= SIGNAL_AGAIN_MS) {
        await signal(ownerId, work.now);
        if (quietMs >= MISSED_AFTER_MS) startedAgain.push(...(await startMissing(ownerId)));
        signalledAt = Date.now();
      }
      const waitedMs = Date.now() - startedAt;
      await activity.sleep(Math.min(POLL_MAX_MS, Math.max(POLL_MS, waitedMs * POLL_SHARE)));
    }
  }

  /** Without its workflow nothing that is due is ever done, and time would stand still. */
  async function startMissing(ownerId: string): Promise<string[]> {
    const missing = await withoutWorkflow(client, await overdueWork(db, 0, MISSED_MAX, ownerId), 0);
    if (missing.length === 0) return [];
    await restartWork(db, missing);
    relay.kick();
    const workflowIds = missing.map(({ workflowId }) => workflowId);
    log.warn({ ownerId, workflowIds }, 'due, but without a workflow: started again');
    return workflowIds;
  }

  return {
    async moveClock(ownerId) {
      const startedAt = Date.now();
      const { now, realNow, target } = await readClock(db, ownerId);
      if (target === null) return { now: now.toISOString(), target: null, startedAgain: [] };
      const startedAgain: string[] = [];
      const restSince = async (askedSince: Date) => {
        const rested = await rest(ownerId, askedSince);
        startedAgain.push(...rested.startedAgain);
        return rested;
      };
      // First what is due already, or was asked a moment ago: the next stop may be the end of its
      // window. This is also where another worker takes up what one that died has left.
      await signal(ownerId, now);
      let askedSince = new Date(realNow.getTime() - clockWaitMs);
      let rested = await restSince(askedSince);
      let stop = now;
      do {
        const position = await readClock(db, ownerId);
        const moment = await nextMoment(db, ownerId, rested.stuck ? position.now : '-infinity');
        // A bank may have answered just after it was waited for: what that makes due comes before
        // time goes on.
        if (moment === null || moment > position.now) {
          stop = moment !== null && moment < target ? moment : target;
          askedSince = position.realNow;
          await moveTo(db, ownerId, stop);
          await signal(ownerId, stop);
        }
        rested = await restSince(askedSince);
        // What had been ended by hand is named at once.
      } while (stop < target && startedAgain.length === 0 && Date.now() - startedAt < MOVES_FOR_MS);
      if (stop < target) return { now: stop.toISOString(), target: target.toISOString(), startedAgain };

      await db.transaction(async (trx) => {
        await endAdvance(trx, ownerId, target);
        await signalDue(trx, ownerId, 'infinity');
      });
      relay.kick();
      return { now: stop.toISOString(), target: null, startedAgain };
    },
  };
}

function gotOn(before: WorkInHand | undefined, { undone, asked, lastAsked }: WorkInHand): boolean {
  return before?.undone !== undone || before.asked !== asked || before.lastAsked !== lastAsked;
}
