import { Failure, type Problem } from '../domain/failures';
import { isReadExactly } from '../domain/money';

/** Deepest nesting that any body here has is 4; a little more leaves room for `metadata` gone wrong. */
const MAX_DEPTH = 16;
/** Enough to mend a body by; a hostile one must not make a long answer. */
const MAX_PROBLEMS = 20;

/**
 * Reads a JSON body as strictly as its being billed from deserves: UTF-8 only, no object that names a key
 * twice, of which two readers may take different values, and no number with more digits than can be kept.
 *
 * @throws Failure invalid_request
 */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = JSON.parse(text) as unknown;
  } catch {
    // The cause would quote the body.
    throw new Failure('invalid_request', 'The body is not valid JSON', {
      problems: [{ path: 'body', message: 'is not valid JSON in UTF-8' }],
    });
  }
  const problems = structuralProblems(text);
  if (problems.length > 0) {
    throw new Failure('invalid_request', 'The body is not a JSON that this service takes', { problems });
  }
  return value;
}

/** Tokens of a text that is known to be valid JSON; a string that a colon follows is a key. */
const TOKEN = /[{}[\]]|("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)/gs;

function structuralProblems(text: string): Problem[] {
  const problems: Problem[] = [];
  /** Keys seen in each object that is open; undefined stands for an array. */
  const open: (Set<string> | undefined)[] = [];
  let latestKey = 'body';
  for (const [token, string, colon, number] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      open.push(token === '{' ? new Set() : undefined);
      if (open.length > MAX_DEPTH) {
        return [...problems, { path: 'body', message: `is nested more than ${MAX_DEPTH} levels deep` }];
      }
    } else if (token === '}' || token === ']') {
      open.pop();
    } else if (string !== undefined && colon !== undefined) {
      const key = JSON.parse(string) as string;
      const keys = open.at(-1);
      if (keys?.has(key)) problems.push({ path: key.slice(0, 100), message: 'occurs twice in one object' });
      else if (key === '__proto__') problems.push({ path: key, message: 'is not a known field' });
      keys?.add(key);
      latestKey = key.slice(0, 100);
    } else if (number !== undefined && !isReadExactly(number)) {
      problems.push({ path: latestKey, message: 'has more digits than a JSON number keeps' });
    }
    if (problems.length >= MAX_PROBLEMS) return problems;
  }
  return problems;
}

/** The same text for every spelling of the same value: keys in order, no space. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
