import {
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import type { Logger } from 'pino';
import type { Database } from '../database/pool/connection';
import {
  endLease,
  leaseOutboxRows,
  type OutboxRank,
  type OutboxRow,
  type OutboxStart,
} from '../database/outbox';
import { atMostEvery } from '../domain/at-most-every';
import type { Signal } from '../domain/workflow/signal';
import {
  RECURRING_TASK_QUEUE,
  TASK_QUEUE,
  WEBHOOK_TASK_QUEUE,
  WORKFLOW_TYPE,
} from '../domain/workflow/messages';
import { searchAttributes } from './search-attribute-keys';
import { DEADLINE_EXCEEDED } from './fault';

/**
 * Carries outbox rows to Temporal, in each worker.
 *
 * Commits that leave rows wake it by NOTIFY, and it polls for what a crash, an outage or a lost
 * NOTIFY left. Relays run side by side: each leases its rows, calls Temporal, and deletes them. No
 * transaction is open during the call. A crash before the delete carries a row twice, after its
 * lease. A second start meets its workflow's id, and a second signal is harmless because signals
 * carry no data.
 *
 * Starts are eager: relay and worker share a connection, so the server returns the first task with
 * its response and saves a poll. Without a free slot the worker polls for the task.
 */
export interface Relay {
  /** Looks for rows now, or in a moment if it has just looked. Returns at once. */
  kick(): void;
  /** Polls periodically from now on. */
  start(): void;
  /** Ends after the current poll. */
  stop(): Promise<void>;
}

/**
 * Each rank has batches of its own, so that no charge waits for a webhook's start. 100 calls drain
 * a burst well within their lease. 25 later rows leave Temporal time for calls: 100 000
 * signals beside calls take some minutes.
 */
const BATCHES: Record<OutboxRank, number> = { call: 100, later: 25 };
/** Longest call to Temporal: its rows stay leased, though another process may get through. */
const CALL_TIMEOUT_MS = 5_000;
/** Twice the call, so that the rows of a relay that lives are deleted before the lease ends. */
const LEASE_S = 10;
/** A row that Temporal has not taken waits this long, as does the lane if Temporal is silent. */
const PAUSE_S = 2;
/** Looks for rows at most this often while it is woken all the time: each look finds many then. */
const LOOK_EVERY_MS = 20;
/** Longest that a row waits whose NOTIFY was lost, or cannot pass a pooler. */
const POLL_EVERY_MS = 2_000;

/** Carries a start within the trace of the request that caused it. */
export type TraceStart = (
  workflowId: string,
  start: Pick<OutboxStart, 'type' | 'traceparent'>,
  carry: () => Promise<void>,
) => Promise<void>;

interface Relaying {
  /** By `openOutbox`. */
  db: Database;
  /** On the connection of this process's worker. */
  client: Client;
  log: Logger;
  /** Left out where nothing is traced. */
  trace?: TraceStart | undefined;
}

export function createRelay(relaying: Relaying): Relay {
  const lanes = [createLane(relaying, 'call'), createLane(relaying, 'later')];
  let timer: NodeJS.Timeout | undefined;
  const kick = atMostEvery(LOOK_EVERY_MS, () => {
    for (const lane of lanes) lane.kick();
  });
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

/** Carries the rows of a rank, a batch after the other. */
function createLane(relaying: Relaying, rank: OutboxRank) {
  const { db, log } = relaying;
  let polling: Promise<void> | undefined;
  let again = false;
  let quietUntil = 0;
  let stopped = false;
  let size = BATCHES[rank];
  let after = '';

  async function poll(): Promise<void> {
    try {
      while (again && performance.now() >= quietUntil) {
        again = false;
        if (await carryBatch()) again = !stopped;
      }
    } catch (error) {
      beQuiet();
      log.warn({ err: error }, 'the outbox cannot be read');
    } finally {
      polling = undefined;
    }
  }

  /** @returns whether more rows may wait */
  async function carryBatch(): Promise<boolean> {
    const batch = await leaseOutboxRows(db, rank, size, LEASE_S, after);
    ({ after } = batch);
    if (batch.leased.length === 0) return batch.more;
    const failed = await carryAll(relaying, batch.leased);
    const carried = batch.leased.filter((row) => !failed.has(row));
    await endLease(db, carried, [...failed.keys()], PAUSE_S);
    const silent = sayWhy(log, failed);
    if (silent) beQuiet();
    // A slow Temporal gets through smaller batches.
    size = silent ? Math.max(1, Math.floor(size / 2)) : Math.min(BATCHES[rank], size * 2);
    return batch.more;
  }

  function beQuiet(): void {
    quietUntil = performance.now() + PAUSE_S * 1000;
  }

  return {
    kick(): void {
      if (stopped || performance.now() < quietUntil) return;
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

/** @returns the rows that Temporal did not take, with their errors */
async function carryAll(
  { client, trace = (_id, _start, now) => now() }: Relaying,
  messages: OutboxRow[],
): Promise<Map<OutboxRow, unknown>> {
  // One signal does for ten: the workflow reads every change from the database.
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

const lineOf = (some: [OutboxRow, unknown][]) =>
  some[0] && { err: some[0][1], workflowId: some[0][0].workflowId, count: some.length };

/**
 * Logs silence and refusals in a line each, as they need different remedies.
 *
 * @returns whether Temporal was silent
 */
function sayWhy(log: Logger, failed: ReadonlyMap<OutboxRow, unknown>): boolean {
  const unanswered = lineOf([...failed].filter(([, error]) => isUnanswered(error)));
  const refused = lineOf([...failed].filter(([, error]) => !isUnanswered(error)));
  if (unanswered) log.warn(unanswered, 'Temporal does not answer: messages wait in the outbox');
  if (refused) log.warn(refused, 'Temporal refused a message');
  return unanswered !== undefined;
}

/** gRPC statuses. */
const CANCELLED = 1;
const UNAVAILABLE = 14;
/** The worker's connection reports its own deadline as CANCELLED. */
const SILENCE = new Set([CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE]);

/** True if Temporal is away, stands still or is out of reach; a refusal is an answer. */
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
    // The workflow ran and ended: a process carried this row, and died before its delete.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/**
 * A row carried twice may run the workflow twice. The second run finds its work done in the rows.
 * Signal-with-start is wrong here: a new run would take the signal for a change.
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
    // If the run ends before the signal comes, the signal throws and the row comes back.
    await client.workflow.getHandle(options.workflowId).signal(instead);
  }
}

const QUEUE_OF: Partial<Record<string, string>> = {
  [WORKFLOW_TYPE.webhookDelivery]: WEBHOOK_TASK_QUEUE,
  [WORKFLOW_TYPE.recurring]: RECURRING_TASK_QUEUE,
};

/**
 * Order of waiting tasks in a queue, 1 to 5: calls that people wait for, then work with a day's
 * time. Owners of equal priority take turns, as in the outbox: a large owner's thousand must not
 * delay a small owner's bill. A provider's merchants share a turn, as it creates merchants freely.
 */
const PRIORITY_OF: Partial<Record<string, number>> = {
  [WORKFLOW_TYPE.billingRequest]: 1,
  [WORKFLOW_TYPE.intent]: 1,
  [WORKFLOW_TYPE.refund]: 2,
  [WORKFLOW_TYPE.customerMigration]: 5,
  [WORKFLOW_TYPE.bankFile]: 5,
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
    // The workflow has ended; or its start is still to come, and will read the database.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
