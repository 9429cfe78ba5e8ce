import { DatabaseSilent } from '../../database/availability';
import { withDeadline } from '../../deadline';

/**
 * Longest that a caller waits for the database: for each of its answers, and for all that one
 * request changes. Where it stands still the request is a 503 then, well within the five seconds
 * that are promised.
 */
export const ANSWER_WITHIN_MS = 4_000;
/** The same for `/readyz`, whose caller asks every few seconds. */
export const READY_WITHIN_MS = 1_800;
/**
 * How long an answer of `GET /readyz` serves others too: less than any probe waits before it asks
 * again.
 */
export const READY_KEPT_MS = 1_000;

/**
 * Waits for what the database says for a limited time, also where its statement has not even begun.
 *
 * @throws DatabaseSilent
 */
export function answered<Said>(said: Promise<Said>): Promise<Said> {
  return withDeadline(said, ANSWER_WITHIN_MS, () => {
    throw new DatabaseSilent();
  });
}
