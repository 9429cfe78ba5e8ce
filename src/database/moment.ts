/**
 * How long after it was made a row `r` ended, in seconds of business time; 0 where it is open.
 */
export const afterS = (r: string) =>
  `coalesce(round(extract(epoch FROM ${r}.closed_at - ${r}.created_at), 1), 0)::float8 AS "afterS"`;

/**
 * Microseconds since 1970 as text: the same digits in every session. Nobody can put an operator of
 * the same name before the one that is meant.
 */
export const microseconds = (column: string) =>
  `(extract(epoch FROM ${column}) OPERATOR(pg_catalog.*) 1000000)::bigint::text`;
