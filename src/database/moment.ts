/**
 * How long after it was made a row `r` ended, in seconds of business time; 0 where it is open.
 */
export const afterS = (r: string) =>
  `coalesce(round(extract(epoch FROM ${r}.closed_at - ${r}.created_at), 1), 0)::float8 AS after_s`;

/** A moment as 16 hexadecimal digits, the same in every session: its microseconds since 2000. */
export const microseconds = (column: string) => `encode(timestamptz_send(${column}), 'hex')`;
