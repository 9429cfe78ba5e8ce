import { randomBytes } from 'node:crypto';
import { person } from '../../support/person';
import { shareApi, type Caller } from '../../support/shared-api';
import { raw } from '../../../src/database/pool/statement';

const served = shareApi({ RATE_LIMIT_LOOKUP: '1000/1000', RATE_LIMIT_CALLER: '1000/1000' });

interface Customer {
  customerId: string;
  phrase: string;
}

let bank: Caller;
let otherBank: Caller;
let merchant: Caller;
let otherMerchant: Caller;
let ada: Customer;
let bola: Customer;
let theirs: Customer;
beforeAll(async () => {
  [bank, otherBank] = [await served.enter('bank'), await served.enter('bank')];
  [merchant, otherMerchant] = [await served.enter('merchant'), await served.enter('merchant')];
  [ada, bola, theirs] = [await onboard(bank), await onboard(bank), await onboard(otherBank)];
});

async function onboard(by: Caller): Promise<Customer> {
  const { body } = await by.post('/v1/bank/customers', { customers: [person()] });
  const [made] = (body.data ?? {})['customers'] as { customerId: string; lookupID: string }[];
  return { customerId: made?.customerId ?? '', phrase: made?.lookupID ?? '' };
}

const newFingerprint = () => randomBytes(16).toString('hex');
const enrol = (by: Caller, fingerprint: unknown, headers?: Record<string, string>) =>
  by.post('/v1/devices', { fingerprint }, headers);
const tokenOf = async (by: Caller, fingerprint = newFingerprint()) =>
  String((await enrol(by, fingerprint)).body.data?.['deviceId']);
const LINK = '/v1/bank/customer/device/link';
const UNLINK = '/v1/bank/customer/device/unlink';
const LOOKUP = '/v1/customer/device/lookup';
const link = (deviceId: string, customer: Customer, by = bank) => by.post(LINK, { ...customer, deviceId });
const unlink = (deviceId: string, customer: Customer, by = bank, headers?: Record<string, string>) =>
  by.post(UNLINK, { ...customer, deviceId }, headers);
