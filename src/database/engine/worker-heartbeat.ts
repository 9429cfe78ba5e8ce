import { raw, type Statements } from '../pool/statement';

/**
 * Which workers live, by rows that the workers write.
 *
 * Temporal remembers a poll for minutes, so it cannot tell a frozen worker from one that works. A
 * worker's own process writes its row every few seconds, and the database's clock alone judges its
 * age.
 */
interface Heartbeat {
  workerId: string;
  version: string;
  /** Whether Temporal has just answered this worker. */
  reachesTemporal: boolean;
  workflowTasks: number;
  /** Activities in hand, local ones included. */
  activities: number;
}

/**
 * A worker sends a heartbeat every 3 s, and up to 5 s when Temporal is slow; one may be lost on a
 * busy machine.
 */
const SILENT_AFTER_S = 10;
/** Seconds for which a silent worker is still listed. */
const FORGOTTEN_AFTER_S = 3600;
/** Workers listed at most; a service has a few. */
const LISTED_MAX = 100;

export async function writeHeartbeat(db: Statements, heartbeat: Heartbeat): Promise<void> {
  await db.rows`
    WITH forgotten AS (
      DELETE FROM worker_heartbeats
      WHERE beat_at < clock_timestamp() - ${raw(FORGOTTEN_AFTER_S)} * interval '1 second'
        AND worker_id <> ${heartbeat.workerId}
    )
    INSERT INTO worker_heartbeats (worker_id, version, temporal_at, workflow_tasks, activities)
    VALUES (${heartbeat.workerId}, ${heartbeat.version}, CASE
      WHEN ${heartbeat.reachesTemporal}::boolean THEN clock_timestamp() END,
      ${heartbeat.workflowTasks}, ${heartbeat.activities})
    ON CONFLICT (worker_id) DO UPDATE SET beat_at = clock_timestamp(),
      temporal_at = coalesce(excluded.temporal_at, worker_heartbeats.temporal_at),
      workflow_tasks = excluded.workflow_tasks, activities = excluded.activities`;
}

/** Removes the row of a worker that ends in order. */
export async function deleteHeartbeat(db: Statements, workerId: string): Promise<void> {
  await db.rows`DELETE FROM worker_heartbeats WHERE worker_id = ${workerId}`;
}

/** Removes all rows where no worker runs, so that the rows of dead workers do not pass for life. */
export async function deleteAllHeartbeats(db: Statements): Promise<void> {
  await db.rows`DELETE FROM worker_heartbeats`;
}

interface WorkerState extends Omit<Heartbeat, 'reachesTemporal'> {
  startedAt: Date;
  beatAt: Date;
  beatAgeS: number;
  /** Seconds since Temporal last answered it; null where it never has. */
  temporalAgeS: number | null;
  alive: boolean;
}

/** Living workers, and workers silent for less than an hour; the latest heartbeat first. */
export async function listWorkers(db: Statements): Promise<WorkerState[]> {
  return db.rows<WorkerState>`
    SELECT worker_id, version, started_at, beat_at, workflow_tasks, activities, age_s AS beat_age_s,
      greatest(extract(epoch FROM clock_timestamp() - temporal_at), 0)::float8 AS temporal_age_s,
      age_s <= ${raw(SILENT_AFTER_S)} AS alive
    FROM worker_heartbeats,
      LATERAL (SELECT greatest(extract(epoch FROM clock_timestamp() - beat_at), 0)::float8 AS age_s) AS t
    ORDER BY beat_at DESC LIMIT ${raw(LISTED_MAX)}`;
}

/**
 * The fault that keeps all workers from their work: none lives, or no living worker reaches
 * Temporal.
 */
export async function workerFault(db: Statements): Promise<string | undefined> {
  const { beatAgeS, temporalAgeS } = await db.oneRow<{
    beatAgeS: number | null;
    temporalAgeS: number | null;
  }>`
    SELECT extract(epoch FROM clock_timestamp() - max(beat_at))::float8 AS beat_age_s,
      extract(epoch FROM clock_timestamp() - max(temporal_at))::float8 AS temporal_age_s
    FROM worker_heartbeats`;
  if (beatAgeS === null) return 'no worker has sent a heartbeat yet';
  if (beatAgeS > SILENT_AFTER_S) return `no worker has sent a heartbeat for ${Math.floor(beatAgeS)} s`;
  if (temporalAgeS === null) return 'no worker has reached Temporal yet';
  if (temporalAgeS > SILENT_AFTER_S)
    return `no worker has reached Temporal for ${Math.floor(temporalAgeS)} s`;
  return undefined;
}
