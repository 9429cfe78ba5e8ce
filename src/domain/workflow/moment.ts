/** A future moment in business time: how long to sleep, and the time to show an operator. */
export interface Moment {
  /** Milliseconds until then, at least 0, rounded up so that no sleep ends before it. */
  inMs: number;
  /** RFC 3339, by the biller's clock: in a sandbox its test clock. */
  at: string;
}
