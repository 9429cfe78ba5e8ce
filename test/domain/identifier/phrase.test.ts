import { makePhrase, normalizePhrase, PHRASE_BYTES } from '../../../src/domain/identifier/phrase';
import { PHRASE_WORDS } from '../../../src/domain/identifier/phrase-words';

const WORD_BYTES = 6;

/**
 * Bytes with these numbers of 12 bits as words, the last word first, and these bytes for the
 * digits.
 */
function bytes(words: [number, number, number, number], digits: number[]): Uint8Array {
  const value = words.reduce((sum, word) => (sum << 12n) | BigInt(word), 0n);
  const head = Array.from({ length: WORD_BYTES }, (_, i) => Number((value >> BigInt(8 * (5 - i))) & 255n));
  const tail = Array.from({ length: PHRASE_BYTES - WORD_BYTES }, (_, i) => digits[i] ?? 255);
  return Uint8Array.from([...head, ...tail]);
}

describe('the words of phrases', () => {
  it('are 4096, as many as 12 bits can tell apart, and no two are the same', () => {
    expect(new Set(PHRASE_WORDS).size).toBe(4096);
    expect(PHRASE_WORDS).toHaveLength(4096);
  });

  it('are of 3 to 8 plain letters, so that the hyphens between them are the only ones', () => {
    expect(PHRASE_WORDS.filter((word) => !/^[a-z]{3,8}$/.test(word))).toEqual([]);
  });
});

describe('a phrase', () => {
  it('is four words and two digits', () => {
    const [first, last] = [PHRASE_WORDS[0], PHRASE_WORDS[4095]];
    expect(makePhrase(bytes([0, 4095, 0, 0], [7]))).toBe(`${first}-${first}-${last}-${first}-07`);
  });

  it('has each word in each place equally often', () => {
    for (const place of [0, 1, 2, 3]) {
      const seen = PHRASE_WORDS.map((_, i) => {
        const words: [number, number, number, number] = [1, 2, 3, 4];
        words[place] = i;
        return makePhrase(bytes(words, [0])).split('-')[3 - place];
      });
      expect(new Set(seen).size).toBe(4096);
    }
  });

  it('has each pair of digits equally often: twice in all bytes that are used', () => {
    const counts = new Map<string, number>();
    for (let byte = 0; byte < 256; byte++) {
      const digits = makePhrase(bytes([0, 0, 0, 0], byte < 200 ? [byte] : [byte, 100])).slice(-2);
      counts.set(digits, (counts.get(digits) ?? 0) + 1);
    }
    // The 56 bytes that were passed over took the next one, 100, which is `00`.
    expect(counts.get('00')).toBe(2 + 56);
    counts.delete('00');
    expect(counts.size).toBe(99);
    expect(new Set(counts.values())).toEqual(new Set([2]));
  });

  it('is not made of too few bytes, nor of ones that cannot be random', () => {
    expect(() => makePhrase(new Uint8Array(PHRASE_BYTES - 1))).toThrow('needs 32 random bytes');
    expect(() => makePhrase(bytes([0, 0, 0, 0], []))).toThrow('not random');
  });

  it.each([
    'amber-river-stone-lamp-42',
    'Amber River Stone Lamp 42',
    '  AMBER-RIVER-STONE-LAMP-42\t',
    'amber  river - stone -lamp- 42',
    'amber\u00a0river\u00a0stone\u00a0lamp\u00a042',
  ])('is found when typed as %j', (typed) => {
    expect(normalizePhrase(typed)).toBe('amber-river-stone-lamp-42');
  });

  it.each(['amberriver-stone-lamp-42', 'amber_river-stone-lamp-42', 'amber--river-stone-lamp-42', ''])(
    'is not found when typed as %j',
    (typed) => {
      expect(normalizePhrase(typed)).not.toBe('amber-river-stone-lamp-42');
    },
  );
});
