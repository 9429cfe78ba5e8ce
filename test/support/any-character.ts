import * as fc from 'fast-check';

const SURROGATES = { from: 0xd800, to: 0xdfff };

/**
 * Any character of Unicode. fast-check's own `binary` is the same, but for a second that each test
 * file spends on a table of them all.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((code) => code < SURROGATES.from || code > SURROGATES.to)
  .map((code) => String.fromCodePoint(code));
