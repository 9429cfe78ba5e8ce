/**
 * Microseconds since 1970 as text: the same digits in every session. Nobody can put an operator of
 * the same name before the one that is meant.
 */
export const microseconds = (column: string) =>
  `(extract(epoch FROM ${column}) OPERATOR(pg_catalog.*) 1000000)::bigint::text`;
