import { Failure, type Problem } from '../../domain/failures';
import { isReadExactly } from '../../domain/money';
import { beginningOf } from '../../domain/plain-text';
import type { Checked } from './validation';

/**
 * Deepest nesting that any body here has is 4; a little more leaves room for `metadata` gone wrong.
 */
const MAX_DEPTH = 16;
/**
 * Names and values of one text. The largest that anybody means, the frame of a batch of customers,
 * has twenty thousand.
 */
const MAX_PARTS = 30_000;
/** Enough to mend a body by; a hostile one must not make a long answer. */
const MAX_PROBLEMS = 20;

/**
 * Reads a JSON body as strictly as its being billed from deserves: UTF-8 only, no object that names
 * a key twice, of which two readers may take different values, and no number with more digits than
 * can be kept. A text of very many parts is refused before any of them is made: each costs many
 * times the bytes that it came in.
 *
 * @throws Failure invalid_request
 */
export function parseJson(bytes: Uint8Array): unknown {
  const checked = checkJson(bytes);
  if (checked.problems) throw refusal(checked.problems);
  return checked.value;
}

/**
 * The same where a JSON that is not taken is the caller's to judge.
 *
 * @throws Failure invalid_request for what is no JSON, or of very many parts
 */
export function checkJson(bytes: Uint8Array): Checked<unknown> {
  if (hasTooManyParts(bytes))
    throw refusal([{ path: 'body', message: `has more than ${MAX_PARTS} names and values` }]);
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
  return problems.length > 0 ? { problems } : { value };
}

function refusal(problems: Problem[]): Failure {
  return new Failure('invalid_request', 'The body is not a JSON that this service takes', { problems });
}

/**
 * Before each name and each value, but for the outermost, stands one of these; of a text that is no
 * JSON any count will do.
 */
const BEFORE_A_PART = new Set(Buffer.from('[{,:'));
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Looks at each byte once. UTF-8 has these bytes in no other character. */
function hasTooManyParts(bytes: Uint8Array): boolean {
  let parts = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (inString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (BEFORE_A_PART.has(byte) && ++parts > MAX_PARTS) return true;
  }
  return false;
}

/**
 * Tokens of a text that is known to be valid JSON; of a string only its beginning, for it may be of
 * any length.
 */
const TOKEN = /[{}[\]"]|-?\d[\d.eE+-]*/g;
const COLON = /\s*:/y;

function structuralProblems(text: string): Problem[] {
  const problems: Problem[] = [];
  /** Keys seen in each object that is open; undefined stands for an array. */
  const open: (Set<string> | undefined)[] = [];
  let latestKey = 'body';
  let at = 0;
  for (;;) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) return problems;
    const [token] = found;
    at = token === '"' ? endOfString(text, found.index) : TOKEN.lastIndex;
    if (token === '{' || token === '[') {
      open.push(token === '{' ? new Set() : undefined);
      if (open.length > MAX_DEPTH) {
        return [...problems, { path: 'body', message: `is nested more than ${MAX_DEPTH} levels deep` }];
      }
    } else if (token === '}' || token === ']') {
      open.pop();
    } else if (token !== '"') {
      if (!isReadExactly(token)) {
        problems.push({ path: latestKey, message: 'has more digits than a JSON number keeps' });
      }
    } else if (isFollowedByColon(text, at)) {
      const key = JSON.parse(text.slice(found.index, at)) as string;
      const keys = open.at(-1);
      if (keys?.has(key))
        problems.push({ path: beginningOf(key, 100), message: 'occurs twice in one object' });
      else if (key === '__proto__') problems.push({ path: key, message: 'is not a known field' });
      keys?.add(key);
      latestKey = beginningOf(key, 100);
    }
    if (problems.length >= MAX_PROBLEMS) return problems;
  }
}

/**
 * Not by a regular expression: one that knows escapes needs stack for each, and there may be
 * millions.
 */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at);
    let escapes = 0;
    while (text[at - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
}

/** A string that a colon follows is a key. */
function isFollowedByColon(text: string, at: number): boolean {
  COLON.lastIndex = at;
  return COLON.test(text);
}

/** The same text for every spelling of the same value: keys in order, no space. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
