import { onboard } from '../../src/database/customer';
import { row, rows } from '../../src/database/connection';
import { open } from '../../src/database/sealing';
import { enter, serveApi, type Party, type ServedApi } from '../support/api';
import { createTestDatabase, type TestDatabase } from '../support/database';

let test: TestDatabase;
let api: ServedApi;
let bank: Party;
let merchant: Party;
beforeAll(async () => {
  test = await createTestDatabase();
  api = await serveApi(test.db, { settings: { RATE_LIMIT_LOOKUP: '1000/1000' } });
  bank = await enter(api, 'bank', { name: 'First Bank' });
  merchant = await enter(api, 'merchant');
});
afterAll(async () => {
  await api.close();
  await test.drop();
});

/** Somebody whom no test has met before. */
let people = 0;
const person = (more: Record<string, unknown> = {}) => {
  const n = ++people;
  return {
    clientRef: `ref-${n}`,
    firstname: 'Ada',
    lastname: 'Obi',
    accountName: 'Ada Obi',
    email: `ada${n}@example.com`,
    country: 'NG',
    accountNumber: `ACC${100_000 + n}`,
    ...more,
  };
};
const migrate = (customers: unknown[], by = bank) => by.send('POST', '/v1/bank/customers', { customers });
const failuresOf = (data: Record<string, unknown> = {}) =>
  data['failures'] as { index: number; clientRef?: string; reason: string }[];
const reasons = (data?: Record<string, unknown>) =>
  failuresOf(data).map(({ index, reason }) => [index, reason]);
const onboardedOf = (data: Record<string, unknown> = {}) => data['customers'] as Record<string, string>[];
const duplicate = (of: string) => `duplicate: the bank, or this batch before, has a customer with this ${of}`;
const hex = (text: string) => Buffer.from(text).toString('hex');
const banksOf = async (email: string) =>
  (await merchant.send('GET', `/v1/customer/banks?email=${encodeURIComponent(email)}`)).body.data?.['banks'];

