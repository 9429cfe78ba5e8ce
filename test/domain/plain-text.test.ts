import * as fc from 'fast-check';
import { parseText } from '../../src/domain/plain-text';
import { anyCharacter } from '../support/any-character';

function outcome(text: string, maxLength = 20): string {
  const parsed = parseText(text, maxLength);
  return parsed.ok ? parsed.value : `refused: ${parsed.reason}`;
}

const at = (codePoint: number) => String.fromCodePoint(codePoint);

describe('text that people wrote', () => {
  it('loses the blanks around it and keeps those within', () => {
    expect(outcome('  Ada  Obi ')).toBe('Ada  Obi');
    expect(outcome('\u00a0Ada\u3000')).toBe('Ada');
  });

  it('is one string, whichever way its accents were typed', () => {
    expect(outcome('Bo\u0301la')).toBe('Bóla');
    expect(outcome('\u1ecc\u0301')).toBe(outcome('O\u0323\u0301'));
  });

  it('may be of any script, with emoji and the marks that right-to-left names need', () => {
    for (const text of ['Ọlá', '李小龙', 'شركة\u200f 3', '👩\u200d👩\u200d👧', '٣ שלום']) {
      expect(outcome(text)).toBe(text.normalize('NFC'));
    }
  });

  it('is refused with any control character anywhere, also at its ends, where a trim would hide it', () => {
    const controls = [...Array(0x20).keys(), ...Array.from({ length: 0x21 }, (_, i) => 0x7f + i)];
    for (const control of controls) {
      for (const text of [`a${at(control)}b`, `${at(control)}ab`, `ab${at(control)}`]) {
        expect(outcome(text)).toBe('refused: must not have control characters or line breaks');
      }
    }
    expect(outcome(`a${at(0xa1)}b`)).toBe('a¡b');
    expect(outcome('a~b')).toBe('a~b');
  });

  it.each([
    [0x2029, false],
    [0x202a, true],
    [0x202e, true],
    [0x202f, false],
    [0x2065, false],
    [0x2066, true],
    [0x2069, true],
    [0x206a, false],
  ])('with U+%s in it is refused as reordering others: %s', (codePoint, refused) => {
    expect(outcome(`a${at(codePoint)}b`).startsWith('refused: must not have bidirectional')).toBe(refused);
  });

  it.each(['\ud800', '\udfff', 'a\ud83d', '\udc69a', '\udc69\ud83d'])(
    'with half a character is refused: %j',
    (text) => {
      expect(outcome(text)).toBe('refused: must be valid Unicode, without lone surrogates');
    },
  );

  it('is refused when nothing is left of it', () => {
    expect(outcome('')).toBe('refused: must not be empty');
    expect(outcome('   ')).toBe('refused: must not be empty');
  });

  it('may be as long as the limit, counted in characters once it is clean', () => {
    expect(outcome('abcde', 5)).toBe('abcde');
    expect(outcome('abcdef', 5)).toBe('refused: must have at most 5 characters');
    expect(outcome('  abcde  ', 5)).toBe('abcde');
    // Five characters in ten UTF-16 units; ten code points that NFC makes five.
    expect(outcome('👩👩👩👩👩', 5)).toBe('👩👩👩👩👩');
    expect(outcome('e\u0301'.repeat(5), 5)).toBe('é'.repeat(5));
    expect(outcome('👩👩👩👩👩👩', 5)).toBe('refused: must have at most 5 characters');
  });

  it('may be spelled in as many characters as accents are typed apart, up to four for one', () => {
    for (const longest of ['\u1f82', '\u0390', '\u{1d160}']) {
      const apart = longest.normalize('NFD');
      const max = Array.from(longest.normalize('NFC')).length;
      expect(outcome(apart.repeat(5), 5 * max)).toBe(longest.normalize('NFC').repeat(5));
    }
  });

  it('is not brought to normal form where it is too long: a run of marks costs its square', () => {
    const normalize = jest.spyOn(String.prototype, 'normalize');
    for (const marks of ['\u0301\u0316', '\u{1d165}\u{1d16d}']) {
      expect(outcome(`a${marks.repeat(65_000)}`)).toBe('refused: must have at most 20 characters');
      expect(outcome(`a${marks.repeat(39)}`)).toBe('refused: must have at most 20 characters');
    }
    // Four code points of two units each, at most, for one.
    for (const text of normalize.mock.contexts) expect(String(text).length).toBeLessThanOrEqual(160);
  });

  it('once taken is taken again unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 30 }), (text) => {
        const parsed = parseText(text, 20);
        if (parsed.ok) expect(parseText(parsed.value, 20)).toEqual(parsed);
      }),
    );
  });
});
