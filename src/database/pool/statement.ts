/** Part of a statement, whose values are bound with the statement's own. */
export class Fragment {
  /** @param texts one more than values, which stand between them */
  constructor(
    readonly texts: readonly string[],
    readonly values: readonly unknown[],
  ) {}
}

export type Plan = 'custom plan' | 'one plan';

/** A part of a statement; its `${}` are as a statement's. */
export function sql(texts: TemplateStringsArray, ...values: unknown[]): Fragment {
  return new Fragment(texts, values);
}

/** The one way for text into a statement: nobody else's words may be in it. */
export function raw(text: string | number): Fragment {
  return new Fragment([String(text)], []);
}

/** Parts one after the other, of which there is at least one. */
export function joined(parts: readonly Fragment[], between: string): Fragment {
  return new Fragment(['', ...parts.slice(1).map(() => between), ''], parts);
}

/** Each place has a number of its own, `$1`, `$2`, …: one value may stand where two types do. */
function positional(statement: Fragment, bound: unknown[]): string {
  return statement.texts.reduce((text, next, at) => {
    const value = statement.values[at - 1];
    if (value instanceof Fragment) return text + positional(value, bound) + next;
    if (value === undefined) throw new Error(`a statement has no value after: ${text}`);
    return `${text}$${bound.push(value)}${next}`;
  });
}

/**
 * Statements as tagged templates. A `${}` is a bound value, or a part made by `sql` or `raw`.
 * Columns are in camel case: `merchant_id` is `merchantId`.
 */
export interface Statements {
  /**
   * @param text one statement, whose parameters are `$1`, `$2`, …; without values it may be several
   * @param plan `custom plan` if no plan suits all values: Postgres then plans for these;
   *   `one plan` if a plan costs more than a run: it is kept from the first on
   */
  query(text: string, values?: unknown[], plan?: Plan): Promise<{ rows: unknown[] }>;
  /** @throws Error for an undefined value; null is NULL */
  rows<Row>(this: Statements, texts: TemplateStringsArray, ...values: unknown[]): Promise<Row[]>;
  /** The first row, if there is any. */
  row<Row>(this: Statements, texts: TemplateStringsArray, ...values: unknown[]): Promise<Row | undefined>;
  /** For a statement that always has a row. */
  oneRow<Row>(this: Statements, texts: TemplateStringsArray, ...values: unknown[]): Promise<Row>;
}

/** Sent by the `query` of the executor that has them. */
export const STATEMENTS: Omit<Statements, 'query'> = {
  async rows<Row>(this: Statements, texts: TemplateStringsArray, ...values: unknown[]) {
    const bound: unknown[] = [];
    const text = positional(new Fragment(texts, values), bound);
    const result = await this.query(text, bound);
    return inCamelCase<Row>(result.rows as object[]);
  },
  async row<Row>(this: Statements, texts: TemplateStringsArray, ...values: unknown[]) {
    return (await this.rows<Row>(texts, ...values))[0];
  },
  async oneRow<Row>(this: Statements, texts: TemplateStringsArray, ...values: unknown[]) {
    const found = await this.row<Row>(texts, ...values);
    if (found === undefined) throw new Error('a statement that always has a row had none');
    return found;
  },
};

/** The same executor, for statements whose values decide the plan: Postgres plans for these. */
export function customPlan<Same extends Statements>(db: Same): Same {
  return { ...db, query: (text, values) => db.query(text, values, 'custom plan') };
}

/** The same executor, for long statements whose planning takes longer than a run. */
export function prepared<Same extends Statements>(db: Same): Same {
  return { ...db, query: (text, values) => db.query(text, values, 'one plan') };
}

/** As many names as the columns of all statements. */
const CAMEL_CASE = new Map<string, string>();

function camelCase(name: string): string {
  const known = CAMEL_CASE.get(name);
  if (known !== undefined) return known;
  const renamed = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  CAMEL_CASE.set(name, renamed);
  return renamed;
}

function inCamelCase<Row>(found: readonly object[]): Row[] {
  const renamed = Object.keys(found[0] ?? {}).map((name) => [name, camelCase(name)] as const);
  if (renamed.every(([name, same]) => name === same)) return found as Row[];
  // Every row of every statement comes by here: a pair for each of its columns would cost more.
  return found.map((one) => {
    const row: Record<string, unknown> = {};
    for (const [name, now] of renamed) row[now] = one[name as keyof typeof one];
    return row as Row;
  });
}
