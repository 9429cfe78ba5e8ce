import { enrolDevice, openDeviceToken } from '../../../src/database/customer/link-device';
import { newId } from '../../../src/database/identifier/new-id';
import { createEntity } from '../../../src/database/entity/create-entity';
import { makeKeyring, readKeyring, type Keyring } from '../../../src/database/keyring/keyring';
import { bindId } from '../../../src/database/keyring/bound-id';
import { databaseOfFile } from '../../support/database';
import { keyed } from '../../support/keyring';

const A = makeKeyring();
const B = makeKeyring();
const ring = readKeyring(A);

const test = databaseOfFile();

const enrol = (withRing: Keyring, holderId: string) =>
  test.db.transaction((trx) => enrolDevice(keyed(trx, withRing), holderId, 'a fingerprint of a phone'));
async function newHolder(): Promise<string> {
  const made = await test.db.transaction((trx) =>
    createEntity(keyed(trx, ring), { type: 'merchant', name: 'M' }),
  );
  return made?.entityId ?? '';
}

describe('the token of a device', () => {
  it('stays the same string, and opens to one device for every holder, after the keys have rotated', async () => {
    const [one, other] = [await newHolder(), await newHolder()];
    const { token } = await enrol(ring, one);
    const rotated = readKeyring(`${B},${A}`);
    expect(await enrol(rotated, one)).toEqual({ token, isNew: false });
    const { token: later } = await enrol(rotated, other);
    const device = openDeviceToken(ring, token, one);
    expect(device).toMatch(/^dev_/);
    expect(openDeviceToken(rotated, later, other)).toBe(device);
  });

  it('opens to nothing for another holder, or once any bit of it has changed, in its key id too', async () => {
    const holder = await newHolder();
    const { token } = await enrol(ring, holder);
    expect(openDeviceToken(ring, token, newId('merchant'))).toBeUndefined();
    const bytes = Buffer.from(token.slice('dev_'.length), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(openDeviceToken(ring, `dev_${changed.toString('base64url')}`, holder)).toBeUndefined();
    }
  });

  it('is no paymentID, nor a paymentID a token, though the holder is one', () => {
    const holder = newId('merchant');
    const paymentId = bindId(ring, 'payment-id', ring.current, newId('device'), holder);
    expect(openDeviceToken(ring, `dev_${paymentId}`, holder)).toBeUndefined();
  });
});
