import {
  Worker,
  type WorkerOptions,
  type ActivityExecuteInput,
  type ActivityInboundCallsInterceptor,
  type Next,
} from '@temporalio/worker';
import {
  BANK_FILE_TASK_QUEUE,
  CUSTOMER_MIGRATION_TASK_QUEUE,
  RECURRING_TASK_QUEUE,
  TASK_QUEUE,
  WEBHOOK_TASK_QUEUE,
} from '../domain/workflow/messages';
import { BANK_FILES, BILLING, CUSTOMER_MIGRATIONS, SCHEDULES, WEBHOOKS } from './capacity';
import type { WorkerTraces } from './tracing';
import { isNativeError } from 'node:util/types';
import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import { isNotConnected, isUnavailable } from '../database/pool/availability';
import { KeyringError } from '../database/keyring/keyring';
import { describeError } from '../process/log';

/**
 * Longest wait at a stop for the work in hand. An effect that takes longer is cut off and runs
 * again in the next worker, which is safe for all effects.
 */
const SHUTDOWN_GRACE = '5s';
const SHUTDOWN_FORCE = '7s';

type Served = Required<Pick<WorkerOptions, 'connection' | 'namespace' | 'workflowBundle' | 'activities'>> & {
  /** Left out without tracing. */
  traces: WorkerTraces | undefined;
};

/** A worker for each task queue; the last two run effects alone. */
export function createWorkers({ workflowBundle, traces, ...served }: Served): Promise<Worker[]> {
  return Promise.all(
    [
      { taskQueue: TASK_QUEUE, workflowBundle, ...BILLING },
      { taskQueue: RECURRING_TASK_QUEUE, workflowBundle, ...SCHEDULES },
      { taskQueue: WEBHOOK_TASK_QUEUE, workflowBundle, ...WEBHOOKS },
      { taskQueue: CUSTOMER_MIGRATION_TASK_QUEUE, ...CUSTOMER_MIGRATIONS },
      { taskQueue: BANK_FILE_TASK_QUEUE, ...BANK_FILES },
    ].map((own) =>
      Worker.create({
        ...served,
        ...own,
        interceptors: {
          activity: [...(traces ? [traces.activities] : []), () => ({ inbound: effectFailures })],
        },
        shutdownGraceTime: SHUTDOWN_GRACE,
        shutdownForceTime: SHUTDOWN_FORCE,
      }),
    ),
  );
}

type Runnable = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

/**
 * Runs the workers until all have ended. A failure of any stops the others. A process that does
 * half of its work would look alive, and keep its share of tasks from healthy processes.
 *
 * @throws the first worker's failure
 */
export async function runTogether(workers: Runnable[]): Promise<void> {
  const ended = await Promise.allSettled(
    workers.map(async (worker) => {
      try {
        await worker.run();
      } finally {
        stopAll(workers);
      }
    }),
  );
  const failed = ended.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Stops the workers that still run; each drains and ends. */
export function stopAll(workers: Runnable[]): void {
  for (const worker of workers) {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  }
}

/**
 * The failure that an effect leaves in a workflow's history: its meaning in words, and its kind and
 * code, as in the log. The error itself stays out: Postgres quotes statements and values in its
 * messages, and many people read histories.
 */
export const effectFailures: ActivityInboundCallsInterceptor = {
  async execute(
    input: ActivityExecuteInput,
    next: Next<ActivityInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    try {
      return await next(input);
    } catch (error) {
      // Cancellation, and failures made for the history, are the SDK's own language.
      if (error instanceof TemporalFailure) throw error;
      const described = describeError(error) as Record<string, string | undefined>;
      const { type, code, constraint, column, message, stack } = described;
      const said = quotesWhatItRead(error) ? type : (message ?? type);
      // The names are the schema's.
      const what = [
        said,
        constraint ?? column,
        code !== undefined && said?.includes(code) ? undefined : code,
      ];
      const failure = ApplicationFailure.create({
        ...(type !== undefined && { type }),
        message: `${inWords(error)} (${what.filter((part) => part !== undefined).join(' ')})`,
      });
      // The stack shows the place, without the error's own words.
      failure.stack = `${failure.name}: ${failure.message}\n${stack ?? ''}`;
      throw failure;
    }
  },
};

/** Meanings of Postgres's errors, by SQLSTATE. Its other transient codes mean that it is away. */
const ANSWERS: [codes: RegExp, words: string][] = [
  [/^57014$/, 'A statement took too long, and Postgres ended it'],
  [/^(55P03|40001|40P01)$/, 'Another transaction holds the row, or has changed it meanwhile'],
  [/^53/, 'Postgres has no connection, memory or disk left'],
  [/^25006$/, 'Postgres is read-only, as a server left behind by a failover is'],
  [/^(23|P0001)/, 'A rule of the database refused it'],
];

function inWords(error: unknown): string {
  const code = isNativeError(error) && 'code' in error ? String(error.code) : '';
  const answer = ANSWERS.find(([codes]) => codes.test(code));
  if (answer) return answer[1];
  if (isUnavailable(error) || isNotConnected(error)) return 'Postgres cannot be reached, or does not answer';
  if (error instanceof KeyringError) return 'The keyring cannot decrypt a stored value';
  if (error instanceof ServiceError || isGrpcServiceError(error))
    return 'Temporal does not answer, or refuses what it is asked for';
  return 'Something unexpected: the worker’s log says where';
}

/** Errors of a parser quote some of the text that could not be read. */
function quotesWhatItRead(error: unknown): boolean {
  return isNativeError(error) && (error.name === 'SyntaxError' || error.name === 'RangeError');
}
