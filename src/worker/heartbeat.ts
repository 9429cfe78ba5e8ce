import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Database } from '../database/pool/connection';
import { deleteHeartbeat, writeHeartbeat } from '../database/engine/worker-heartbeat';
import type { Problem } from '../domain/failures';
import { namespaceId, serviceWarnings } from '../temporal/readiness';
import { VERSION } from '../process/version';

/**
 * Writes to Postgres every few seconds that this worker lives, whether Temporal answers it, and its
 * tasks in hand.
 *
 * The timer runs on the event loop that does the work: a process that is frozen, or busy without
 * end, falls silent.
 */

const HEARTBEAT_EVERY_MS = 3_000;
/**
 * While `reconcile` does not run, its namespace is attended to this often: a deleted Temporal
 * Schedule runs again within a minute.
 */
const ATTEND_AGAIN_MS = 60_000;
/** All but `verify`, which is late only after two days, run at least every five minutes. */
const FIRST_RUNS_WITHIN_S = 360;

interface HeartbeatOptions {
  db: Database;
  client: Client;
  workers: Pick<Worker, 'getStatus'>[];
  log: Pick<Logger, 'info' | 'warn'>;
  /** The namespace at the start. */
  attended: string;
  /**
   * Called for a namespace that is new to this process, until it succeeds, and again while
   * `reconcile` does not run.
   */
  attend: (namespaceId: string) => Promise<void>;
}

export function startHeartbeat({ db, client, workers, log, attended, attend }: HeartbeatOptions) {
  const workerId = `${process.pid}@${hostname()}-${randomBytes(3).toString('hex')}`;
  const stopped = new AbortController();

  let known = attended;
  let againAt = 0;

  /** Warnings to log and attend to; at most once a minute. */
  async function newWarnings(): Promise<Problem[]> {
    const warnings = performance.now() < againAt ? [] : await serviceWarnings(db);
    if (warnings.length > 0) againAt = performance.now() + ATTEND_AGAIN_MS;
    return warnings;
  }

  async function recordHeartbeat(): Promise<void> {
    const namespace = await namespaceId(client).catch(() => undefined);
    const inHand = workers.map((worker) => worker.getStatus());
    await writeHeartbeat(db, {
      workerId,
      version: VERSION,
      reachesTemporal: namespace !== undefined,
      workflowTasks: sum(inHand.map((one) => one.numInFlightWorkflowActivations)),
      activities: sum(inHand.map((one) => one.numInFlightActivities)),
    });
    if (namespace === undefined) return;
    const warnings = await newWarnings();
    // A worker that is new may end an outage of the whole service.
    const level = process.uptime() > FIRST_RUNS_WITHIN_S ? 'warn' : 'info';
    for (const { path, message } of warnings) log[level](`${path} ${message}`);
    if (namespace === known && warnings.length === 0) return;
    try {
      await attend(namespace);
      known = namespace;
    } catch (error) {
      log.warn({ err: error }, 'the Temporal namespace cannot be prepared yet');
    }
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      await recordHeartbeat().catch((error: unknown) => log.warn({ err: error }, 'a heartbeat is missed'));
      await wait(HEARTBEAT_EVERY_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
    // A worker that has ended is not a silent one.
    await deleteHeartbeat(db, workerId).catch(() => undefined);
  }

  const running = run();
  return {
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
