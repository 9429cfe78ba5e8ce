import type { Problem } from '../../domain/failures';
import { row, rows, type Executor } from '../connection';

/**
 * Which Temporal holds the workflows of what is open, and how far these have been looked at.
 *
 * A namespace gets its id when it is made. Another id than before means other data: the workflows
 * that slept in it are gone, and all that is open is started again.
 */
export interface TemporalState {
  namespaceId: string;
  restartingSince: Date | null;
  cursorKind: string;
  cursorAfter: string;
}

/**
 * Takes note of the namespace that the workers are on. Of several workers that find a new one at
 * once, one is told `lost`.
 *
 * @returns `lost` where the workflows were in another namespace
 */
export async function adoptNamespace(db: Executor, namespaceId: string): Promise<'known' | 'lost'> {
  const lost = await row(
    db,
    `UPDATE temporal_state SET namespace_id = :namespaceId, restarting_since = clock_timestamp(), cursor_kind = '',
       cursor_after = ''
     WHERE namespace_id <> :namespaceId RETURNING namespace_id`,
    { namespaceId },
  );
  if (lost) return 'lost';
  await rows(db, `INSERT INTO temporal_state (namespace_id) VALUES (:namespaceId) ON CONFLICT DO NOTHING`, {
    namespaceId,
  });
  return 'known';
}

/** Undefined before the first worker. */
export async function readTemporalState(db: Executor): Promise<TemporalState | undefined> {
  return row<TemporalState>(
    db,
    `SELECT namespace_id AS "namespaceId", restarting_since AS "restartingSince", cursor_kind AS "cursorKind",
       cursor_after AS "cursorAfter"
     FROM temporal_state`,
  );
}

export async function moveCursor(db: Executor, kind: string, after: string): Promise<void> {
  await rows(db, `UPDATE temporal_state SET cursor_kind = :kind, cursor_after = :after`, { kind, after });
}

/** Ends the restart that was begun at `since`; one that a later loss began goes on. */
export async function endRestart(db: Executor, since: Date): Promise<void> {
  await rows(
    db,
    `UPDATE temporal_state SET restarting_since = NULL, cursor_kind = '', cursor_after = ''
     WHERE date_trunc('milliseconds', restarting_since) = :since`,
    { since },
  );
}

/** A problem until all that is open has been started again. */
export async function restartProblems(db: Executor): Promise<Problem[]> {
  const state = await readTemporalState(db);
  if (!state?.restartingSince) return [];
  return [
    { path: 'temporal', message: 'has lost what it waited for; all that is open is being started again' },
  ];
}
