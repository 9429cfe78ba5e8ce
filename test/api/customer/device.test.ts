import { randomBytes } from 'node:crypto';
import { rows } from '../../../src/database/pool/connection';
import { enter, serveApi, type Party, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { person } from '../../support/person';

let test: TestDatabase;
let api: ServedApi;
let bank: Party;
let otherBank: Party;
let merchant: Party;
let otherMerchant: Party;
let ada: Customer;
let bola: Customer;
let theirs: Customer;
beforeAll(async () => {
  test = await createTestDatabase();
  api = await serveApi(test.db, {
    settings: { RATE_LIMIT_LOOKUP: '1000/1000', RATE_LIMIT_CALLER: '1000/1000' },
  });
  bank = await enter(api, 'bank');
  otherBank = await enter(api, 'bank');
  merchant = await enter(api, 'merchant');
  otherMerchant = await enter(api, 'merchant');
  [ada, bola] = [await onboard(bank), await onboard(bank)];
  theirs = await onboard(otherBank);
});
afterAll(async () => {
  await api.close();
  await test.drop();
});

interface Customer {
  customerId: string;
  phrase: string;
}

async function onboard(by: Party): Promise<Customer> {
  const { body } = await by.send('POST', '/v1/bank/customers', { customers: [person()] });
  const made = body.data?.['customers'] as { customerId: string; lookupID: string }[] | undefined;
  return { customerId: made?.[0]?.customerId ?? '', phrase: made?.[0]?.lookupID ?? '' };
}

const newFingerprint = () => randomBytes(16).toString('hex');
const enrol = (by: Party, fingerprint: unknown, headers?: Record<string, string>) =>
  by.send('POST', '/v1/devices', { fingerprint }, headers);
const tokenOf = async (by: Party, fingerprint = newFingerprint()) =>
  String((await enrol(by, fingerprint)).body.data?.['deviceId']);
const LINK = '/v1/bank/customer/device/link';
const UNLINK = '/v1/bank/customer/device/unlink';
const LOOKUP = '/v1/customer/device/lookup';
const link = (deviceId: string, customer: Customer, by = bank) =>
  by.send('POST', LINK, { ...customer, deviceId });
const unlink = (deviceId: string, customer: Customer, by = bank) =>
  by.send('POST', UNLINK, { ...customer, deviceId });
const lookUp = (deviceId: string, by = merchant) => by.send('POST', LOOKUP, { deviceId });

describe('the enrolment of a device', () => {
  it('gives a caller one token for one fingerprint: 201 the first time, 200 from then on', async () => {
    const fingerprint = newFingerprint();
    const first = await enrol(merchant, fingerprint);
    expect(first.status).toBe(201);
    expect(first.body.data).toEqual({ deviceId: expect.stringMatching(/^dev_[A-Za-z0-9_-]+$/) as string });
    const again = await enrol(merchant, ` ${fingerprint} `);
    expect([again.status, again.body.data]).toEqual([200, first.body.data]);
    expect(await tokenOf(merchant)).not.toBe(first.body.data?.['deviceId']);
  });

  it('gives every caller another token, new to each, for what the network knows as one device', async () => {
    const fingerprint = newFingerprint();
    const answers = [];
    for (const by of [merchant, otherMerchant, bank]) answers.push(await enrol(by, fingerprint));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    const tokens = answers.map(({ body }) => String(body.data?.['deviceId']));
    expect(new Set(tokens).size).toBe(3);

    await link(tokens[2] ?? '', ada);
    for (const [by, token] of [
      [merchant, tokens[0]],
      [otherMerchant, tokens[1]],
    ] as const) {
      expect((await lookUp(token ?? '', by)).body.data).toEqual({
        ...ada,
        deviceId: token,
        bankId: bank.entityId,
      });
    }
  });

  it('in many calls at once makes one device, new once', async () => {
    const fingerprint = newFingerprint();
    const answers = await Promise.all(Array.from({ length: 10 }, () => enrol(merchant, fingerprint)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(9);
    expect(new Set(answers.map(({ body }) => body.data?.['deviceId'])).size).toBe(1);
  });

  it('is answered the same again under its idempotency key', async () => {
    const fingerprint = newFingerprint();
    const key = { 'idempotency-key': 'enrol-once' };
    await enrol(merchant, fingerprint, key);
    const again = await enrol(merchant, fingerprint, key);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(await enrol(merchant, newFingerprint(), key)).toMatchObject({ status: 422 });
  });

  it.each([
    ['x'.repeat(15), 'must have at least 16 characters'],
    [` ${'x'.repeat(15)} `, 'must have at least 16 characters'],
    ['x'.repeat(513), 'must have at most 512 characters'],
    ['', 'must not be empty'],
    [7, 'must be a string'],
    [undefined, 'is required'],
    [`${'x'.repeat(16)}\u0000`, 'must not have control characters or line breaks'],
  ])('refuses the fingerprint %j: it %s', async (fingerprint, message) => {
    expect(await enrol(merchant, fingerprint)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'fingerprint', message }] },
    });
  });

  it.each([16, 512])('takes a fingerprint of %i characters', async (length) => {
    expect(await enrol(merchant, 'é'.repeat(length))).toMatchObject({ status: 201 });
  });

  it('leaves the fingerprint in clear neither in the database nor in the log', async () => {
    const fingerprint = `secret-${newFingerprint()}`;
    const token = await tokenOf(bank, fingerprint);
    await enrol(merchant, fingerprint, { 'idempotency-key': 'in-the-clear' });
    await link(token, ada);
    const stored: string[] = [];
    for (const table of ['devices', 'device_holders', 'device_links', 'idempotency_keys']) {
      const found = await rows<{ all: string }>(test.db, `SELECT to_jsonb(t)::text AS all FROM ${table} t`);
      stored.push(...found.map(({ all }) => all));
    }
    expect(stored.length).toBeGreaterThan(3);
    const written = stored.join() + JSON.stringify(api.log);
    for (const plain of [fingerprint, Buffer.from(fingerprint).toString('hex'), token]) {
      expect(written).not.toContain(plain);
    }
  });
});

