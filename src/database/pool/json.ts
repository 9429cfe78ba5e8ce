import { inSnakeCase } from './letter-case';

/** JSON for a statement; amounts are text, which is exact. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? inner.toString() : inner));
}

/** JSON for `jsonb_to_recordset`, whose columns have the names of the schema. */
export function recordsOf(given: readonly object[]): string {
  return jsonOf(given.map((one) => inSnakeCase(one as Record<string, unknown>)));
}
