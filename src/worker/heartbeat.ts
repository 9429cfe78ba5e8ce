import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Database } from '../database/connection';
import { deleteHeartbeat, writeHeartbeat } from '../database/operation/worker-heartbeat';
import { namespaceId } from '../temporal/readiness';
import { VERSION } from '../version';

/**
 * Says every few seconds, in Postgres, that this worker lives, that Temporal answers it, and what it has in hand.
 *
 * It runs on the event loop that does the work: a process that is frozen, or busy without end, falls silent.
 */
export interface HeartbeatTimer {
  stop(): Promise<void>;
}

const BEAT_EVERY_MS = 3_000;

/** @param attend called for a namespace that this process has not seen before, until it succeeds */
export function startHeartbeat(
  db: Database,
  client: Client,
  workers: Pick<Worker, 'getStatus'>[],
  log: Pick<Logger, 'warn'>,
  attend: (namespaceId: string) => Promise<void>,
): HeartbeatTimer {
  const workerId = `${process.pid}@${hostname()}-${randomBytes(3).toString('hex')}`;
  const stopped = new AbortController();

  let attended: string | undefined;

  async function beat(): Promise<void> {
    const namespace = await namespaceId(client).catch(() => undefined);
    const inHand = workers.map((worker) => worker.getStatus());
    await writeHeartbeat(db, {
      workerId,
      version: VERSION,
      reachesTemporal: namespace !== undefined,
      workflowTasks: sum(inHand.map((one) => one.numInFlightWorkflowActivations)),
      activities: sum(inHand.map((one) => one.numInFlightActivities)),
    });
    if (namespace === undefined || namespace === attended) return;
    try {
      await attend(namespace);
      attended = namespace;
    } catch (error) {
      log.warn({ err: error }, 'the Temporal namespace cannot be prepared yet');
    }
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      await beat().catch((error: unknown) => log.warn({ err: error }, 'a heartbeat is missed'));
      await wait(BEAT_EVERY_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
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
