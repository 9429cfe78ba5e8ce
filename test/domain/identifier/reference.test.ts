import * as fc from 'fast-check';
import { makeReference, REFERENCE_BYTES } from '../../../src/domain/identifier/reference';

const random = fc.uint8Array({ minLength: REFERENCE_BYTES, maxLength: REFERENCE_BYTES });

describe('a reference', () => {
  it.each([
    ['RFC 4648', /^[2-7A-Z]{24}$/],
    ['Crockford', /^[0-9A-HJKMNP-TV-Z]{24}$/],
  ])('is 24 characters of upper-case base32 by %s', (_, alphabet) => {
    fc.assert(fc.property(random, (bytes) => expect(makeReference(bytes)).toMatch(alphabet)));
  });

  it('keeps every random bit: other bytes, another reference', () => {
    const bytes = new Uint8Array(REFERENCE_BYTES);
    const seen = new Set([makeReference(bytes)]);
    for (let bit = 0; bit < REFERENCE_BYTES * 8; bit++) {
      const flipped = bytes.slice();
      flipped[bit >> 3] = 1 << (bit & 7);
      seen.add(makeReference(flipped));
    }
    expect(seen.size).toBe(1 + REFERENCE_BYTES * 8);
  });

  it('is not made of fewer bytes', () => {
    expect(() => makeReference(new Uint8Array(REFERENCE_BYTES - 1))).toThrow('needs 14 random bytes');
  });
});
