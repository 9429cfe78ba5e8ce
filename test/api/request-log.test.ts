import { enter, serveApi, type ServedApi } from '../support/api';
import { createTestDatabase, type TestDatabase } from '../support/database';

let test: TestDatabase;
let api: ServedApi;
beforeAll(async () => {
  test = await createTestDatabase();
  api = await serveApi(test.db);
});
afterAll(async () => {
  await api.close();
  await test.drop();
});

describe('the log', () => {
  it('has one line per request: who called what, how it ended, under the request’s id', async () => {
    const merchant = await enter(api, 'merchant');
    await merchant.send('GET', '/v1/webhooks/endpoint', undefined, { 'x-request-id': 'req-1' });
    expect(api.log.filter(({ requestId }) => requestId === 'req-1')).toEqual([
      expect.objectContaining({
        method: 'GET',
        route: '/v1/webhooks/endpoint',
        callerId: merchant.entityId,
        status: 200,
        responseTime: expect.any(Number) as number,
      }),
    ]);
  });

  it('never holds what is personal or secret, wherever a request carries it', async () => {
    const [bank, merchant, provider] = [
      await enter(api, 'bank'),
      await enter(api, 'merchant'),
      await enter(api, 'provider'),
    ];
    const secret = 'ada.lovelace';
    const person = {
      clientRef: secret,
      firstname: secret,
      lastname: secret,
      accountName: secret,
      email: `${secret}@example.com`,
      country: 'NG',
      accountNumber: 'ADALOVELACE1',
    };
    await merchant.send('GET', `/v1/customer/banks?email=${secret}@example.com`);
    await merchant.send('GET', `/v1/customer/banks?email=${secret}&${secret}=1`);
    await merchant.send('GET', `/v1/nothing/${secret}@example.com`);
    await bank.send('POST', '/v1/bank/customers', { customers: [person, { ...person, country: secret }] });
    await bank.send('POST', '/v1/bank/customers', `{"customers": ["${secret}"`);
    await provider.send('POST', '/v1/provider/merchants', { merchants: [{ name: secret }], [secret]: 1 });
    const log = JSON.stringify(api.log);
    expect(api.log.length).toBeGreaterThan(8);
    for (const hidden of [secret, 'ADALOVELACE1', merchant.token, merchant.clientSecret, 'email']) {
      expect(log).not.toContain(hidden);
    }
  });
});
