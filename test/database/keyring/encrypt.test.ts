import * as fc from 'fast-check';
import { makeKeyring, readKeyring } from '../../../src/database/keyring/keyring';
import { decrypt, encrypt } from '../../../src/database/keyring/encrypt';

const A = makeKeyring();
const B = makeKeyring();
const ring = readKeyring(A);
const PLACE = 'customers.email_encrypted:cus_1';

describe('an encrypted value', () => {
  it('decrypts to what was encrypted, whatever it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (plain) => {
        expect(decrypt(ring, encrypt(ring, plain, PLACE), PLACE)).toBe(plain);
      }),
    );
  });

  it('looks different each time, so equal values cannot be told', () => {
    expect(encrypt(ring, 'same', PLACE)).not.toEqual(encrypt(ring, 'same', PLACE));
  });

  it('does not open in another row or column', () => {
    const encrypted = encrypt(ring, 'ada@example.com', PLACE);
    expect(() => decrypt(ring, encrypted, 'customers.email_encrypted:cus_2')).toThrow('cannot be decrypted');
    expect(() => decrypt(ring, encrypted, 'customers.phone_encrypted:cus_1')).toThrow('cannot be decrypted');
  });

  it('does not open once any byte of it has changed', () => {
    const encrypted = encrypt(ring, 'ada@example.com', PLACE);
    for (let i = 0; i < encrypted.length; i++) {
      const changed = Buffer.from(encrypted);
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(() => decrypt(ring, changed, PLACE)).toThrow(expect.objectContaining({ name: 'KeyringError' }));
    }
    expect(() => decrypt(ring, encrypted.subarray(0, 20), PLACE)).toThrow('is not encrypted');
  });

  it('opens after a new key was put in front, and not once its own key is gone', () => {
    const encrypted = encrypt(ring, 'ada@example.com', PLACE);
    expect(decrypt(readKeyring(`${B},${A}`), encrypted, PLACE)).toBe('ada@example.com');
    expect(() => decrypt(readKeyring(B), encrypted, PLACE)).toThrow(`lacks the key "${ring.current}"`);
  });
});
