/**
 * A moment to come in business time, as a workflow needs it: how long to sleep, and what to tell an
 * operator.
 */
export interface Moment {
  /**
   * Milliseconds until then, at least 0, rounded up so that a sleep ends after it and not just
   * before.
   */
  inMs: number;
  /** RFC 3339, by the clock of whoever owns the row: the merchant's test clock, in a sandbox. */
  at: string;
}
