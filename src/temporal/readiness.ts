import type { Client } from '@temporalio/client';
import { CHAIN_SILENT_AFTER_S, chainAgeS } from '../database/chain/extend-chain';
import type { Database } from '../database/pool/connection';
import type { Keyring } from '../database/keys/keyring';
import { ringFaults } from '../database/key-rotation/claim-keyring';
import { readTemporalState, RECONCILE_SILENT_AFTER_S } from '../database/engine/temporal-state';
import { oldestWorkerAgeS, workerFault } from '../database/engine/worker-heartbeat';
import { readLastResult, VERIFY_SILENT_AFTER_S } from '../database/verify/nightly-result';
import type { Problem } from '../domain/failures';
import { POSTGRES_AWAY, ringProblem, TEMPORAL_LOST, workerProblem } from '../domain/words/service-words';
import { temporalFault } from './fault';
import { scheduleState, type ScheduleState } from './schedules';

/** Longest that a readiness check, or a worker's heartbeat, waits for Temporal. */
const ANSWER_WITHIN_MS = 1_800;

/**
 * The id that Temporal gave the namespace at its creation. Another id means that Temporal lost its
 * data.
 *
 * @throws if Temporal does not answer
 */
export async function namespaceId(client: Client): Promise<string> {
  const { namespace } = client.options;
  const { namespaceInfo } = await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
    client.workflowService.describeNamespace({ namespace }),
  );
  return namespaceInfo?.id ?? '';
}

/** Covers a missing or outdated schema too. */
export async function databaseProblems(db: Database): Promise<Problem[]> {
  try {
    await db.query('SELECT business_now(NULL)');
    return [];
  } catch {
    return [POSTGRES_AWAY];
  }
}

/** Keys that stored data need and that the keyring lacks. */
export async function ringProblems(db: Database, ring: Keyring): Promise<Problem[]> {
  return (await ringFaults(db, ring)).map(ringProblem);
}

/** No worker lives, or no living worker reaches Temporal. */
export async function workerProblems(db: Database): Promise<Problem[]> {
  const fault = await workerFault(db);
  return fault ? [workerProblem(fault)] : [];
}

/** A problem until all open workflows have been started again. */
export async function restartProblems(db: Database): Promise<Problem[]> {
  return (await readTemporalState(db)).restartingSince ? [TEMPORAL_LOST] : [];
}

export async function temporalProblems(client: Client): Promise<Problem[]> {
  try {
    await namespaceId(client);
    return [];
  } catch (error) {
    return [{ path: 'temporal', message: temporalFault(error, client.options.namespace).what }];
  }
}

/**
 * Problems that stop workflows: Temporal is away, or no living worker reaches it. While Postgres is
 * away the workers are unknown, and `databaseProblems` reports Postgres.
 */
export async function workflowProblems(db: Database, client: Client): Promise<Problem[]> {
  const [temporal, restart, worker] = await Promise.all([
    temporalProblems(client),
    restartProblems(db).catch(() => []),
    workerProblems(db).catch(() => []),
  ]);
  return temporal.length > 0 ? temporal : [...restart, ...worker];
}

export async function serviceProblems(db: Database, ring: Keyring, client: Client): Promise<Problem[]> {
  const [postgres, keys, workflows] = await Promise.all([
    databaseProblems(db),
    // The keys are unknown while Postgres is away.
    ringProblems(db, ring).catch(() => []),
    workflowProblems(db, client),
  ]);
  return [...postgres, ...keys, ...workflows];
}

const DO_ABOUT = {
  paused: 'its Temporal Schedule is paused; unpause it in the Temporal UI',
  missing: 'its Temporal Schedule is gone; a worker creates it again within a minute',
  running: 'look at its last runs in the Temporal UI, they say why',
  unknown: 'Temporal does not answer',
} as const;

/**
 * Watchers that have fallen silent. No caller feels it now, but a lost workflow or a change by hand
 * would go unnoticed. A first run after the whole service was down is not late.
 */
export async function serviceWarnings(db: Database, client: Client): Promise<Problem[]> {
  const [{ reconcileAgeS }, chainedAgeS, verified] = await Promise.all([
    readTemporalState(db),
    chainAgeS(db),
    readLastResult(db),
  ]);
  const silent = [
    { path: 'reconcile', ageS: reconcileAgeS, afterS: RECONCILE_SILENT_AFTER_S },
    { path: 'chain', ageS: chainedAgeS, afterS: CHAIN_SILENT_AFTER_S },
    { path: 'verify', ageS: verified.ageS, afterS: VERIFY_SILENT_AFTER_S },
  ] as const;
  const problems = await Promise.all(
    silent
      .filter(({ ageS, afterS }) => ageS > afterS)
      .map(async ({ path, ageS }) => {
        // Describing a Schedule waits far longer than it takes to see that Temporal is away.
        const schedule = await namespaceId(client)
          .then(() => scheduleState(client, path))
          .catch(() => ({ is: 'unknown' as const }));
        if (isYetToRun(schedule, ageS) && (await areWorkersNew(db))) return [];
        return [{ path, message: `has not run for ${Math.floor(ageS)} s: ${DO_ABOUT[schedule.is]}` }];
      }),
  );
  return problems.flat();
}

/** Temporal may start a run this late, or its clock may be ahead of ours. */
const LATE_MAX_MS = 10_000;

/** All but `verify`, which is late only after two days, run at least every five minutes. */
const FIRST_RUN_WITHIN_S = 360;

/**
 * Tells a service that was down until just now: no run has been due since the last run. A run that
 * hangs is open, and keeps the next from starting.
 */
function isYetToRun(schedule: ScheduleState | { is: 'unknown' }, ageS: number): boolean {
  if (schedule.is !== 'running' || schedule.hasOpenRun || !schedule.nextAt) return false;
  const now = Date.now();
  const hasStarted = schedule.startedAt && schedule.startedAt.getTime() > now - ageS * 1000;
  return !hasStarted && schedule.nextAt.getTime() > now - LATE_MAX_MS;
}

/**
 * A start that Temporal refuses leaves no trace in a Schedule, which looks as if its first run were
 * yet to come. Workers older than a first run unmask that Schedule. Without workers no run is due.
 */
async function areWorkersNew(db: Database): Promise<boolean> {
  const ageS = await oldestWorkerAgeS(db);
  return ageS === null || ageS < FIRST_RUN_WITHIN_S;
}
