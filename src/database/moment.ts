/** Microseconds since 1970 as text: the same digits in every session. */
export const microseconds = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint::text`;
