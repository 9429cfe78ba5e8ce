import { randomUUID } from 'node:crypto';
import { Cast, type Bank, type Merchant } from '../../support/cast';
import { engine } from './engine';

/** A customer is recognised by a phone, and pays without saying who they are. */
describe('devices', () => {
  let cast: Cast;
  let bank: Bank;
  let merchant: Merchant;

  beforeAll(async () => {
    cast = new Cast(engine);
    [bank, merchant] = await Promise.all([cast.bank(2), cast.merchant()]);
  });

  afterAll(async () => {
    await cast.leave();
  });

  test('a phone that the bank has linked leads a merchant to a payment, and to nobody once it is unlinked', async () => {
    const [customer, other] = bank.customers;
    const fingerprint = randomUUID();
    const ofBank = await enrol(bank, fingerprint);
    const ofMerchant = await enrol(merchant, fingerprint);
    expect(ofMerchant).not.toBe(ofBank);
    const lookUp = () => merchant.api.post('/v1/customer/device/lookup', { deviceId: ofMerchant });
    expect(await lookUp()).toMatchObject({ status: 404 });

    const { customerId, lookupID: phrase } = customer;
    const link = { customerId, phrase, deviceId: ofBank };
    expect(await bank.api.post('/v1/bank/customer/device/link', link)).toMatchObject({ status: 200 });
    const listed = await bank.api.get('/v1/bank/devices/list');
    expect(listed.body.data).toMatchObject({ devices: [link], total: 1 });
    const toAnother = { ...link, customerId: other?.customerId, phrase: other?.lookupID };
    expect(await bank.api.post('/v1/bank/customer/device/link', toAnother)).toMatchObject({ status: 409 });

    const found = await lookUp();
    expect(found.body.data).toEqual({ deviceId: ofMerchant, phrase, customerId, bankId: bank.entityId });
    const charge = await merchant.charge({ lookupIDs: [String(found.body.data['phrase'])] }, 12.5);
    expect(await bank.hears('billing.request', charge.billingRequestId)).toMatchObject({
      customerId,
      approvalRequired: true,
    });
    expect(await merchant.hears('billing.response', charge.billingRequestId)).toMatchObject({
      status: 'successful',
    });
    expect(await bank.server.ledger()).toMatchObject([{ amount: '1250', state: 'debited' }]);

    expect(await bank.api.post('/v1/bank/customer/device/unlink', link)).toMatchObject({ status: 200 });
    expect(await lookUp()).toMatchObject({ status: 404 });
    expect(await bank.api.post('/v1/bank/customer/device/link', toAnother)).toMatchObject({ status: 200 });
    expect((await lookUp()).body.data).toMatchObject({ customerId: other?.customerId });
  });
});

/** What bank or merchant knows a phone by. */
async function enrol({ api }: Bank | Merchant, fingerprint: string): Promise<string> {
  const { status, body } = await api.post('/v1/devices', { fingerprint });
  expect(status).toBe(201);
  return String(body.data['deviceId']);
}
