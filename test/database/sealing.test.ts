import * as fc from 'fast-check';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { open, seal } from '../../src/database/keys/encrypt';

const A = makeKeyring();
const B = makeKeyring();
const ring = readKeyring(A);
const PLACE = 'customers.email_sealed:cus_1';

describe('a sealed value', () => {
  it('opens to what was sealed, whatever it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (plain) => {
        expect(open(ring, seal(ring, plain, PLACE), PLACE)).toBe(plain);
      }),
    );
  });

  it('looks different each time, so equal values cannot be told', () => {
    expect(seal(ring, 'same', PLACE)).not.toEqual(seal(ring, 'same', PLACE));
  });

  it('does not open in another row or column', () => {
    const sealed = seal(ring, 'ada@example.com', PLACE);
    expect(() => open(ring, sealed, 'customers.email_sealed:cus_2')).toThrow('does not open');
    expect(() => open(ring, sealed, 'customers.phone_sealed:cus_1')).toThrow('does not open');
  });

  it('does not open once any byte of it has changed', () => {
    const sealed = seal(ring, 'ada@example.com', PLACE);
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(() => open(ring, changed, PLACE)).toThrow(expect.objectContaining({ name: 'KeyringError' }));
    }
    expect(() => open(ring, sealed.subarray(0, 20), PLACE)).toThrow('is not sealed');
  });

  it('opens after a new key was put in front, and not once its own key is gone', () => {
    const sealed = seal(ring, 'ada@example.com', PLACE);
    expect(open(readKeyring(`${B},${A}`), sealed, PLACE)).toBe('ada@example.com');
    expect(() => open(readKeyring(B), sealed, PLACE)).toThrow(`lacks the key "${ring.current}"`);
  });
});
