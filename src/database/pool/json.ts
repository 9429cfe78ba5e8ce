/** JSON for statements, whose columns have names of their own (`merchant_id` for `merchantId`). */

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A record with the names of columns. */
export const inSnakeCase = <Value>(one: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(one).map(([name, value]) => [snakeCase(name), value]));

/** JSON for a statement; amounts are text, which is exact. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? inner.toString() : inner));
}

/** JSON for `jsonb_to_recordset`, whose columns have the names of the schema. */
export function recordsOf(given: readonly object[]): string {
  return jsonOf(given.map((one) => inSnakeCase(one as Record<string, unknown>)));
}
