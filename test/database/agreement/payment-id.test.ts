import * as fc from 'fast-check';
import { newId } from '../../../src/database/identifier/new-id';
import { makeKeyring, readKeyring } from '../../../src/database/keyring/keyring';
import { makePaymentId, openPaymentId } from '../../../src/database/agreement/payment-id';
import { anyCharacter } from '../../support/any-character';

const A = makeKeyring();
const B = makeKeyring();
const ring = readKeyring(A);
const agreement = newId('agreement');
const merchant = newId('merchant');
const paymentId = makePaymentId(ring, ring.current, agreement, merchant);

describe('a paymentID', () => {
  it('is URL-safe and opens to its agreement for its merchant', () => {
    expect(paymentId).toMatch(/^[A-Za-z0-9_-]{40,120}$/);
    expect(openPaymentId(ring, paymentId, merchant)).toBe(agreement);
  });

  it('says nothing to another merchant, not even that it exists', () => {
    expect(openPaymentId(ring, paymentId, newId('merchant'))).toBeUndefined();
  });

  it('is the same string every time, also after the keys have rotated', () => {
    const rotated = readKeyring(`${B},${A}`);
    expect(makePaymentId(rotated, ring.current, agreement, merchant)).toBe(paymentId);
    expect(openPaymentId(rotated, paymentId, merchant)).toBe(agreement);
  });

  it('is nothing to a ring without its key', () => {
    expect(openPaymentId(readKeyring(B), paymentId, merchant)).toBeUndefined();
    expect(() => makePaymentId(readKeyring(B), ring.current, agreement, merchant)).toThrow('lacks the key');
  });

  it('is nothing once any bit of it has changed, in its key id too, whatever the key id', () => {
    const key = makeKeyring().split(':')[1] ?? '';
    const keyId = fc.stringMatching(/^[A-Za-z0-9_-]{1,32}$/);
    fc.assert(
      fc.property(keyId, (kid) => {
        const own = readKeyring(`${kid}:${key}`);
        const handedOut = makePaymentId(own, kid, agreement, merchant);
        expect(openPaymentId(own, handedOut, merchant)).toBe(agreement);
        const bytes = Buffer.from(handedOut, 'base64url');
        const opened = Array.from({ length: bytes.length * 8 }, (_, bit) => {
          const changed = Buffer.from(bytes);
          changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          return changed.toString('base64url');
        }).filter((changed) => openPaymentId(own, changed, merchant) !== undefined);
        expect(opened).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  it('is nothing once any character of it is another, or has come or gone', () => {
    const position = fc.nat({ max: paymentId.length });
    const piece = fc.oneof(
      fc.constantFrom('', ' ', '=', '.', '\n', '\u0000', '\u212a'),
      fc.stringMatching(/^[A-Za-z0-9_-]$/),
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 3 }),
    );
    fc.assert(
      fc.property(position, fc.boolean(), piece, (at, replaces, text) => {
        const changed = paymentId.slice(0, at) + text + paymentId.slice(replaces ? at + 1 : at);
        fc.pre(changed !== paymentId);
        expect(openPaymentId(ring, changed, merchant)).toBeUndefined();
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(['', 'A', `${paymentId}=`, `${paymentId}A`, ` ${paymentId}`, 'x'.repeat(100_000), 'päy', '\u0000'])(
    'is not %j',
    (text) => {
      expect(openPaymentId(ring, text, merchant)).toBeUndefined();
    },
  );
});
