import { makeKeyring, readKeyring } from '../../../src/database/keyring/keyring';

const A = makeKeyring();
const B = makeKeyring();

describe('the keyring', () => {
  it('encrypts with the first key and still holds the others', () => {
    const ring = readKeyring(`${B},${A}`);
    expect(ring.current).toBe(B.split(':')[0]);
    expect(ring.derive(A.split(':')[0] ?? '', 'encrypt', 32)).toBeDefined();
    expect(ring.derive('k00', 'encrypt', 32)).toBeUndefined();
  });

  it('finds again what was indexed before a key was put in front', () => {
    const before = readKeyring(A).blindIndex('customer.email', 'ada@example.com');
    const after = readKeyring(`${B},${A}`);
    expect(after.blindIndexes('customer.email', 'ada@example.com')).toContainEqual(before);
    const parts = after.blindIndexesOfParts('customer.email');
    for (const part of ['ada@', 'example.com']) parts.add(part);
    expect(parts.end()).toEqual(after.blindIndexes('customer.email', 'ada@example.com'));
  });

  it('opens, encrypts and finds nothing with a key that is kept for pinned ids alone', () => {
    const ring = readKeyring(`${B},${A}:ids`);
    const old = A.split(':')[0] ?? '';
    expect(ring.derive(old, 'payment-id', 64)).toBeDefined();
    expect(ring.derive(old, 'device-id', 64)).toBeDefined();
    expect(ring.derive(old, 'encrypt', 32)).toBeUndefined();
    expect(ring.blindIndexes('customer.email', 'x')).toHaveLength(1);
  });

  it('indexes the same value differently for another purpose or by another ring', () => {
    const ring = readKeyring(A);
    const index = ring.blindIndex('customer.email', 'x');
    expect(ring.blindIndex('customer.account_number', 'x')).not.toEqual(index);
    expect(readKeyring(B).blindIndex('customer.email', 'x')).not.toEqual(index);
  });

  it('gives each purpose a key of its own', () => {
    const ring = readKeyring(A);
    const encrypting = ring.derive(ring.current, 'encrypt', 32)?.export();
    const paying = ring.derive(ring.current, 'payment-id', 64)?.export();
    expect(encrypting).toHaveLength(32);
    expect(paying).toHaveLength(64);
    expect(paying?.subarray(0, 32)).not.toEqual(encrypting);
  });

  it.each([
    ['a short key', 'k1:c2hvcnQ='],
    ['no key id', makeKeyring().split(':')[1] ?? ''],
    ['an empty entry', `${A},`],
    ['a ring that can encrypt nothing', `${A}:ids`],
    ['a key id twice', `${A},${A}`],
  ])('refuses %s without showing any key', (_, text) => {
    const secret = A.split(':')[1] ?? '';
    expect(() => readKeyring(text)).toThrow(expect.objectContaining({ name: 'KeyringError' }));
    expect(() => readKeyring(text)).not.toThrow(new RegExp(secret.slice(0, 10).replaceAll('+', '\\+')));
  });
});
