import { randomUUID } from 'node:crypto';
import { readConfig } from '../../../src/settings/config';
import type { IdentifierKind } from '../../../src/api/http/request-metrics';
import { apiOfFile, enter, type Party } from '../../support/api';
import { person } from '../../support/person';

const { api, database: test } = apiOfFile({
  config: {
    ...readConfig({ RATE_LIMIT_CALLER: '5000/5000', RATE_LIMIT_TOKEN_ADDRESS: '5000/5000' }),
    // A token flows in each 1 000 s: none while a test runs.
    RATE_LIMIT_UNKNOWN: { perSecond: 0.001, burst: 5 },
  },
  measureUnknown: (kind, count) => void measured.set(kind, (measured.get(kind) ?? 0) + count),
});
let bank: Party;
let known: string;
const measured = new Map<IdentifierKind, number>();
beforeAll(async () => {
  bank = await enter(api, 'bank');
  known = await onboard(bank);
});

async function onboard(by: Party): Promise<string> {
  const { body } = await by.send('POST', '/v1/bank/customers', { customers: [person()] });
  const made = body.data?.['customers'] as { lookupID: string }[] | undefined;
  return made?.[0]?.lookupID ?? '';
}

let madeUp = 0;
const unknown = (count: number) => Array.from({ length: count }, () => `no-such-lookup-id-${(madeUp += 1)}`);

const intend = (by: Party, lookupIDs: string[], headers?: Record<string, string>) =>
  by.send('POST', '/v1/billing/intent', { lookupIDs, currency: 'NGN', description: 'Gold plan' }, headers);
const bill = (by: Party, payers: object) =>
  by.send('POST', '/v1/customer/bill', { ...payers, amount: 10, currency: 'NGN', description: 'Shoes' });
const schedule = (by: Party) =>
  by.send('POST', '/v1/billing/recurring/create', {
    customerId: 'cus_00000000000000000000000000',
    paymentID: 'none',
    amount: 10,
    currency: 'NGN',
    frequency: 'monthly',
  });
const findByEmail = (by: Party) => by.send('GET', `/v1/customer/banks?email=${randomUUID()}@example.com`);
const findByDevice = (by: Party) =>
  by.send('POST', '/v1/customer/device/lookup', { deviceId: `dev_${'A'.repeat(70)}` });

/** Takes what the bucket holds, and more. */
const exhaust = async (by: Party) => expect(await intend(by, unknown(100))).toMatchObject({ status: 404 });

const statusesOf = (answers: { status: number }[]) =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b);

const tooMany = { status: 429, body: { statusCode: 429, success: false } };

