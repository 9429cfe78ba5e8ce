import {
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import type { Logger } from 'pino';
import type { Database } from '../database/connection';
import {
  outboxHasRows,
  returnOutboxRows,
  takeOutboxRows,
  type OutboxRank,
  type OutboxRow,
  type OutboxStart,
} from '../database/outbox';
import type { Signal } from '../domain/workflow/signal';
import { RECURRING_TASK_QUEUE, TASK_QUEUE, WEBHOOK_TASK_QUEUE, WORKFLOW_TYPE } from '../workflows/messages';
import { searchAttributes } from '../workflows/search-attributes';
import { DEADLINE_EXCEEDED } from './fault';

/**
 * Carries outbox rows to Temporal, in each worker.
 *
 * It polls many times a second, so that what was committed reaches Temporal in a moment, also after
 * a crash or an outage. Any number of relays may run at once: each passes over the rows that
 * another has in hand. A row may reach Temporal twice, when a crash comes between the call and the
 * commit; business ids as workflow ids make the second start, and a signal's carrying no truth
 * makes the second signal, harmless.
 *
 * Starts are eager: relay and worker share a connection, so the server hands the first task back
 * with its answer, and the worker has it without a poll. Where it does not, or there is no free
 * slot, the task is polled for as any other.
 */
export interface Relay {
  /** Polls now; returns at once. Calls during a poll cause one more. */
  kick(): void;
  /** Polls again and again from now on. */
  start(): void;
  /** Ends after the poll in hand. */
  stop(): Promise<void>;
}

/**
 * Ranks have a batch each, side by side, so that no charge waits for a webhook's start. A call's is
 * enough to drain a burst, and few enough that one transaction stays short. The later one asks less
 * of Temporal at once, which serves both: 100 000 signals are through in some minutes beside calls.
 */
const BATCHES: Record<OutboxRank, number> = { call: 100, later: 25 };
/**
 * Longest wait for one call to Temporal. The rows are locked meanwhile, and another process may do
 * better.
 */
const CALL_TIMEOUT_MS = 5_000;
/**
 * How long rows that Temporal has not taken wait, and this process leaves a Temporal alone that
 * does not answer.
 */
const PAUSE_S = 2;
/**
 * Short beside the way to a bank and back; in a busy worker one poll carries all that came
 * meanwhile.
 */
const POLL_EVERY_MS = 50;

/** Carries a start as part of the trace that asked for it. */
export type TraceStart = (
  workflowId: string,
  start: Pick<OutboxStart, 'type' | 'traceparent'>,
  carry: () => Promise<void>,
) => Promise<void>;

/**
 * @param client on the connection of this process's worker
 * @param trace left out where nothing is traced
 */
export function createRelay(
  db: Database,
  client: Client,
  log: Logger,
  trace: TraceStart = (_id, _start, now) => now(),
): Relay {
  const lanes = [laneOf('call'), laneOf('later')];
  let timer: NodeJS.Timeout | undefined;
  const kick = () => {
    for (const lane of lanes) lane.kick();
  };

  function laneOf(rank: OutboxRank) {
    let polling: Promise<void> | undefined;
    let again = false;
    let quietUntil = 0;
    let stopped = false;
    let size = BATCHES[rank];
    let after = '';

    async function poll(): Promise<void> {
      try {
        while (again && Date.now() >= quietUntil) {
          again = false;
          if (!(await outboxHasRows(db, rank))) continue;
          if (await carryBatch()) again = !stopped;
        }
      } catch (error) {
        beQuiet();
        log.warn({ err: error }, 'the outbox cannot be read');
      } finally {
        polling = undefined;
      }
    }

    /** @returns whether there may be more */
    async function carryBatch(): Promise<boolean> {
      return db.transaction(async (trx) => {
        const most = size;
        const batch = await takeOutboxRows(trx, rank, most, after);
        ({ after } = batch);
        const failed = await carryAll(batch.taken);
        await returnOutboxRows(trx, [...failed.keys()], PAUSE_S);
        const silent = sayWhy([...failed.values()]);
        if (silent) beQuiet();
        // A Temporal that is slow, not away, gets through with fewer at a time.
        size = silent ? Math.max(1, Math.floor(most / 2)) : Math.min(BATCHES[rank], most * 2);
        return batch.taken.length >= most;
      });
    }

    function beQuiet(): void {
      quietUntil = Date.now() + PAUSE_S * 1000;
    }

    return {
      kick(): void {
        if (stopped || Date.now() < quietUntil) return;
        again = true;
        polling ??= poll();
      },
      async stop(): Promise<void> {
        stopped = true;
        again = false;
        await polling;
      },
    };
  }

  /** @returns why, for each that Temporal did not take */
  async function carryAll(messages: OutboxRow[]): Promise<Map<OutboxRow, unknown>> {
    // One signal says as much as ten: its workflow reads the database, which knows of all of them.
    const signals = new Map<string, Promise<void>>();
    const carryOnce = (message: OutboxRow): Promise<void> => {
      if (message.start) {
        return trace(message.workflowId, message.start, () => carry(client, message));
      }
      const carried = signals.get(message.workflowId) ?? carry(client, message);
      signals.set(message.workflowId, carried);
      return carried;
    };
    const failed = new Map<OutboxRow, unknown>();
    const carried = messages.map((one) => carryOnce(one).catch((error: unknown) => failed.set(one, error)));
    await Promise.all(carried);
    return failed;
  }

  /**
   * One line for all that met silence, and one for all that was refused: an operator does different
   * things about them.
   *
   * @returns whether any met silence
   */
  function sayWhy(failures: unknown[]): boolean {
    const unanswered = failures.filter(isUnanswered);
    const refused = failures.filter((failure) => !isUnanswered(failure));
    if (unanswered.length > 0) {
      const count = unanswered.length;
      log.warn({ err: unanswered[0], count }, 'Temporal does not answer: messages wait in the outbox');
    }
    if (refused.length > 0) {
      log.warn({ err: refused[0], count: refused.length }, 'Temporal refused a message');
    }
    return unanswered.length > 0;
  }

  return {
    kick,
    start() {
      timer ??= setInterval(kick, POLL_EVERY_MS);
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(lanes.map((lane) => lane.stop()));
    },
  };
}

/** As gRPC numbers them. */
const CANCELLED = 1;
const UNAVAILABLE = 14;
/** The first is what the worker's connection makes of a deadline of its own. */
const SILENCE = new Set([CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE]);

/** Nobody has said no to the message: Temporal is away, stands still, or is out of reach. */
function isUnanswered(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isGrpcServiceError(cause)) return SILENCE.has(cause.code);
  }
  return false;
}