describe('linking a device', () => {
  it('answers without data, the second time too, and changes nothing then', async () => {
    const token = await tokenOf(bank);
    const first = await link(token, ada);
    expect([first.status, first.body]).toEqual([
      200,
      { statusCode: 200, success: true, message: 'The device is linked' },
    ]);
    const linkedAt = async () => (await listed(`?search=${token}`)).devices[0]?.linkedAt;
    const before = await linkedAt();
    expect(
      await link(token, { ...ada, phrase: ada.phrase.toUpperCase().replaceAll('-', ' ') }),
    ).toMatchObject({ status: 200, body: first.body });
    expect(await linkedAt()).toBe(before);
  });

  it('to a second customer is a 409, also for another bank, until it is unlinked', async () => {
    const fingerprint = newFingerprint();
    const token = await tokenOf(bank, fingerprint);
    const otherToken = await tokenOf(otherBank, fingerprint);
    await link(token, ada);
    const taken = { status: 409, body: { message: 'The device is linked to another customer' } };
    expect(await link(token, bola)).toMatchObject(taken);
    expect(await link(otherToken, theirs, otherBank)).toMatchObject(taken);
    expect(await unlink(token, ada)).toMatchObject({ status: 200 });
    expect(await link(otherToken, theirs, otherBank)).toMatchObject({ status: 200 });
    expect(await link(token, ada)).toMatchObject(taken);
  });

  it('is a 404 that is always the same where customer, phrase or device is not the bank’s', async () => {
    const fingerprint = newFingerprint();
    const token = await tokenOf(bank, fingerprint);
    const answers = await Promise.all([
      link(token, { ...ada, phrase: bola.phrase }),
      link(token, { ...ada, customerId: bola.customerId }),
      link(token, { ...ada, customerId: 'x' }),
      link(token, { ...ada, customerId: 'cus_00000000000000000000000000' }),
      link(token, theirs),
      link(await tokenOf(otherBank, fingerprint), ada),
      link(await tokenOf(merchant, fingerprint), ada),
      link(`dev_${'0'.repeat(26)}`, ada),
      link(`${token}A`, ada),
    ]);
    const [first] = answers;
    expect(first?.status).toBe(404);
    for (const { status, body } of answers) expect([status, body]).toEqual([404, first?.body]);
    expect(await listed(`?search=${token}`)).toMatchObject({ total: 0 });
  });

  it('by two banks at once succeeds for exactly one, fifty times over', async () => {
    for (let round = 0; round < 50; round++) {
      const fingerprint = newFingerprint();
      const [mine, others] = await Promise.all([tokenOf(bank, fingerprint), tokenOf(otherBank, fingerprint)]);
      const answers = await Promise.all([link(mine, ada), link(others, theirs, otherBank)]);
      const statuses = answers.map(({ status }) => status);
      expect([
        [200, 409],
        [409, 200],
      ]).toContainEqual(statuses);
      const winner = statuses[0] === 200 ? ada : theirs;
      expect((await lookUp(await tokenOf(merchant, fingerprint))).body.data).toMatchObject({ ...winner });
    }
  });

  it('to two customers of one bank at once succeeds for exactly one', async () => {
    const token = await tokenOf(bank);
    const answers = await Promise.all([link(token, ada), link(token, bola), link(token, ada)]);
    const [first, second, third] = answers.map(({ status }) => status);
    expect([first, second]).toEqual(first === 200 ? [200, 409] : [409, 200]);
    expect(third).toBe(first);
  });
});

