import { DatabaseSilent } from '../../database/pool/availability';
import { withDeadline } from '../../process/deadline';

/**
 * Longest wait for each answer of the database, and for all changes of a request. Then the request
 * is a 503, within the five seconds that are promised.
 */
export const ANSWER_WITHIN_MS = 4_000;
/** The same for `/readyz`, which probes ask every few seconds. */
export const READY_WITHIN_MS = 1_800;

/**
 * Waits so long for the database, also for a statement that has not begun.
 * @throws DatabaseSilent
 */
export function answered<Said>(said: Promise<Said>): Promise<Said> {
  return withDeadline(said, ANSWER_WITHIN_MS, () => {
    throw new DatabaseSilent();
  });
}
