/** Converts names between columns (`merchant_id`) and the code (`merchantId`). */

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A record with the names of columns. */
export const inSnakeCase = <Value>(one: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(one).map(([name, value]) => [snakeCase(name), value]));

/** As many names as the columns of all statements. */
const CAMEL_CASE = new Map<string, string>();

function camelCase(name: string): string {
  const known = CAMEL_CASE.get(name);
  if (known !== undefined) return known;
  const renamed = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  CAMEL_CASE.set(name, renamed);
  return renamed;
}

export function inCamelCase<Row>(found: readonly object[]): Row[] {
  const renamed = Object.keys(found[0] ?? {}).map((name) => [name, camelCase(name)] as const);
  if (renamed.every(([name, same]) => name === same)) return found as Row[];
  // Every row of every statement comes by here: a pair for each of its columns would cost more.
  return found.map((one) => {
    const row: Record<string, unknown> = {};
    for (const [name, now] of renamed) row[now] = one[name as keyof typeof one];
    return row as Row;
  });
}
