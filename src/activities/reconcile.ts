import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Database } from '../database/connection';
import { outboxBacklog } from '../database/outbox';
import {
  overdueWork,
  restartWork,
  WORK_KINDS,
  type Work,
  type WorkKind,
} from '../database/operation/reconcile';
import {
  endRestart,
  moveCursor,
  readTemporalState,
  type TemporalState,
} from '../database/operation/temporal-state';
import { groupBy } from '../domain/group';
import { openPages, pagesWithoutWorkflow, workCursor, type WorkCursor } from '../temporal/open-work';
import { endStuck } from '../temporal/stuck-workflow';

/**
 * Finds rows that nobody waits for any more, and has their workflows started again through the
 * outbox. A workflow that runs all the same only gets a signal, so doing it twice does nothing
 * twice.
 */
export interface ReconcileActivities {
  /** Work that is past its moment and still open. */
  restartOverdue(): Promise<Reconciled>;
  /**
   * What is not due yet, but has no workflow: some at each run, all of it in turn. After Temporal
   * has lost its data, all of it at once.
   */
  restartMissing(): Promise<Reconciled>;
}

export interface Reconciled {
  checked: number;
  /** How many were found of each kind. */
  found: Partial<Record<WorkKind, number>>;
  /** How many of them are started now; the others' starts wait in the outbox already. */
  restarted: number;
}

/** How many rows of a kind were found, and how many of them are started again. */
export type CountReconciled = (kind: WorkKind, found: number, restarted: number) => void;

/**
 * Overdue workflows of a kind that one run starts again. More are overdue when a service comes
 * back, and go on by themselves.
 */
const OVERDUE_MAX = 500;
/**
 * Workflows that Temporal is asked about in one run, one a minute: some milliseconds each, of the
 * server's time too.
 */
const CHECKED_MAX = 200;
/**
 * All kinds but schedules have few that are open at once, and go first: a webhook does not wait
 * until a hundred thousand schedules have been looked at. At most half of a run, so that schedules
 * have theirs.
 */
const FEW = WORK_KINDS.filter((kind) => kind !== 'schedules');
const FEW_CHECKED_MAX = CHECKED_MAX / 2;
const PAGE = 50;
/**
 * Messages of calls that may wait in the outbox while all that is open is started again: a new
 * charge waits behind them. The later ones are passed by both.
 */
const OUTBOX_MAX = 200;
const OUTBOX_POLL_MS = 200;
/** Ids of one kind in a line of the log. */
const LOGGED_MAX = 20;

/**
 * @param afterS how long a row may be overdue, or without its workflow
 */
export function createReconcileActivities(
  db: Database,
  client: Client,
  afterS: number,
  log: Pick<Logger, 'info' | 'warn'>,
  count: CountReconciled,
): ReconcileActivities {
  async function restart(work: Work[], why: string): Promise<Pick<Reconciled, 'found' | 'restarted'>> {
    const found: Reconciled['found'] = {};
    let restarted = 0;
    for (const [kind, ofKind] of groupBy(work, (one) => one.kind)) {
      const started = await restartWork(db, ofKind);
      const workflowIds = ofKind.slice(0, LOGGED_MAX).map(({ workflowId }) => workflowId);
      log.warn({ kind, found: ofKind.length, restarted: started, workflowIds }, why);
      count(kind, ofKind.length, started);
      found[kind] = ofKind.length;
      restarted += started;
    }
    return { found, restarted };
  }

  async function restartAll(since: Date, state: TemporalState): Promise<Reconciled> {
    const total: Reconciled = { checked: 0, found: {}, restarted: 0 };
    const from = workCursor(WORK_KINDS, state.cursorKind, state.cursorAfter);
    await roomInOutbox(db);
    for await (const { kind, page, at } of openPages(db, { from, pageSize: PAGE, resting: true })) {
      const { found, restarted } = await restart(
        page,
        'Temporal has lost what was waited for: started again',
      );
      total.checked += page.length;
      total.found[kind] = (total.found[kind] ?? 0) + (found[kind] ?? 0);
      total.restarted += restarted;
      await moveCursor(db, { ...state, cursorKind: at.kind ?? '', cursorAfter: at.after });
      await roomInOutbox(db);
    }
    // A worker that took this over from another counts what it did itself.
    const { checked, restarted } = total;
    if (await endRestart(db, since))
      log.info({ since, checked, restarted }, 'all that was open is started again');
    return total;
  }

  /**
   * Looks at what is open from a cursor on, until the last of the kinds, or until it has looked at
   * `max` and the rest of a page.
   */
  async function missingFrom(from: WorkCursor, kinds: readonly WorkKind[], max: number) {
    const result = { missing: [] as Work[], checked: 0, at: from };
    const walk = { kinds, from, pageSize: PAGE, resting: false, afterS };
    if (max <= 0) return result;
    for await (const { checked, missing, at } of pagesWithoutWorkflow(db, client, walk)) {
      Context.current().heartbeat();
      result.missing.push(...missing);
      result.checked += checked;
      result.at = at;
      if (result.checked >= max) break;
    }
    return result;
  }

  return {
    async restartOverdue() {
      const activity = Context.current();
      const overdue = await overdueWork(db, afterS, OVERDUE_MAX);
      activity.heartbeat();
      // What runs in vain would take the signal in vain as well.
      await endStuck(
        client,
        overdue.map(({ workflowId }) => workflowId),
        () => activity.heartbeat(),
      ).catch((error: unknown) => log.warn({ err: error }, 'what runs in vain is left for the next time'));
      return { checked: overdue.length, ...(await restart(overdue, 'overdue work is started again')) };
    },

    async restartMissing() {
      const state = await readTemporalState(db);
      if (state.restartingSince) return restartAll(state.restartingSince, state);
      const few = await missingFrom(
        workCursor(FEW, state.cursorKind, state.cursorAfter),
        FEW,
        FEW_CHECKED_MAX,
      );
      const schedules = await missingFrom(
        { kind: 'schedules', after: state.schedulesAfter },
        ['schedules'],
        CHECKED_MAX - few.checked,
      );
      const missing = [...few.missing, ...schedules.missing];
      const restarted = await restart(missing, 'open work without its workflow is started again');
      await moveCursor(db, {
        cursorKind: few.at.kind ?? '',
        cursorAfter: few.at.after,
        schedulesAfter: schedules.at.after,
      });
      return { checked: few.checked + schedules.checked, ...restarted };
    },
  };
}

async function roomInOutbox(db: Database): Promise<void> {
  const activity = Context.current();
  for (;;) {
    activity.heartbeat();
    if ((await outboxBacklog(db)).call.messages < OUTBOX_MAX) return;
    await activity.sleep(OUTBOX_POLL_MS);
  }
}
