import { rows, type Executor } from '../pool/connection';
import type { AuditEvent } from '../record/event';
import type { ScheduleRow } from '../schedule/change-status';

/** The newest events; more exist only where a workflow was reset to long ago. */
const UNTOLD_MAX = 100;

/** A schedule's change, as its audit event records it. */
export type ScheduleEvent = Pick<AuditEvent, 'type' | 'cause' | 'details'>;

/** The point up to which the history of a schedule's workflow has its events. */
export interface ReportedUntil {
  /** The sequence of the last event in the history; null where the history has none. */
  sequence: number | null;
  /**
   * The workflow's start: RFC 3339, by Temporal's clock. An earlier workflow's history has the
   * events before it.
   */
  startedAt: string;
}

/**
 * Events that a workflow's history lacks. The worker died before its report, a signal came as the
 * task ended, or the workflow was reset.
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
