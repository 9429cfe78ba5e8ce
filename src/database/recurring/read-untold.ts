import { rows, type Executor } from '../pool/connection';
import type { AuditEvent } from '../record/event';
import type { ScheduleRow } from '../schedule/change-status';

/** The newest of them; there are more only where a workflow was reset to long ago. */
const UNTOLD_MAX = 100;

/** What happened to a schedule, as its audit event says it. */
export type ScheduleEvent = Pick<AuditEvent, 'type' | 'cause' | 'details'>;

/** Up to where the history of a schedule's workflow has what happened. */
export interface ReportedUntil {
  /** Of the last event of the schedule that it has; null where it has none. */
  sequence: number | null;
  /**
   * When the workflow began: RFC 3339, by Temporal's clock. What was done earlier is in the history
   * of an earlier one.
   */
  startedAt: string;
}

/**
 * What happened to a schedule and its workflow's history does not have: the worker died before it
 * could report it, a signal came as the task ended, or the workflow was reset.
 */
export async function eventsUntold(
  db: Executor,
  { id, sequence }: ScheduleRow,
  reported: ReportedUntil | null,
): Promise<ScheduleEvent[]> {
  // Nearly always the history has all of it; a schedule begins with its first event.
  if (reported === null || sequence <= (reported.sequence ?? 1)) return [];
  return rows<ScheduleEvent>(
    db,
    `SELECT type, cause, details FROM (
       SELECT sequence, type, cause, details FROM events
       WHERE resource_id = :id AND sequence > coalesce(:reported, 0)
         AND (:reported::int IS NOT NULL OR recorded_at >= :startedAt)
       ORDER BY sequence DESC LIMIT ${UNTOLD_MAX}) AS newest
     ORDER BY sequence`,
    { id, reported: reported.sequence, startedAt: reported.startedAt },
  );
}
