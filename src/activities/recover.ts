import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Database } from '../database/pool/connection';
import {
  overdueWork,
  restartsWaiting,
  restartWork,
  WORK_KINDS,
  type Work,
  type WorkKind,
} from '../database/recover/open-work';
import { endRestart, moveCursors, readTemporalState } from '../database/engine/temporal-state';
import { groupBy } from '../domain/group';
import { endStuck, missingWork } from '../temporal/recover';

/**
 * Starts work again that is overdue, or has no workflow, through the outbox. A running workflow
 * only gets a signal, so a repetition is harmless.
 */
export type RecoverActivities = ReturnType<typeof createRecoverActivities>;

export interface Recovered {
  checked: number;
  /** Rows found, by kind. */
  found: Partial<Record<WorkKind, number>>;
  /** Rows started now; the others' starts wait in the outbox already. */
  restarted: number;
}

/** Counts the rows of a kind that were found, and the rows that were started again. */
export type CountRecovered = (kind: WorkKind, found: number, restarted: number) => void;

/**
 * Overdue rows of a kind that a run starts again. More are overdue after an outage, and their
 * workflows go on by themselves.
 */
const OVERDUE_MAX = 500;
const OUTBOX_POLL_MS = 200;
/** Ids of one kind in a line of the log. */
const LOGGED_MAX = 20;

interface Recovering {
  db: Database;
  client: Client;
  /** How long a row may be overdue, or without its workflow. */
  afterS: number;
  log: Pick<Logger, 'info' | 'warn'>;
  count: CountRecovered;
}

export function createRecoverActivities(recovering: Recovering) {
  const { db, client, afterS, log, count } = recovering;

  async function restart(total: Recovered, work: Work[], why: string, isAll = false): Promise<void> {
    // A stuck workflow ignores signals. After a loss of Temporal's data none runs yet.
    if (!isAll)
      await endStuck(client, work, () => Context.current().heartbeat()).catch((error: unknown) =>
        log.warn({ err: error }, 'stuck workflows are left for the next time'),
      );
    for (const [kind, ofKind] of groupBy(work, (one) => one.kind)) {
      const restarted = await restartWork(db, ofKind, isAll ? 'later' : 'call');
      const workflowIds = ofKind.slice(0, LOGGED_MAX).map(({ workflowId }) => workflowId);
      log.warn({ kind, found: ofKind.length, restarted, workflowIds }, why);
      count(kind, ofKind.length, restarted);
      total.found[kind] = (total.found[kind] ?? 0) + ofKind.length;
      total.restarted += restarted;
    }
  }

  /** All open rows have their workflows back once no start waits in the outbox. */
  async function endRestartOf(
    since: Date,
    cursors: Record<string, string>,
    { checked, restarted }: Recovered,
  ): Promise<void> {
    const activity = Context.current();
    while ((await restartsWaiting(db)) > 0) {
      activity.heartbeat();
      // This moves recovered_at: the alarm for a silent reconcile would ring.
      await moveCursors(db, cursors);
      await activity.sleep(OUTBOX_POLL_MS);
    }
    if (await endRestart(db, since))
      log.info({ since, checked, restarted }, 'all that was open is started again');
  }

  return {
    /** Rows that are past their moment and still open. */
    async restartOverdue(): Promise<Recovered> {
      const activity = Context.current();
      const total: Recovered = { checked: 0, found: {}, restarted: 0 };
      const overdue = await overdueWork(db, afterS, OVERDUE_MAX);
      activity.heartbeat();
      await restart(total, overdue, 'overdue work is started again');
      return { ...total, checked: overdue.length };
    },

    /**
     * Starts rows that are not due yet and whose workflow is missing or stuck: some of each kind at
     * each run, all in turn. After a loss of Temporal's data, all of them at once.
     */
    async restartMissing(): Promise<Recovered> {
      const { cursors, restartingSince: lostAt } = await readTemporalState(db);
      const total: Recovered = { checked: 0, found: {}, restarted: 0 };
      for (const kind of WORK_KINDS) {
        const looking = lostAt ? { after: '', afterS: 0 } : { after: cursors[kind] ?? '', afterS };
        for await (const { checked, missing, next } of missingWork(db, client, kind, looking)) {
          Context.current().heartbeat();
          await restart(total, missing, 'open work without its workflow is started again', lostAt !== null);
          total.checked += checked;
          cursors[kind] = next;
          if (!lostAt) break;
          await moveCursors(db, cursors);
        }
      }
      await moveCursors(db, cursors);
      if (lostAt) await endRestartOf(lostAt, cursors, total);
      return total;
    },
  };
}
