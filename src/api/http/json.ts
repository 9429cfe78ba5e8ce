import { Failure, type Problem } from '../../domain/failures';
import { EXACT_DIGITS, isReadExactly } from '../../domain/money';
import { beginningOf } from '../../domain/plain-text';
import type { Checked } from './validation';

/** Documented bodies have 4 levels; the rest leaves room for a readable refusal. */
const MAX_DEPTH = 16;
/** Each name or value costs memory beyond its bytes. The frame of the largest batch has 20 000. */
const MAX_PARTS = 30_000;
/** Far more than a caller needs, as each is compared digit by digit. */
const MAX_LONG_NUMBERS = 500;
/** A hostile body gets no longer response. */
const MAX_PROBLEMS = 20;
const NAME_SHOWN_MAX = 100;

/**
 * Reads JSON in UTF-8, without duplicate keys, `__proto__`, or numbers that a double rounds: two
 * readers of the same bytes bill the same amount.
 *
 * @throws Failure invalid_request
 */
export function parseJson(bytes: Uint8Array): unknown {
  const checked = checkJson(bytes);
  if (checked.problems) throw refusal(checked.problems);
  return checked.value;
}

/**
 * Reads JSON as `parseJson`, and returns the problems of a valid text's meaning.
 *
 * @throws Failure invalid_request for invalid JSON, and for more than `MAX_PARTS`
 */
export function checkJson(bytes: Uint8Array): Checked<unknown> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const problems = problemsOf(text);
    const value = JSON.parse(text) as unknown;
    return problems.length > 0 ? { problems } : { value };
  } catch (error) {
    if (error instanceof Failure) throw error;
    // The cause would quote the body.
    throw new Failure('invalid_request', 'The body is not valid JSON', {
      problems: [{ path: 'body', message: 'is not valid JSON in UTF-8' }],
    });
  }
}

function refusal(problems: Problem[]): Failure {
  return new Failure('invalid_request', 'The body is not a JSON that this service takes', { problems });
}

const TOKEN = /[{}[\],:"]|-?\d[\d.eE+-]*/g;
/** Stands before each name and value but the outermost. */
const BEFORE_A_PART = '{[,:';

/**
 * Looks at the tokens of a text before `JSON.parse` makes anything of it. `JSON.parse` refuses
 * later what is no JSON, so tokens may stand in any order here, but for a colon without its name.
 *
 * @throws Failure invalid_request for more than `MAX_PARTS`, or than `MAX_LONG_NUMBERS`
 * @throws SyntaxError for a colon without a name, and for a name that is no JSON
 */
function problemsOf(text: string): Problem[] {
  const problems: Problem[] = [];
  /** The keys of each object or array that is open; none beyond `MAX_DEPTH`. */
  const open: (Set<string> | undefined)[] = [];
  let parts = 0;
  let longNumbers = 0;
  let latestString: string | undefined;
  let latestKey = 'body';
  let at = 0;
  function note(path: string, message: string): void {
    if (problems.length === MAX_PROBLEMS) return;
    problems.push({ path: beginningOf(path, NAME_SHOWN_MAX), message });
  }
  for (;;) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) return problems;
    const [token] = found;
    at = TOKEN.lastIndex;
    if (BEFORE_A_PART.includes(token) && ++parts > MAX_PARTS) {
      throw refusal([{ path: 'body', message: `has more than ${MAX_PARTS} names and values` }]);
    }
    // A string is a name for the next token alone: a second colon would decode it again.
    const name = latestString;
    latestString = undefined;
    if (token === '"') {
      at = endOfString(text, at);
      latestString = text.slice(found.index, at);
    } else if (token === ':') {
      if (name === undefined) throw new SyntaxError('a colon without a name');
      latestKey = keyOf(name);
      const keys = open.at(-1);
      if (keys?.has(latestKey)) note(latestKey, 'occurs twice in one object');
      else if (latestKey === '__proto__') note(latestKey, 'is not a known field');
      keys?.add(latestKey);
    } else if (token === '{' || token === '[') {
      if (open.length === MAX_DEPTH) note('body', `is nested more than ${MAX_DEPTH} levels deep`);
      open.push(open.length < MAX_DEPTH ? new Set() : undefined);
    } else if (token === '}' || token === ']') {
      open.pop();
    } else if (token.length > EXACT_DIGITS) {
      if (++longNumbers > MAX_LONG_NUMBERS) {
        const message = `has more than ${MAX_LONG_NUMBERS} numbers of more than ${EXACT_DIGITS} characters`;
        throw refusal([{ path: 'body', message }]);
      }
      if (!isReadExactly(token)) note(latestKey, 'has more digits than a JSON number keeps');
    }
  }
}

/** @throws SyntaxError */
function keyOf(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

/**
 * A regular expression that knows escapes needs stack for each escape, and a text may have
 * millions.
 */
function endOfString(text: string, start: number): number {
  for (let at = start; ; at++) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let escapes = 0;
    while (text[at - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
}

/** One text for all spellings of a value: keys in order, no white space. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