const lookUp = (deviceId: string, by = merchant) => by.post(LOOKUP, { deviceId });
const found = async (search: string, by = bank) =>
  (await by.list(`/v1/bank/devices/list?search=${encodeURIComponent(search)}`)).map(
    ({ deviceId }) => deviceId,
  );

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
    const callers = [merchant, otherMerchant, bank];
    const tokens: string[] = [];
    for (const by of callers) {
      const { status, body } = await enrol(by, fingerprint);
      expect(status).toBe(201);
      tokens.push(String(body.data?.['deviceId']));
    }
    expect(new Set(tokens).size).toBe(3);

    await link(tokens[2] ?? '', ada);
    for (const [i, by] of [merchant, otherMerchant].entries()) {
      const shown = { ...ada, deviceId: tokens[i], bankId: bank.entityId };
      expect((await lookUp(tokens[i] ?? '', by)).body.data).toEqual(shown);
    }
  });

  it('in many calls at once makes one device, new once', async () => {
    const fingerprint = newFingerprint();
    const answers = await Promise.all(Array.from({ length: 10 }, () => enrol(merchant, fingerprint)));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => b - a);
    expect(statuses).toEqual([201, ...Array<number>(9).fill(200)]);
    expect(new Set(answers.map(({ body }) => body.data?.['deviceId'])).size).toBe(1);
  });

  it.each([
    ['x'.repeat(15), 'must have at least 16 characters'],
    [` ${'x'.repeat(15)} `, 'must have at least 16 characters'],
    ['é'.repeat(16), undefined],
    ['é'.repeat(512), undefined],
    ['x'.repeat(513), 'must have at most 512 characters'],
    [undefined, 'is required'],
  ])('of the fingerprint %j: %s', async (fingerprint, message) => {
    const { status, body } = await enrol(merchant, fingerprint);
    expect(status).toBe(message === undefined ? 201 : 400);
    expect(body.errors).toEqual(message && [{ path: 'fingerprint', message }]);
  });

  it('leaves the fingerprint in clear neither in the database nor in the log', async () => {
    const fingerprint = `secret-${newFingerprint()}`;
    const token = await tokenOf(bank, fingerprint);
    await enrol(merchant, fingerprint, { 'idempotency-key': 'in-the-clear' });
    await link(token, ada);
    const stored: string[] = [];
    for (const table of ['devices', 'device_holders', 'device_links', 'idempotency_keys']) {
      const kept = await served.db.rows<{
        all: string;
      }>`SELECT to_jsonb(t)::text AS all FROM ${raw(table)} t`;
      stored.push(...kept.map(({ all }) => all));
    }
    expect(stored.length).toBeGreaterThan(3);
    const written = stored.join() + JSON.stringify(served.api.log);
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
    const shown = () => bank.list(`/v1/bank/devices/list?search=${token}`);
    const before = await shown();
    const typed = ada.phrase.toUpperCase().replaceAll('-', ' ');
    expect(await link(token, { ...ada, phrase: typed })).toMatchObject({ status: 200, body: first.body });
    expect(await shown()).toEqual(before);
  });

  it('to a second customer is a 409, also for another bank, until it is unlinked', async () => {
    const fingerprint = newFingerprint();
    const token = await tokenOf(bank, fingerprint);
    const otherToken = await tokenOf(otherBank, fingerprint);
    await link(token, ada);
    const taken = { status: 409, body: { message: 'The device is linked to another customer' } };
    expect(await link(token, bola)).toMatchObject(taken);
    expect(await link(otherToken, theirs, otherBank)).toMatchObject(taken);
    expect((await unlink(token, ada)).status).toBe(200);
    expect((await link(otherToken, theirs, otherBank)).status).toBe(200);
    expect(await link(token, ada)).toMatchObject(taken);
  });

  it('is a 404 that is always the same where customer, phrase or device is not the bank’s', async () => {
    const fingerprint = newFingerprint();
    const token = await tokenOf(bank, fingerprint);
    const [first, ...others] = await Promise.all([
      link(token, { ...ada, phrase: bola.phrase }),
      link(token, { ...ada, customerId: bola.customerId }),
      link(token, { ...ada, customerId: 'x' }),
      link(token, theirs),
      link(await tokenOf(otherBank, fingerprint), ada),
      link(await tokenOf(merchant, fingerprint), ada),
      link(`${token}A`, ada),
    ]);
    expect(first?.status).toBe(404);
    for (const { status, body } of others) expect([status, body]).toEqual([404, first?.body]);
    expect(await found(token)).toEqual([]);
  });

  it('by two banks, or to two customers, at once succeeds for exactly one, ten times over', async () => {
    for (let round = 0; round < 10; round++) {
      const fingerprint = newFingerprint();
      const [mine, others] = [await tokenOf(bank, fingerprint), await tokenOf(otherBank, fingerprint)];
      const linked = [
        { customer: ada, answering: link(mine, ada) },
        { customer: theirs, answering: link(others, theirs, otherBank) },
        { customer: bola, answering: link(mine, bola) },
      ];
      const statuses = (await Promise.all(linked.map(({ answering }) => answering))).map(
        ({ status }) => status,
      );
      expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
      const winner = linked[statuses.indexOf(200)]?.customer;
      expect((await lookUp(await tokenOf(merchant, fingerprint))).body.data).toMatchObject({ ...winner });
    }
  });
});

describe('unlinking a device', () => {
  it('answers without data, once; then a merchant finds nobody, and whose it was stays on record', async () => {
    const fingerprint = newFingerprint();
    const [token, forMerchant] = [await tokenOf(bank, fingerprint), await tokenOf(merchant, fingerprint)];
    await link(token, ada);
    expect((await lookUp(forMerchant)).status).toBe(200);
    const { status, body } = await unlink(token, ada);
    expect([status, body]).toEqual([
      200,
      { statusCode: 200, success: true, message: 'The device is not linked any more' },
    ]);
    expect((await unlink(token, ada)).status).toBe(404);
    expect((await lookUp(forMerchant)).status).toBe(404);
    expect(await found(token)).toEqual([]);

    await link(token, ada);
    const kept = await served.db.rows`
      SELECT unlinked_at IS NOT NULL AS ended FROM device_links WHERE device_id =
      (SELECT device_id FROM device_links ORDER BY linked_at DESC LIMIT 1) ORDER BY linked_at`;
    expect(kept).toEqual([{ ended: true }, { ended: false }]);
  });

  it('whose answer was lost is the same with its key, and ends no link that was made meanwhile', async () => {
    const token = await tokenOf(bank);
    const key = { 'idempotency-key': 'unlink' };
    await link(token, ada);
    const first = await unlink(token, ada, bank, key);
    await link(token, ada);
    const again = await unlink(token, ada, bank, key);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(await found(token)).toEqual([token]);
  });

  it('is a 404 where it is not linked to that customer of the bank, and leaves the link', async () => {
    const fingerprint = newFingerprint();
    const token = await tokenOf(bank, fingerprint);
    const otherToken = await tokenOf(otherBank, fingerprint);
    await link(token, ada);
    const [first, ...others] = await Promise.all([
      unlink(token, bola),
      unlink(token, { ...ada, phrase: bola.phrase }),
      unlink(token, { ...ada, customerId: 'x' }),
      unlink(token, theirs),
      unlink(otherToken, ada),
      unlink(otherToken, theirs, otherBank),
      unlink(await tokenOf(bank), ada),
    ]);
    expect(first?.status).toBe(404);
    for (const { status, body } of others) expect([status, body]).toEqual([404, first?.body]);
    expect(await found(token)).toEqual([token]);
  });
});