async function carry(client: Client, message: OutboxRow): Promise<void> {
  const { workflowId, start: run, signal: name } = message;
  await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, async () => {
    if (name !== null) await signal(client, workflowId, name);
    else if (run?.again) await startAgain(client, run.type, startOptions(message, run), run.again);
    else if (run) await start(client, run.type, startOptions(message, run));
  });
}

type StartOptions = ReturnType<typeof startOptions>;

async function start(client: Client, type: string, options: StartOptions): Promise<void> {
  try {
    await client.workflow.start(type, {
      ...options,
      requestEagerStart: true,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    });
  } catch (error) {
    // It ran and ended already: this row was carried before, by a process that died before its
    // commit.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/**
 * Carried twice it may run a workflow twice, the second time for nothing: what the first has done
 * is in the rows. Not a start with a signal in one call, for a run that has just begun would take
 * the signal for a change.
 */
async function startAgain(
  client: Client,
  type: string,
  options: StartOptions,
  instead: Signal,
): Promise<void> {
  try {
    await client.workflow.start(type, {
      ...options,
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.FAIL,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    // Should it end before the signal comes, this throws, and the row comes back to start it.
    await client.workflow.getHandle(options.workflowId).signal(instead);
  }
}

const QUEUE_OF: Partial<Record<string, string>> = {
  [WORKFLOW_TYPE.webhookDelivery]: WEBHOOK_TASK_QUEUE,
  [WORKFLOW_TYPE.recurring]: RECURRING_TASK_QUEUE,
};

/**
 * What of one queue goes first where tasks wait, from 1 to 5: what somebody waits for, then what
 * has a day. Of one priority, owners are served in turn, as in the outbox, so that a large one's
 * thousand do not stand before a small one's bill. A provider's merchants have one turn together:
 * it makes merchants freely.
 */
const PRIORITY_OF: Partial<Record<string, number>> = {
  [WORKFLOW_TYPE.billingRequest]: 1,
  [WORKFLOW_TYPE.intent]: 1,
  [WORKFLOW_TYPE.refund]: 2,
  [WORKFLOW_TYPE.customerMigration]: 5,
  [WORKFLOW_TYPE.bankStatement]: 5,
};
const USUAL_PRIORITY = 3;

function startOptions({ workflowId, ownerId }: OutboxRow, options: OutboxStart) {
  return {
    priority: {
      priorityKey: PRIORITY_OF[options.type] ?? USUAL_PRIORITY,
      fairnessKey: ownerId,
    },
    workflowId,
    taskQueue: QUEUE_OF[options.type] ?? TASK_QUEUE,
    args: options.args,
    typedSearchAttributes: searchAttributes(options.attributes),
    staticSummary: options.summary,
  };
}

async function signal(client: Client, workflowId: string, name: Signal): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).signal(name);
  } catch (error) {
    // It has ended; or its start is still to come, and it will see for itself.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
