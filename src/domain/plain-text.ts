import { accept, refuse, type Parsed } from './parsed';

/**
 * Names, descriptions and other text that people read on a phone, in a CSV or in a terminal. The
 * text is one line, in one normal form. It has no characters that show something else than is
 * there.
 */

/** Unpaired UTF-16 halves: UTF-8 has no form for them to be stored or signed in. */
const LONE_SURROGATE = /\p{Surrogate}/u;
/** U+0000 to U+001F, U+007F to U+009F: line breaks among them forge lines in logs. */
const CONTROL = /\p{Control}/u;
/**
 * Embeddings, overrides and isolates: they reorder the text after them, so that one name shows as
 * another. The marks U+200E, U+200F and U+061C only set the direction of one spot, and Arabic names
 * need them.
 */
const BIDIRECTIONAL = /[\u202a-\u202e\u2066-\u2069]/u;

/** Most code points that NFC composes into one: U+1F82 is a letter and three marks. */
const PARTS_MAX = 4;

/** The half that a cut leaves of a character of two UTF-16 units. */
const HALF_AT_THE_END = /[\ud800-\udbff]$/;

/**
 * A copy that keeps no other text in memory. In V8 a `slice` or `trim` keeps the whole original
 * alive: an id would keep its line, and all that arrived with the line. A lone surrogate becomes
 * U+FFFD.
 */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

/** A copy of the first `maxUnits` UTF-16 units, or one less, to end with a whole character. */
export function beginningOf(text: string, maxUnits: number): string {
  return ownText(text.length <= maxUnits ? text : text.slice(0, maxUnits).replace(HALF_AT_THE_END, ''));
}

/** Returns the text unchanged, or refuses characters that no field may have. */
export function parseShown(text: string): Parsed<string> {
  if (LONE_SURROGATE.test(text)) return refuse('must be valid Unicode, without lone surrogates');
  if (CONTROL.test(text)) return refuse('must not have control characters or line breaks');
  if (BIDIRECTIONAL.test(text)) return refuse('must not have bidirectional control characters');
  return accept(text);
}

/** Longest description, and longest name. */
export const DESCRIPTION_MAX = 500;
export const NAME_MAX = 200;

/**
 * @param maxLength in Unicode code points, as Postgres counts, once the text is clean
 * @returns the text without blanks around it, in NFC, so that texts that look equal are equal
 *   strings
 */
export function parseText(text: string, maxLength: number): Parsed<string> {
  // Checked before the trim, which would silently remove line breaks at the ends.
  const shown = parseShown(text);
  if (!shown.ok) return shown;
  const trimmed = text.trim();
  if (trimmed === '') return refuse('must not be empty');
  // Checked before normalizing, which takes the square of the length of a run of marks.
  const clean = isLonger(trimmed, maxLength * PARTS_MAX) ? undefined : trimmed.normalize('NFC');
  if (clean === undefined || isLonger(clean, maxLength)) {
    return refuse(`must have at most ${maxLength} characters`);
  }
  return accept(clean);
}

/** Stops at the limit. */
function isLonger(text: string, maxCharacters: number): boolean {
  let characters = 0;
  for (const _ of text) if (++characters > maxCharacters) return true;
  return false;
}
