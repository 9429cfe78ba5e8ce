import { newId } from '../../src/database/ids';
import { makeKeyring, readKeyring } from '../../src/database/keyring';
import { makePaymentId, openPaymentId } from '../../src/database/payment-id';

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

  it('is nothing once any character of it has changed', () => {
    for (let i = 0; i < paymentId.length; i++) {
      const other = paymentId[i] === 'A' ? 'B' : 'A';
      expect(openPaymentId(ring, paymentId.slice(0, i) + other + paymentId.slice(i + 1), merchant)).toBe(
        undefined,
      );
    }
  });

  it.each(['', 'A', `${paymentId}=`, `${paymentId}A`, ` ${paymentId}`, 'x'.repeat(100_000), 'päy', '\u0000'])(
    'is not %j',
    (text) => {
      expect(openPaymentId(ring, text, merchant)).toBeUndefined();
    },
  );
});
