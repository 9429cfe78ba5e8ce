import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Database } from '../database/connection';
import { settleUnnoticedCredits } from '../database/customer/payment-credit';
import type { Keyring } from '../database/keys/keyring';
import { outboxBacklog } from '../database/outbox';
import {
  openWork,
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
import { openWithoutWorkflow } from '../temporal/reconcile';

/**
 * Finds rows that nobody waits for any more, and has their workflows started again through the
 * outbox. A workflow that runs all the same only gets a signal, so doing it twice does nothing
 * twice.
 */
export interface ReconcileActivities {
  /** What is past its moment and still open. Settles before what is done and was not noted. */
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

/** How many rows of a kind were found, and how many of their workflows are started again. */
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
 * Starts that may wait in the outbox while all that is open is started again: a new charge waits
 * behind them.
 */
const OUTBOX_MAX = 200;
const OUTBOX_POLL_MS = 200;
/** Ids of one kind in a line of the log. */
const LOGGED_MAX = 20;

/**
 * @param timeZone of the network
 * @param afterS how long a row may be overdue, or without its workflow
 */
export function createReconcileActivities(
  db: Database,
  client: Client,
  keyring: Keyring,
  timeZone: string,
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
    for (let at = cursorOf(state, WORK_KINDS); at.kind !== undefined;) {
      await roomInOutbox(db);
      const page = await openWork(db, at.kind, at.after, PAGE, true);
      const { found, restarted } = await restart(
        page,
        'Temporal has lost what was waited for: started again',
      );
      total.checked += page.length;
      total.found[at.kind] = (total.found[at.kind] ?? 0) + (found[at.kind] ?? 0);
      total.restarted += restarted;
      at = next(WORK_KINDS, at.kind, page);
      await moveCursor(db, { ...state, cursorKind: at.kind ?? '', cursorAfter: at.after });
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
  async function missingFrom(from: Cursor, kinds: readonly WorkKind[], max: number) {
    const missing: Work[] = [];
    let checked = 0;
    let at = from;
    while (at.kind !== undefined && checked < max) {
      Context.current().heartbeat();
      const page = await openWork(db, at.kind, at.after, PAGE, false);
      missing.push(...(await openWithoutWorkflow(db, client, page, afterS)));
      checked += page.length;
      at = next(kinds, at.kind, page);
    }
    return { missing, checked, at };
  }

  return {
    async restartOverdue() {
      const settled = await db.transaction((trx) =>
        settleUnnoticedCredits(trx, keyring, timeZone, OVERDUE_MAX),
      );
      if (settled > 0) log.warn({ settled }, 'credits that were delivered, and not noted, are settled');
      const overdue = await overdueWork(db, afterS, OVERDUE_MAX);
      return { checked: overdue.length, ...(await restart(overdue, 'overdue work is started again')) };
    },

    async restartMissing() {
      const state = await readTemporalState(db);
      if (state.restartingSince) return restartAll(state.restartingSince, state);
      const few = await missingFrom(cursorOf(state, FEW), FEW, FEW_CHECKED_MAX);
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

/** Where to go on; past the last kind, there is none. */
interface Cursor {
  kind: WorkKind | undefined;
  after: string;
}

function cursorOf(state: TemporalState, kinds: readonly WorkKind[]): Cursor {
  const kind = kinds.find((one) => one === state.cursorKind);
  return kind === undefined ? { kind: kinds[0], after: '' } : { kind, after: state.cursorAfter };
}

function next(kinds: readonly WorkKind[], kind: WorkKind, page: { key: string }[]): Cursor {
  const last = page.at(-1);
  if (last && page.length === PAGE) return { kind, after: last.key };
  return { kind: kinds[kinds.indexOf(kind) + 1], after: '' };
}

async function roomInOutbox(db: Database): Promise<void> {
  const activity = Context.current();
  for (;;) {
    activity.heartbeat();
    if ((await outboxBacklog(db)).messages < OUTBOX_MAX) return;
    await activity.sleep(OUTBOX_POLL_MS);
  }
}
