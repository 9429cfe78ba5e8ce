import { accept, refuse, type Parsed } from './parsed';

/**
 * Names, descriptions and other text that people wrote and other people will read on a phone, in a
 * CSV or in a terminal: one line, in one normal form, and without characters that show something
 * else than is there.
 */

/**
 * Unpaired halves of a UTF-16 pair: UTF-8 has no form for them, so they can be neither stored nor
 * signed.
 */
const LONE_SURROGATE = /\p{Surrogate}/u;
/**
 * U+0000 to U+001F and U+007F to U+009F, line breaks among them, which forge lines in logs and
 * prompts.
 */
const CONTROL = /\p{Control}/u;
/**
 * Embeddings, overrides and isolates: what follows them shows in another order, and one name as
 * another. The marks U+200E, U+200F and U+061C only say which way one spot reads, and names in
 * Arabic need them.
 */
const BIDIRECTIONAL = /[\u202a-\u202e\u2066-\u2069]/u;

/** Most code points that one is taken apart to, as U+1F82 is to a letter and three marks. */
const PARTS_MAX = 4;

/** What a cut leaves of a character that is two UTF-16 units. */
const HALF_AT_THE_END = /[\ud800-\udbff]$/;

/**
 * The same text, which keeps no other in memory. What V8 cuts out of a text, by `slice` or `trim`,
 * keeps all of that for as long as it lives: an id of a line, say, all that arrived with the line.
 *
 * @param text without lone surrogates
 */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

/** The first `maxUnits` of UTF-16 of a text, or one less, so as to end with a whole character. */
export function beginningOf(text: string, maxUnits: number): string {
  return text.length <= maxUnits ? text : text.slice(0, maxUnits).replace(HALF_AT_THE_END, '');
}

/** The text as it is, refused where it has characters that are not allowed in any field. */
export function parseShown(text: string): Parsed<string> {
  if (LONE_SURROGATE.test(text)) return refuse('must be valid Unicode, without lone surrogates');
  if (CONTROL.test(text)) return refuse('must not have control characters or line breaks');
  if (BIDIRECTIONAL.test(text)) return refuse('must not have bidirectional control characters');
  return accept(text);
}

/**
 * @param maxLength in characters as Postgres counts them too, Unicode code points, once the text is
 *   clean
 * @returns the text without blanks around it, in NFC, so that texts that look equal are equal
 *   strings
 */
export function parseText(text: string, maxLength: number): Parsed<string> {
  // Looked for before the trim, which would quietly take line breaks off the ends.
  const shown = parseShown(text);
  if (!shown.ok) return shown;
  const trimmed = text.trim();
  if (trimmed === '') return refuse('must not be empty');
  // Looked for before, too: to order a run of marks takes the square of its length.
  const clean = isLonger(trimmed, maxLength * PARTS_MAX) ? undefined : trimmed.normalize('NFC');
  if (clean === undefined || isLonger(clean, maxLength)) {
    return refuse(`must have at most ${maxLength} characters`);
  }
  return accept(clean);
}

/** Looks no further than it must. */
function isLonger(text: string, maxCharacters: number): boolean {
  let characters = 0;
  for (const _ of text) if (++characters > maxCharacters) return true;
  return false;
}