describe('unlinking a device', () => {
  it('answers without data, once; then it is not linked, and a merchant finds nobody', async () => {
    const fingerprint = newFingerprint();
    const token = await tokenOf(bank, fingerprint);
    const forMerchant = await tokenOf(merchant, fingerprint);
    await link(token, ada);
    expect(await lookUp(forMerchant)).toMatchObject({ status: 200 });
    const { status, body } = await unlink(token, ada);
    expect([status, body]).toEqual([
      200,
      { statusCode: 200, success: true, message: 'The device is not linked any more' },
    ]);
    expect(await unlink(token, ada)).toMatchObject({ status: 404 });
    expect(await lookUp(forMerchant)).toMatchObject({ status: 404 });
    expect(await listed(`?search=${token}`)).toMatchObject({ total: 0 });
  });

  it('is a 404 where it is not linked to that customer of the bank, and leaves the link', async () => {
    const fingerprint = newFingerprint();
    const token = await tokenOf(bank, fingerprint);
    const otherToken = await tokenOf(otherBank, fingerprint);
    await link(token, ada);
    const answers = await Promise.all([
      unlink(token, bola),
      unlink(token, { ...ada, phrase: bola.phrase }),
      unlink(token, { ...ada, customerId: 'x' }),
      unlink(token, theirs),
      unlink(otherToken, ada),
      unlink(otherToken, ada, otherBank),
      unlink(otherToken, theirs, otherBank),
      unlink(await tokenOf(bank), ada),
    ]);
    const [first] = answers;
    expect(first?.status).toBe(404);
    for (const { status, body } of answers) expect([status, body]).toEqual([404, first?.body]);
    expect(await listed(`?search=${token}`)).toMatchObject({ total: 1 });
  });

  it('keeps on record whose the device was', async () => {
    const token = await tokenOf(bank);
    await link(token, bola);
    await unlink(token, bola);
    await link(token, bola);
    const kept = await rows<{ ended: boolean }>(
      test.db,
      `SELECT unlinked_at IS NOT NULL AS ended FROM device_links WHERE device_id =
         (SELECT device_id FROM device_links ORDER BY linked_at DESC LIMIT 1) ORDER BY linked_at`,
    );
    expect(kept).toEqual([{ ended: true }, { ended: false }]);
  });
});

describe('the look-up by device', () => {
  it('says nothing to a merchant that holds another’s token', async () => {
    const fingerprint = newFingerprint();
    await link(await tokenOf(bank, fingerprint), ada);
    const token = await tokenOf(merchant, fingerprint);
    expect(await lookUp(token)).toMatchObject({ status: 200 });
    const unknown = await lookUp(`dev_${'A'.repeat(70)}`, otherMerchant);
    expect(unknown.status).toBe(404);
    expect(await lookUp(token, otherMerchant)).toMatchObject({ status: 404, body: unknown.body });
    await tokenOf(otherMerchant, fingerprint);
    expect(await lookUp(token, otherMerchant)).toMatchObject({ status: 404, body: unknown.body });
  });

  it('answers for a device that is linked to nobody as for an unknown one', async () => {
    const unknown = await lookUp(`dev_${'A'.repeat(70)}`);
    expect(await lookUp(await tokenOf(merchant))).toMatchObject({ status: 404, body: unknown.body });
  });
});

describe('a device id of another shape', () => {
  const endpoints: [string, () => Party, (deviceId: unknown) => object][] = [
    [LINK, () => bank, (deviceId) => ({ ...ada, deviceId })],
    [UNLINK, () => bank, (deviceId) => ({ ...ada, deviceId })],
    [LOOKUP, () => merchant, (deviceId) => ({ deviceId })],
  ];
  it.each(endpoints)('is a 400 at %s', async (path, by, body) => {
    for (const deviceId of [
      '',
      'x',
      'dev_',
      `dev_${'0'.repeat(25)}`,
      `dev_${'0'.repeat(201)}`,
      `DEV_${'0'.repeat(26)}`,
      `dev_${'0'.repeat(26)}=`,
      `dev_${'0'.repeat(26)}\n`,
      7,
      null,
      undefined,
    ]) {
      expect(await by().send('POST', path, body(deviceId))).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'deviceId' }] },
      });
    }
  });

  it.each(endpoints)('is told with every other problem at %s', async (path, by) => {
    const { status, body } = await by().send('POST', path, { deviceId: 'x', customerID: 'x' });
    expect(status).toBe(400);
    expect(body.errors?.map((problem) => problem.path)).toEqual(
      path === LOOKUP ? ['deviceId', 'customerID'] : ['customerId', 'phrase', 'deviceId', 'customerID'],
    );
  });
});

