import * as fc from 'fast-check';
import { base32 } from '../../../src/domain/identifier/base32';

describe('base32', () => {
  it.each([
    [[0], '00'],
    [[31], '0z'],
    [[32], '10'],
    [[255], '7z'],
    [[0, 0, 0, 0, 0], '00000000'],
    [[255, 255, 255, 255, 255], 'zzzzzzzz'],
  ])('writes %j as %s', (bytes, text) => {
    expect(base32(Uint8Array.from(bytes))).toBe(text);
  });

  it('has one length for one number of bytes, and sorts as the bytes do', () => {
    const sixteen = fc.uint8Array({ minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(sixteen, sixteen, (a, b) => {
        expect(base32(a)).toHaveLength(26);
        expect(Math.sign(Buffer.compare(a, b))).toBe(
          base32(a) < base32(b) ? -1 : base32(a) > base32(b) ? 1 : 0,
        );
      }),
    );
  });

  it('never writes the letters that are taken for others', () => {
    const written = new Set(Array.from({ length: 32 }, (_, i) => base32(Uint8Array.of(i))[1]));
    expect([...written].join('')).toBe('0123456789abcdefghjkmnpqrstvwxyz');
  });
});
