import type { Client } from '@temporalio/client';
import { CHAIN_SILENT_AFTER_S, chainAgeS } from '../database/chain/extend-chain';
import { NO_ANSWER, ONLY_READS, postgresFault } from '../database/pool/availability';
import type { Database } from '../database/pool/connection';
import type { Keyring } from '../database/keyring/keyring';
import { ringFaults } from '../database/key-rotation/claim-keyring';
import {
  readTemporalState,
  RECOVER_SILENT_AFTER_S,
  SWEEP_SILENT_AFTER_S,
} from '../database/engine/temporal-state';
import { workerFault } from '../database/engine/worker-heartbeat';
import { readLastResult, VERIFY_SILENT_AFTER_S } from '../database/verify/nightly-result';
import type { Problem } from '../domain/failures';
import { temporalFault } from './fault';

const ofPostgres = (message: string): Problem => ({ path: 'postgres', message });

export const POSTGRES_AWAY = ofPostgres(NO_ANSWER);

const TEMPORAL_LOST: Problem = {
  path: 'temporal',
  message: 'has lost its workflows; all open ones are being started again',
};

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
    const { onlyReads } = await db.oneRow<{ onlyReads: boolean }>`
      SELECT business_now(NULL), current_setting('transaction_read_only')::boolean AS only_reads`;
    return onlyReads ? [ofPostgres(ONLY_READS)] : [];
  } catch (error) {
    return [ofPostgres(postgresFault(error))];
  }
}

/** Keys that stored data need and that the keyring lacks. */
export async function ringProblems(db: Database, ring: Keyring): Promise<Problem[]> {
  return (await ringFaults(db, ring)).map((fault) => ({ path: 'keys', message: `ASSENT_KEYS ${fault}` }));
}

/** No worker lives, or no living worker reaches Temporal. */
export async function workerProblems(db: Database): Promise<Problem[]> {
  const message = await workerFault(db);
  return message === undefined ? [] : [{ path: 'worker', message }];
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
async function workflowProblems(db: Database, client: Client): Promise<Problem[]> {
  const [temporal, restart, worker] = await Promise.all([
    temporalProblems(client),
    restartProblems(db).catch(() => []),
    workerProblems(db).catch(() => []),
  ]);
  return temporal.length > 0 ? temporal : [...restart, ...worker];
}

/** The servers that a process needs, in order of need, with the problems of each. */
export function dependenciesOf(db: Database, client: Client) {
  return [
    { names: ['postgres'], problems: () => databaseProblems(db) },
    { names: ['keys'], problems: () => ringProblems(db, db.keyring) },
    { names: ['temporal', 'worker'], problems: () => workflowProblems(db, client) },
  ];
}

export async function serviceProblems(db: Database, client: Client): Promise<Problem[]> {
  const [postgres, keys, workflows] = await Promise.all([
    databaseProblems(db),
    // The keys are unknown while Postgres is away.
    ringProblems(db, db.keyring).catch(() => []),
    workflowProblems(db, client),
  ]);
  return [...postgres, ...keys, ...workflows];
}

/**
 * Scheduled workflows that have fallen silent. No caller feels it now, but a lost workflow or a
 * change by hand would go unnoticed, and what has expired would stay. After an outage of the whole
 * service all are silent for some minutes.
 */
export async function serviceWarnings(db: Database): Promise<Problem[]> {
  const [{ recoverAgeS, sweepAgeS }, chainedAgeS, verified] = await Promise.all([
    readTemporalState(db),
    chainAgeS(db),
    readLastResult(db),
  ]);
  return [
    { path: 'reconcile', ageS: recoverAgeS, afterS: RECOVER_SILENT_AFTER_S },
    { path: 'chain', ageS: chainedAgeS, afterS: CHAIN_SILENT_AFTER_S },
    { path: 'verify', ageS: verified.ageS, afterS: VERIFY_SILENT_AFTER_S },
    { path: 'sweep', ageS: sweepAgeS, afterS: SWEEP_SILENT_AFTER_S },
  ]
    .filter(({ ageS, afterS }) => ageS > afterS)
    .map(({ path, ageS }) => ({ path, message: `has not run for ${Math.floor(ageS)} s: ${SEE_SCHEDULE}` }));
}

const SEE_SCHEDULE =
  'after an outage it runs within minutes; otherwise "assent doctor" says whether its Temporal Schedule is paused';