describe('the migration of customers', () => {
  it('onboards 500 at once, each with a phrase of its own', async () => {
    const batch = Array.from({ length: 500 }, () => person());
    const { status, body } = await migrate(batch);
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      batchId: expect.stringMatching(/^bat_/) as string,
      status: 'completed',
      summary: { total: 500, successful: 500, failed: 0, duplicates: 0 },
      failures: [],
    });
    const customers = onboardedOf(body.data);
    expect(customers.map(({ clientRef }) => clientRef)).toEqual(batch.map(({ clientRef }) => clientRef));
    for (const { customerId, lookupID } of customers) {
      expect(customerId).toMatch(/^cus_/);
      expect(lookupID).toMatch(/^([a-z]+-){4}\d\d$/);
    }
    expect(new Set(customers.map(({ lookupID }) => lookupID)).size).toBe(500);
  });

  it('counts duplicates by account number and by clientRef, in the bank and earlier in the batch', async () => {
    const known = person();
    await migrate([known]);
    const [a, b] = [person(), person()];
    const { body } = await migrate([
      { ...person(), accountNumber: known.accountNumber },
      { ...person(), clientRef: known.clientRef },
      a,
      { ...b, accountNumber: a.accountNumber },
      { ...person(), clientRef: a.clientRef },
    ]);
    expect(body.data?.['summary']).toEqual({ total: 5, successful: 1, failed: 0, duplicates: 4 });
    expect(reasons(body.data)).toEqual([
      [0, duplicate('accountNumber')],
      [1, duplicate('clientRef')],
      [3, duplicate('accountNumber')],
      [4, duplicate('clientRef')],
    ]);
  });

  it('lets the same person be a customer of two banks', async () => {
    const other = await enter(api, 'bank');
    const ada = person();
    await migrate([ada]);
    expect((await migrate([ada], other)).body.data?.['summary']).toMatchObject({ successful: 1 });
  });

  it('counts an invalid person, with every reason, and onboards the others', async () => {
    const good = person();
    const { status, body } = await migrate([
      { ...person(), email: 'x', country: 'ng', accountNumber: 'short' },
      { clientRef: 'only this' },
      {},
      { ...person(), firstname: 'A\u0000', surname: 'x' },
      good,
      person({ country: 'ZZ' }),
      person({ clientRef: 7 }),
    ]);
    expect(status).toBe(201);
    expect(body.data?.['summary']).toEqual({ total: 7, successful: 1, failed: 6, duplicates: 0 });
    expect(body.data?.['customers']).toEqual([expect.objectContaining({ clientRef: good.clientRef })]);
    const [first, second, third, fourth] = reasons(body.data);
    expect(first).toEqual([
      0,
      'email must be an e-mail address; country must be an ISO 3166 alpha-2 code, as NG; accountNumber must be 6 to 34 of A-Z and 0-9',
    ]);
    expect(second?.[1]).toMatch(/^firstname is required; .*accountNumber is required$/);
    expect(third?.[1]).toMatch(/^clientRef is required/);
    expect(fourth?.[1]).toBe(
      'firstname must not have control characters or line breaks; surname is not a known field',
    );
    expect(failuresOf(body.data)[1]).toMatchObject({ index: 1, clientRef: 'only this' });
    expect(failuresOf(body.data)[2]).not.toHaveProperty('clientRef');
  });

  it('does not hold an invalid person against a later valid one', async () => {
    const ada = person();
    const { body } = await migrate([{ ...ada, email: 'x' }, ada]);
    expect(body.data?.['summary']).toEqual({ total: 2, successful: 1, failed: 1, duplicates: 0 });
  });

  it.each([
    ['no array', { customers: {} }, 'customers', 'must be an array'],
    ['nobody', { customers: [] }, 'customers', 'must have at least 1 entry'],
    ['no objects', { customers: ['x'] }, 'customers[0]', 'must be an object'],
  ])('refuses a body with %s', async (_, body, path, message) => {
    expect(await bank.send('POST', '/v1/bank/customers', body)).toMatchObject({
      status: 400,
      body: { errors: [{ path, message }] },
    });
  });

  it('refuses 501 people, saying how many are taken', async () => {
    const { status, body } = await migrate(Array.from({ length: 501 }, () => ({})));
    expect(status).toBe(400);
    expect(body.message).toContain('at most 500');
  });

  it('takes a body that is far larger than other endpoints do', async () => {
    const long = 'x'.repeat(200);
    const batch = Array.from({ length: 500 }, () =>
      person({ firstname: long, lastname: long, accountName: long, reference: long }),
    );
    expect(JSON.stringify(batch).length).toBeGreaterThan(256 * 1024);
    expect(await migrate(batch)).toMatchObject({ status: 201 });
  });

  it('of one bank in two calls at once counts everybody once', async () => {
    const batch = Array.from({ length: 50 }, () => person());
    const answers = await Promise.all([migrate(batch), migrate(batch.toReversed()), migrate(batch)]);
    const summaries = answers.map(({ body }) => body.data?.['summary'] as Record<string, number>);
    expect(summaries.reduce((sum, { successful = 0 }) => sum + successful, 0)).toBe(50);
    expect(summaries.reduce((sum, { duplicates = 0 }) => sum + duplicates, 0)).toBe(100);
  });

  it('draws again when a phrase is taken', async () => {
    const draws = ['take-me-if-free-01', 'take-me-if-free-01', 'take-me-if-free-01', 'take-me-if-free-02'];
    const { outcomes } = await test.db.transaction((trx) =>
      onboard(
        trx,
        api.deps.ring,
        { bankId: bank.entityId, people: [person(), person()], failed: 0 },
        () => draws.shift() ?? 'none-is-left-here-99',
      ),
    );
    const told = outcomes.map((outcome) => ('lookupID' in outcome ? outcome.lookupID : undefined));
    const stored = await rows<{ phrase: string }>(
      test.db,
      `SELECT lookup_id AS phrase FROM customers WHERE lookup_id LIKE 'take-me%' ORDER BY id`,
    );
    expect(told).toEqual(['take-me-if-free-01', 'take-me-if-free-02']);
    expect(stored.map(({ phrase }) => phrase)).toEqual(told);
  });

  it('stores e-mail and account number sealed, so that nobody reads them in the database', async () => {
    const ada = person({ email: 'Sealed.Ada@example.com', accountNumber: 'SEALED12345' });
    await migrate([ada]);
    const stored = await row<{ id: string; email: Buffer; all: string }>(
      test.db,
      `SELECT id, email_sealed AS email, to_jsonb(c)::text AS all FROM customers c WHERE client_ref = :ref`,
      { ref: ada.clientRef },
    );
    for (const plain of ['Sealed.Ada', 'sealed.ada', 'SEALED12345']) {
      expect(stored?.all).not.toContain(plain);
      expect(stored?.all).not.toContain(hex(plain));
    }
    expect(stored && open(api.deps.ring, stored.email, `customers.email_sealed:${stored.id}`)).toBe(
      'Sealed.Ada@example.com',
    );
  });
});

describe('the look-up by e-mail', () => {
  it('finds every bank of the address, however it is written', async () => {
    const other = await enter(api, 'bank', { name: 'Second Bank' });
    const ada = person({ email: 'Found.Ada@Example.com' });
    const [one] = onboardedOf((await migrate([ada])).body.data);
    await migrate([ada], other);
    const expected = [
      {
        bankId: bank.entityId,
        bankName: 'First Bank',
        lookupID: one?.['lookupID'],
        customerId: one?.['customerId'],
      },
      expect.objectContaining({ bankId: other.entityId, bankName: 'Second Bank' }),
    ];
    for (const email of ['Found.Ada@Example.com', ' found.ada@example.com ', 'FOUND.ADA@EXAMPLE.COM']) {
      expect(await banksOf(email)).toEqual(expected);
    }
  });

  it('answers with an empty list for an address that nobody has', async () => {
    expect(await banksOf('nobody@example.com')).toEqual([]);
    expect(await banksOf("x'--@example.com")).toEqual([]);
  });

  it.each(['', '?email=', '?email=x', '?mail=a@b.co'])('refuses %j', async (query) => {
    expect(await merchant.send('GET', `/v1/customer/banks${query}`)).toMatchObject({ status: 400 });
  });
});
