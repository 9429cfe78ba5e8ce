/**
 * How long after it was made a row `r` ended, in seconds of business time; 0 where it is open.
 */
export const afterS = (r: string) =>
  `coalesce(round(extract(epoch FROM ${r}.closed_at - ${r}.created_at), 1), 0)::float8 AS after_s`;

/** A moment as 16 hexadecimal digits, the same in every session: its microseconds since 2000. */
export const microseconds = (column: string) => `encode(timestamptz_send(${column}), 'hex')`;

/**
 * The furthest that any test clock is ahead: an index in the order of time is read as far as that.
 * In production it is 0.
 */
export const FURTHEST = `now() + coalesce((SELECT max(clock_offset) FROM entities WHERE clock_offset > '0'), '0')`;