describe('unknown identifiers', () => {
  it('make every call that names identifiers a 429, known ones too, until they are paid back', async () => {
    const merchant = await enter(api, 'merchant');
    await exhaust(merchant);
    const refused = await intend(merchant, [known]);
    expect(refused).toMatchObject(tooMany);
    expect(refused.headers.get('ratelimit-policy')).toBe('"unknown";q=5;w=5000');
    // The 95 that were named beyond the five must flow in first, each in 1 000 s.
    expect(refused.headers.get('retry-after')).toMatch(/^(95\d{3}|96000)$/);
    for (const answer of [
      bill(merchant, { lookupIDs: [known] }),
      bill(merchant, { paymentIDs: ['none'] }),
      schedule(merchant),
      findByEmail(merchant),
      findByDevice(merchant),
    ]) {
      expect(await answer).toMatchObject(tooMany);
    }
    // A call that names none is served.
    expect(await merchant.send('GET', '/v1/events')).toMatchObject({ status: 200 });
    const other = await enter(api, 'merchant');
    expect(await intend(other, [known])).toMatchObject({ status: 200 });

    await test.db.query(
      `UPDATE rate_limits SET full_at = full_at - interval '100000 s' WHERE key LIKE 'unknown:%'`,
    );
    expect(await intend(merchant, [known])).toMatchObject({ status: 200 });
  });

  it('are all that is counted: known ones cost nothing', async () => {
    const merchant = await enter(api, 'merchant');
    for (let i = 0; i < 10; i++) {
      expect(await bill(merchant, { lookupIDs: [known] })).toMatchObject({ status: 201 });
    }
  });

  it('in many calls at once get no more answers than the rate allows, and by the hundred one', async () => {
    const [merchant, other] = [await enter(api, 'merchant'), await enter(api, 'merchant')];
    const answers = await Promise.all(Array.from({ length: 60 }, () => intend(merchant, unknown(1))));
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(55);
    const large = await Promise.all(Array.from({ length: 10 }, () => intend(other, unknown(100))));
    expect(statusesOf(large)).toEqual([404, ...Array<number>(9).fill(429)]);
  });

  it('beside known ones undo the whole call where nothing is left to tell it', async () => {
    const merchant = await enter(api, 'merchant');
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => bill(merchant, { lookupIDs: [known, ...unknown(99)] })),
    );
    expect(statusesOf(answers)).toEqual([201, ...Array<number>(7).fill(429)]);
    const made = await test.db.rows`SELECT id FROM billing_requests WHERE merchant_id = ${merchant.entityId}`;
    expect(made).toHaveLength(1);
  });

  it('refused under a key are not told to a repeat either', async () => {
    const merchant = await enter(api, 'merchant');
    const asked = Array.from({ length: 20 }, () => ({
      lookupIDs: unknown(50),
      key: { 'idempotency-key': randomUUID() },
    }));
    const answers = await Promise.all(asked.map(({ lookupIDs, key }) => intend(merchant, lookupIDs, key)));
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(1);
    const kept = await test.db.rows`SELECT key FROM idempotency_keys WHERE caller_id = ${merchant.entityId}`;
    expect(kept).toHaveLength(1);
  });

  it('are counted for all merchants of a provider together, ten times as many as for one', async () => {
    const provider = await enter(api, 'provider');
    const more = { providerId: provider.entityId };
    const merchants = await Promise.all(Array.from({ length: 3 }, () => enter(api, 'merchant', more)));
    const [first, second, third] = merchants as [Party, Party, Party];
    expect(await intend(first, unknown(40))).toMatchObject({ status: 404 });
    expect(await intend(first, [known])).toMatchObject(tooMany);
    // Ten of fifty are left, and this takes them and ninety more.
    expect(await intend(second, unknown(100))).toMatchObject({ status: 404 });
    const refused = await intend(third, [known]);
    expect(refused).toMatchObject(tooMany);
    expect(refused.headers.get('ratelimit-policy')).toBe('"unknown";q=50;w=5000');
    expect(await schedule(provider)).toMatchObject(tooMany);
    expect(await intend(await enter(api, 'merchant'), [known])).toMatchObject({ status: 200 });
  });

  it('are counted for a bank that bills for its customers, and keep it from nothing else', async () => {
    const own = await enter(api, 'bank');
    const payee = { lookupID: await onboard(own) };
    expect(await bill(own, { lookupIDs: [known], payee })).toMatchObject({ status: 201 });
    expect(await bill(own, { lookupIDs: unknown(100), payee })).toMatchObject({ status: 404 });
    expect(await bill(own, { lookupIDs: [known], payee })).toMatchObject(tooMany);
    expect(await own.send('GET', '/v1/bank/customers')).toMatchObject({ status: 200 });
  });

  it('show in the metrics by kind, and by nothing else', async () => {
    measured.clear();
    const parties = [await enter(api, 'merchant'), await enter(api, 'merchant')] as const;
    await intend(parties[0], unknown(3));
    await bill(parties[0], { paymentIDs: ['none'] });
    await schedule(parties[1]);
    await findByEmail(parties[1]);
    await findByDevice(parties[1]);
    expect(Object.fromEntries(measured)).toEqual({ lookup_id: 3, payment_id: 2, email: 1, device: 1 });
  });
});