interface Page {
  devices: { deviceId: string; customerId: string; phrase: string; linkedAt: string }[];
  total: number;
  page: number;
  limit: number;
}
async function listed(query = '', by = bank): Promise<Page> {
  const { status, body } = await by.send('GET', `/v1/bank/devices/list${query}`);
  expect(status).toBe(200);
  return body.data as unknown as Page;
}

describe('the list of devices', () => {
  let own: Party;
  let customers: [Customer, Customer, Customer];
  /** Two of the first customer, one of each other, in the order in which they were linked. */
  let tokens: [string, string, string, string];
  beforeAll(async () => {
    own = await enter(api, 'bank');
    customers = [await onboard(own), await onboard(own), await onboard(own)];
    tokens = [await tokenOf(own), await tokenOf(own), await tokenOf(own), await tokenOf(own)];
    const [first, second, third] = customers;
    for (const [i, customer] of [first, second, third, first].entries()) {
      await link(tokens[i] ?? '', customer, own);
    }
  });
  const found = async (search: string, by = own) =>
    (await listed(`?search=${encodeURIComponent(search)}`, by)).devices.map(({ deviceId }) => deviceId);

  it('shows a bank its own, the last linked first', async () => {
    const { devices, ...page } = await listed('', own);
    expect(page).toEqual({ total: 4, page: 1, limit: 20 });
    expect(devices.map(({ deviceId }) => deviceId)).toEqual(tokens.toReversed());
    expect(devices[0]).toEqual({
      ...customers[0],
      deviceId: tokens[3],
      linkedAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) as string,
    });
  });

  it('comes in pages that neither overlap nor skip, and are empty beyond the last', async () => {
    const pages = await Promise.all([1, 2, 3].map((page) => listed(`?limit=3&page=${page}`, own)));
    expect(pages.map(({ devices }) => devices.length)).toEqual([3, 1, 0]);
    expect(pages.flatMap(({ devices }) => devices.map(({ deviceId }) => deviceId))).toEqual(
      tokens.toReversed(),
    );
    expect(pages.map(({ total, page, limit }) => [total, page, limit])).toEqual([
      [4, 1, 3],
      [4, 2, 3],
      [4, 3, 3],
    ]);
  });

  it('is searched by a whole device id, but not by a part of one', async () => {
    expect(await found(tokens[1])).toEqual([tokens[1]]);
    expect(await found(tokens[1].slice(0, -1))).toEqual([]);
  });

  it('is searched by the beginning of a customerId, or all of it', async () => {
    const [{ customerId }, second] = customers;
    expect(await found(customerId)).toEqual([tokens[3], tokens[0]]);
    expect(await found(second.customerId)).toEqual([tokens[1]]);
    expect(await found('cus_')).toEqual(tokens.toReversed());
    expect(await found(customerId.slice(1))).toEqual([]);
    // In SQL's patterns the line stands for any character.
    expect(await found('cu__')).toEqual([]);
    expect(await found('%')).toEqual([]);
  });

  it('is searched by the beginning of a phrase, however it is typed', async () => {
    const [, { phrase }] = customers;
    const twoWords = phrase.split('-').slice(0, 2);
    expect(await found(phrase)).toEqual([tokens[1]]);
    expect(await found(twoWords.join('-'))).toEqual([tokens[1]]);
    expect(await found(twoWords.join(' ').toUpperCase())).toEqual([tokens[1]]);
    expect(await found(phrase.slice(1))).toEqual([]);
  });

  it('finds nothing of another bank', async () => {
    const [{ customerId, phrase }] = customers;
    for (const search of [customerId, phrase, tokens[0]]) expect(await found(search, otherBank)).toEqual([]);
    const theirToken = await tokenOf(otherBank);
    await link(theirToken, theirs, otherBank);
    for (const search of [theirs.customerId, theirToken]) expect(await found(search)).toEqual([]);
  });

  it.each(['linkedAt', 'customerId', 'phrase'] as const)('is sorted by %s, both ways', async (sortBy) => {
    const values = async (sortOrder: string) =>
      (await listed(`?sortBy=${sortBy}&sortOrder=${sortOrder}`, own)).devices.map((device) => device[sortBy]);
    const rising = await values('asc');
    expect(rising).toHaveLength(4);
    expect(rising).toEqual(rising.toSorted());
    expect(await values('desc')).toEqual(rising.toReversed());
  });

  it.each([
    ['sortBy', 'deviceId'],
    ['sortOrder', 'up'],
    ['page', '0'],
    ['page', 'x'],
    ['limit', '0'],
    ['limit', '101'],
    ['search', ''],
    ['search', '%00'],
    ['search', 'x'.repeat(255)],
    ['customerId', 'x'],
  ])('refuses %s=%s', async (name, value) => {
    expect(await own.send('GET', `/v1/bank/devices/list?${name}=${value}`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: `query.${name}` }] },
    });
  });
});
