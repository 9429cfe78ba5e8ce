import type { z } from 'zod';
import { invalidRequest, type Problem } from '../../domain/failures';
import { beginningOf } from '../../domain/plain-text';

export { invalidRequest };

type Issue = z.core.$ZodRawIssue;

/** A hostile request gets no longer response. */
const MAX_PROBLEMS = 100;

/** The schema's value, or all problems of the input. */
export type Checked<Value> = { value: Value; problems?: never } | { value?: never; problems: Problem[] };

/** @param root name of the input in paths: `query` for the query string, nothing for the body */
export function check<Value>(schema: z.ZodType<Value>, input: unknown, root: '' | 'query'): Checked<Value> {
  const parsed = schema.safeParse(input, { error: explain });
  return parsed.success ? { value: parsed.data } : { problems: problemsOf(parsed.error, root) };
}

function problemsOf(error: z.ZodError, root: '' | 'query'): Problem[] {
  return error.issues
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => ({
            path: pathOf([...issue.path, key], root),
            message: root === 'query' ? 'is not a known parameter' : 'is not a known field',
          }))
        : [{ path: pathOf(issue.path, root), message: issue.message }],
    )
    .slice(0, MAX_PROBLEMS);
}

/** The sender chooses names of any length. */
const MAX_NAME_SHOWN = 100;

function pathOf(path: PropertyKey[], root: string): string {
  const written = path.reduce<string>(
    (whole, part) =>
      typeof part === 'number'
        ? `${whole}[${part}]`
        : `${whole}${whole && '.'}${beginningOf(String(part), MAX_NAME_SHOWN)}`,
    root,
  );
  return written || 'body';
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

/** The problem, in words that follow the path: "amount must be a number". */
function explain(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`;
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty';
      if (issue.origin === 'array') return `must have at least ${entries(issue.minimum)}`;
      return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      if (issue.origin === 'string') return `must have at most ${issue.maximum} characters`;
      if (issue.origin === 'array') return `must have at most ${entries(issue.maximum)}`;
      return `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`;
    case 'invalid_value': {
      const values = `${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
      return issue.input === undefined ? `is required: ${values}` : `must be ${values}`;
    }
    case 'invalid_key':
      return `is a name that ${issue.issues[0]?.message}`;
    default:
      return undefined;
  }
}

function entries(count: number | bigint): string {
  return Number(count) === 1 ? '1 entry' : `${count} entries`;
}

/** The parameters of a query string, each given at most once. */
export function readQuery(url: string): Checked<Record<string, string>> {
  const at = url.indexOf('?');
  const query = at < 0 ? '' : url.slice(at + 1);
  const given = [...new URLSearchParams(query)];
  const seen = new Set<string>();
  const wrong = new Map<string, string>();
  for (const [name] of given) {
    if (seen.has(name)) wrong.set(name, 'may be given only once');
    seen.add(name);
  }
  let unreadable = 0;
  for (const pair of query.split('&')) {
    if (isPercentEncoded(pair)) continue;
    wrong.set(pair.replace(/=.*/s, ''), 'is not percent-encoded UTF-8');
    // Each costs an error with its stack.
    if (++unreadable === MAX_PROBLEMS) break;
  }
  if (wrong.size === 0) return { value: Object.fromEntries(given) };
  return {
    problems: [...wrong]
      .slice(0, MAX_PROBLEMS)
      .map(([name, message]) => ({ path: pathOf([name], 'query'), message })),
  };
}

/** `URLSearchParams` refuses nothing, and would take `%zz` for text. */
export function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
