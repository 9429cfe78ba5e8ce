import {
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
  type OutboxRow,
  type OutboxStart,
} from '../database/outbox';
import { runOf } from '../domain/workflow-id';
import {
  RECURRING_TASK_QUEUE,
  TASK_QUEUE,
  WAKE_SIGNAL,
  WEBHOOK_TASK_QUEUE,
  WORKFLOW_TYPE,
} from '../workflows/messages';
import { searchAttributes } from '../workflows/search-attributes';

/**
 * Carries outbox rows to Temporal, in each worker.
 *
 * It looks many times a second, so that what was committed reaches Temporal in a moment, also after a crash or an outage.
 * Any number of relays may run at once: each passes over the rows that another has in hand. A row may reach
 * Temporal twice, when a crash comes between the call and the commit; business ids as workflow ids make the
 * second start, and a signal's carrying no news makes the second signal, harmless.
 *
 * Where a start says that the first look can wait, its relay tells the bank itself, and Temporal holds the workflow's first
 * task back. A bank that answers meanwhile has cost one workflow task, not two.
 */
export interface Relay {
  /** Looks now; returns at once. Calls while a look is under way make it look once more, not many times. */
  kick(): void;
  /** Looks again and again from now on. */
  watch(): void;
  /** Ends after the look, and the telling, in hand. */
  stop(): Promise<void>;
}

/** Rows a look takes at once: enough to drain a burst, few enough that one transaction stays short. */
const BATCH = 100;
/** Longest wait for one call to Temporal. The rows are locked meanwhile, and another process may do better. */
const CALL_TIMEOUT_MS = 5_000;
/** After Temporal failed: how long the rows, and this process, leave it alone. */
const PAUSE_S = 2;
/** Short beside the way to a bank and back; and in a busy worker, one look carries all that came since the last. */
const WATCH_MS = 50;
/** Told for at once, with ten attempts each at most. Where more start, their own first looks tell, as many as there are slots. */
const TELLING_MAX = 100;

/**
 * @param tell makes the first attempts of what a workflow's work has announced. What it leaves undone, the workflow's first
 *   look finds
 */
export function createRelay(
  db: Database,
  client: Client,
  log: Logger,
  tell: (carrier: string) => Promise<unknown>,
): Relay {
  let looking: Promise<void> | undefined;
  let again = false;
  let quietUntil = 0;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const telling = new Set<Promise<void>>();

  async function look(): Promise<void> {
    try {
      while (again) {
        again = false;
        if (!(await outboxHasRows(db))) continue;
        if ((await carryBatch()) === BATCH) again = true;
      }
    } catch (error) {
      quietUntil = Date.now() + PAUSE_S * 1000;
      log.warn({ err: error }, 'messages to Temporal wait in the outbox');
    } finally {
      looking = undefined;
    }
  }

  /** @returns how many rows it took out */
  async function carryBatch(): Promise<number> {
    return db.transaction(async (trx) => {
      const taken = await takeOutboxRows(trx, BATCH);
      const waits = new Set(
        taken
          .filter((message) => message.start?.firstLookInMs !== undefined)
          .slice(0, Math.max(0, TELLING_MAX - telling.size)),
      );
      // What they announced is committed, and the bank need not wait for Temporal. Should the row come back, all is told.
      for (const { workflowId } of waits) tellFor(workflowId);
      // One wake says as much as ten: its workflow looks at the database, which knows of all of them.
      const wakes = new Map<string, Promise<void>>();
      const carryOnce = (message: OutboxRow): Promise<void> => {
        if (message.kind === 'start') return carry(client, message, waits.has(message));
        const carried = wakes.get(message.workflowId) ?? carry(client, message, false);
        wakes.set(message.workflowId, carried);
        return carried;
      };
      const outcomes = await Promise.allSettled(taken.map(carryOnce));
      const returned = taken.filter((_, i) => outcomes[i]?.status === 'rejected');
      await returnOutboxRows(trx, returned, PAUSE_S);
      const failure = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failure)
        log.warn({ err: failure.reason as unknown, count: returned.length }, 'Temporal took no message');
      return taken.length;
    });
  }

  function tellFor(carrier: string): void {
    const told = tell(carrier)
      .catch((error: unknown) => log.warn({ err: error, carrier }, 'telling is left to the first look'))
      .then(() => void telling.delete(told));
    telling.add(told);
  }

  function kick(): void {
    if (stopped || Date.now() < quietUntil) return;
    again = true;
    looking ??= look();
  }

  return {
    kick,
    watch() {
      timer ??= setInterval(kick, WATCH_MS);
    },
    async stop() {
      stopped = true;
      again = false;
      clearInterval(timer);
      await looking;
      await Promise.all(telling);
    },
  };
}

async function carry(
  client: Client,
  { workflowId, start: options }: OutboxRow,
  waits: boolean,
): Promise<void> {
  await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => {
    if (options === null) return wake(client, workflowId);
    return options.again
      ? startAgain(client, workflowId, options)
      : start(client, workflowId, options, waits);
  });
}

async function start(
  client: Client,
  workflowId: string,
  options: OutboxStart,
  waits: boolean,
): Promise<void> {
  try {
    await client.workflow.start(options.type, {
      ...startOptions(workflowId, options),
      ...(waits && options.firstLookInMs !== undefined && { startDelay: options.firstLookInMs }),
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    });
  } catch (error) {
    // It ran and ended already: this row was carried before, by a process that died before its commit.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/**
 * Carried twice it may run a workflow twice, the second time for nothing: what the first has done is in the rows.
 * Not a start with a signal in one call, for a run that has just begun would take the signal for news.
 */
async function startAgain(client: Client, workflowId: string, options: OutboxStart): Promise<void> {
  try {
    await client.workflow.start(options.type, {
      ...startOptions(workflowId, options),
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.FAIL,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    // Should it end before it is woken, this throws, and the row comes back to start it.
    await client.workflow.getHandle(workflowId).signal(WAKE_SIGNAL);
  }
}

const QUEUE_OF: Partial<Record<string, string>> = {
  [WORKFLOW_TYPE.webhookDelivery]: WEBHOOK_TASK_QUEUE,
  [WORKFLOW_TYPE.recurring]: RECURRING_TASK_QUEUE,
};

function startOptions(workflowId: string, options: OutboxStart) {
  return {
    workflowId,
    taskQueue: QUEUE_OF[options.type] ?? TASK_QUEUE,
    args: options.args,
    typedSearchAttributes: searchAttributes(options.attributes),
    staticSummary: options.summary,
  };
}

/**
 * Whose first looks may wait. A mere signal does not end such a wait, but one that comes with a start does (Temporal's
 * documentation, "Start Delay"). It starts none before its time, for no wake is carried before its workflow's start. Where
 * Temporal has lost a workflow, the new run finds in the rows what is open.
 */
const MAY_WAIT: ReadonlySet<string> = new Set(['intent', 'billing-request', 'billing-batch']);

async function wake(client: Client, workflowId: string): Promise<void> {
  const [kind = ''] = workflowId.split('/');
  try {
    if (MAY_WAIT.has(kind)) {
      const { type, args } = runOf(workflowId);
      await client.workflow.signalWithStart(type, {
        workflowId,
        taskQueue: TASK_QUEUE,
        args,
        signal: WAKE_SIGNAL,
        workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      });
    } else {
      await client.workflow.getHandle(workflowId).signal(WAKE_SIGNAL);
    }
  } catch (error) {
    const hasEnded =
      error instanceof WorkflowNotFoundError || error instanceof WorkflowExecutionAlreadyStartedError;
    if (!hasEnded) throw error;
  }
}
