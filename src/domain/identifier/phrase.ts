import { PHRASE_WORDS } from './phrase-words';

/**
 * A customer's `lookupID`, also called phrase: four words and two digits, as
 * `amber-river-stone-lamp-42`. A person reads it off one screen and types it into another.
 *
 * It carries 54.6 bits: 12 for each of the words (out of 4096) and 6.6 for the digits. That is no
 * secret, only hard to guess. Among a million customers, one guess in 27 thousand million finds a
 * customer, and rate limits bound the guesses. Two customers can draw the same phrase, so the code
 * that stores it must draw again.
 */

const WORDS = 4;
const WORD_BITS = 12n;

/** Six bytes make the words, and the first suitable byte of the rest makes the digits. */
export const PHRASE_BYTES = 32;
const WORD_BYTES = 6;

/**
 * Every phrase is equally likely. 4096 words use up their bits exactly. Bytes from 200 on are
 * skipped, because they would make the digits 00 to 55 more frequent.
 *
 * @param random `PHRASE_BYTES` bytes from a cryptographic source
 * @throws RangeError if no byte suits, which happens to honest randomness once in 10¹⁷ times
 */
export function makePhrase(random: Uint8Array): string {
  if (random.length !== PHRASE_BYTES) throw new RangeError(`needs ${PHRASE_BYTES} random bytes`);
  let bits = random.subarray(0, WORD_BYTES).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const words: string[] = [];
  for (let i = 0; i < WORDS; i++) {
    const word = PHRASE_WORDS[Number(BigInt.asUintN(Number(WORD_BITS), bits))];
    if (word === undefined) throw new RangeError('the word list must have 4096 words');
    words.push(word);
    bits >>= WORD_BITS;
  }
  const digits = random.subarray(WORD_BYTES).find((byte) => byte < 200);
  if (digits === undefined) throw new RangeError('these bytes are not random');
  return `${words.join('-')}-${String(digits % 100).padStart(2, '0')}`;
}

/**
 * The form in which phrases are stored and compared. People type capitals, blanks around the phrase
 * and blanks in place of the hyphens; any other difference makes another phrase.
 */
export function normalizePhrase(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/\s+-?\s*|-\s*/g, '-');
}