test('the look-up by device answers for an unlinked one, or another’s token, as for an unknown one', async () => {
  const fingerprint = newFingerprint();
  await link(await tokenOf(bank, fingerprint), ada);
  const token = await tokenOf(merchant, fingerprint);
  expect((await lookUp(token)).status).toBe(200);
  const unknown = await lookUp(`dev_${'A'.repeat(70)}`, otherMerchant);
  expect(unknown.status).toBe(404);
  expect(await lookUp(token, otherMerchant)).toMatchObject({ status: 404, body: unknown.body });
  await tokenOf(otherMerchant, fingerprint);
  expect(await lookUp(token, otherMerchant)).toMatchObject({ status: 404, body: unknown.body });
  expect(await lookUp(await tokenOf(merchant))).toMatchObject({ status: 404, body: unknown.body });
});

test.each([LINK, UNLINK, LOOKUP])('a device id of another shape is a 400 at %s', async (path) => {
  const [by, rest] = path === LOOKUP ? [merchant, {}] : [bank, ada];
  for (const deviceId of [
    '',
    `dev_${'0'.repeat(25)}`,
    `dev_${'0'.repeat(201)}`,
    `DEV_${'0'.repeat(26)}`,
    7,
  ]) {
    expect(await by.post(path, { ...rest, deviceId })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'deviceId' }] },
    });
  }
});

describe('the list of devices', () => {
  let own: Caller;
  let customers: [Customer, Customer, Customer];
  /** Two of the first customer, one of each other, in the order in which they were linked. */
  let tokens: [string, string, string, string];
  beforeAll(async () => {
    own = await served.enter('bank');
    customers = [await onboard(own), await onboard(own), await onboard(own)];
    tokens = [await tokenOf(own), await tokenOf(own), await tokenOf(own), await tokenOf(own)];
    const [first, second, third] = customers;
    for (const [i, customer] of [first, second, third, first].entries()) {
      await link(tokens[i] ?? '', customer, own);
    }
  });

  it('shows a bank its own, the last linked first, in pages that neither overlap nor skip', async () => {
    const pages = await Promise.all(
      [1, 2, 3].map((page) => own.read(`/v1/bank/devices/list?limit=3&page=${page}`)),
    );
    const devices = pages.map((page) => page['devices'] as { deviceId: string }[]);
    expect(devices.map(({ length }) => length)).toEqual([3, 1, 0]);
    expect(devices.flat().map(({ deviceId }) => deviceId)).toEqual(tokens.toReversed());
    for (const [i, page] of pages.entries()) expect(page).toMatchObject({ total: 4, page: i + 1, limit: 3 });
    const linkedAt = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) as string;
    expect(devices[0]?.[0]).toEqual({ ...customers[0], deviceId: tokens[3], linkedAt });
  });

  it('is searched by a whole device id, or the beginning of a customerId or phrase, however it is typed', async () => {
    const [{ customerId }, second] = customers;
    const twoWords = second.phrase.split('-').slice(0, 2);
    for (const [search, devices] of [
      [tokens[1], [tokens[1]]],
      [tokens[1].slice(0, -1), []],
      [customerId, [tokens[3], tokens[0]]],
      ['cus_', tokens.toReversed()],
      [customerId.slice(1), []],
      // In SQL's patterns the line stands for any character.
      ['cu__', []],
      ['%', []],
      [second.phrase, [tokens[1]]],
      [twoWords.join('-'), [tokens[1]]],
      [twoWords.join(' ').toUpperCase(), [tokens[1]]],
      [second.phrase.slice(1), []],
    ] as const) {
      expect([search, await found(search, own)]).toEqual([search, devices]);
    }
  });

  it('finds nothing of another bank', async () => {
    const [{ customerId, phrase }] = customers;
    for (const search of [customerId, phrase, tokens[0]]) expect(await found(search, otherBank)).toEqual([]);
  });

  it.each(['linkedAt', 'customerId', 'phrase'] as const)('is sorted by %s, both ways', async (sortBy) => {
    const values = async (sortOrder: string) =>
      (await own.list(`/v1/bank/devices/list?sortBy=${sortBy}&sortOrder=${sortOrder}`)).map((one) =>
        String(one[sortBy]),
      );
    const rising = await values('asc');
    expect(rising).toHaveLength(4);
    expect(rising).toEqual(rising.toSorted());
    expect(await values('desc')).toEqual(rising.toReversed());
  });
});
