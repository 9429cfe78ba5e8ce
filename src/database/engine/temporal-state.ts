import { SWEPT, type Swept } from '../../domain/workflow/messages';
import type { Statements } from '../pool/statement';

/**
 * The Temporal namespace that holds the workflows, how far `reconcile` has checked the open rows,
 * and when `sweep` took each kind away.
 *
 * A namespace gets its id when it is created. Another id than before means other data: the
 * workflows that waited in the old one are gone, and all open rows are started again.
 */
interface TemporalState {
  /**
   * This database's own id, by which a namespace knows it. A copy of the database has the same id.
   */
  installation: string;
  /** Null before the first worker. */
  namespaceId: string | null;
  restartingSince: Date | null;
  /** The open row of each kind that was checked last. */
  cursors: Record<string, string>;
  /** Seconds since `reconcile` last checked some open rows. */
  recoverAgeS: number;
  /** Seconds since `sweep` last took a kind away, of the kind for which it is longest. */
  sweepAgeS: number;
}

/**
 * `reconcile` runs once a minute. After a loss it moves its cursor every few seconds, however long
 * the whole restart takes.
 */
export const RECOVER_SILENT_AFTER_S = 300;

/**
 * `sweep` retries a kind for ten minutes, and sweeps no other meanwhile. A kind that has failed in
 * three runs, one after the other, fails always.
 */
export const SWEEP_SILENT_AFTER_S = 1_800;

/**
 * Records the namespace that the workers are on. Several workers may find a new one at once: the
 * UPDATE tells a single worker `lost`.
 *
 * @returns `lost` where the workflows were in another namespace
 */
export async function adoptNamespace(db: Statements, namespaceId: string): Promise<'known' | 'lost'> {
  const found = await db.row<{ lost: boolean }>`
    UPDATE temporal_state SET namespace_id = ${namespaceId},
      restarting_since = CASE WHEN namespace_id IS NOT NULL THEN clock_timestamp() END
    WHERE namespace_id IS DISTINCT FROM ${namespaceId} RETURNING restarting_since IS NOT NULL AS lost`;
  return found?.lost ? 'lost' : 'known';
}

export async function readTemporalState(db: Statements): Promise<TemporalState> {
  return db.oneRow<TemporalState>`
    SELECT installation, namespace_id, restarting_since, cursors,
      greatest(extract(epoch FROM clock_timestamp() - recovered_at), 0)::float8 AS recover_age_s,
      greatest(extract(epoch FROM clock_timestamp() - swept_at), 0)::float8 AS sweep_age_s
    FROM temporal_state, LATERAL (
      SELECT min(coalesce((swept ->> kind)::timestamptz, begun_at)) AS swept_at
      FROM unnest(${SWEPT}::text[]) AS kind) AS oldest`;
}

/** Records how far `reconcile` has come, and that it runs. */
export async function moveCursors(db: Statements, cursors: Record<string, string>): Promise<void> {
  await db.rows`
    UPDATE temporal_state SET cursors = ${cursors}, recovered_at = clock_timestamp()`;
}

/** Records that `sweep` has had its turn with a kind, whether or not some of it is left. */
export async function recordSwept(db: Statements, kind: Swept): Promise<void> {
  await db.rows`
    UPDATE temporal_state SET swept = swept || jsonb_build_object(${kind}::text, clock_timestamp())`;
}

/**
 * Ends the restart that began at `since`.
 *
 * @returns false where a restart that a later loss began goes on
 */
export async function endRestart(db: Statements, since: Date): Promise<boolean> {
  const ended = await db.row`
    UPDATE temporal_state SET restarting_since = NULL
    WHERE date_trunc('milliseconds', restarting_since) = ${since} RETURNING true`;
  return ended !== undefined;
}
