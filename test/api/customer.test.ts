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

type Found = Record<string, string | null>;
const listed = async (query: string, by = bank) => {
  const { status, body } = await by.send('GET', `/v1/bank/customers${query}`);
  expect(status).toBe(200);
  return body.data as { customers: Found[]; total: number; page: number; limit: number };
};
const search = (text: string, by = bank) => listed(`?search=${encodeURIComponent(text)}`, by);
const refsOf = ({ customers }: { customers: Found[] }) => customers.map(({ clientRef }) => clientRef);
const onboardOne = async (more: Record<string, unknown>, by = bank) => {
  const given = person(more);
  const [made] = onboardedOf((await migrate([given], by)).body.data);
  return { ...given, customerId: made?.['customerId'] ?? '', lookupID: made?.['lookupID'] ?? '' };
};
const change = (query: string, body: unknown, by = bank) =>
  by.send('PATCH', `/v1/bank/customer${query}`, body);

describe('the change of a customer', () => {
  it('takes the fields that are named, leaves the others, and answers with no data', async () => {
    const ada = await onboardOne({ firstname: 'Patched' });
    const before = (await search(ada.clientRef)).customers[0];
    expect(before).toMatchObject({ middlename: null, address: null, phone: null, displayPicture: null });
    expect(before?.['updatedAt']).toBe(before?.['createdAt']);

    const update = { middlename: 'Mae', address: '1 Broad Street, Lagos', phone: '+234 800 000 0000' };
    const { status, body } = await change(`?customerId=${ada.customerId}`, { update });
    expect([status, body]).toEqual([
      200,
      { statusCode: 200, success: true, message: 'The customer is changed', data: {} },
    ]);
    const after = (await search(ada.clientRef)).customers[0];
    expect(after).toEqual({ ...before, ...update, updatedAt: after?.['updatedAt'] });
    expect(after?.['updatedAt']).not.toBe(before?.['updatedAt']);
  });

  it('finds the customer by lookupID too, however it is typed, and takes every field', async () => {
    const ada = await onboardOne({});
    const update = {
      firstname: 'A',
      middlename: 'B',
      lastname: 'C',
      accountName: 'D',
      address: 'E',
      phone: 'F',
      displayPicture: 'https://pictures.example/a.png',
    };
    const typed = encodeURIComponent(ada.lookupID.toUpperCase().replaceAll('-', ' '));
    expect(await change(`?lookupID=${typed}`, { update })).toMatchObject({ status: 200 });
    expect((await search(ada.clientRef)).customers[0]).toMatchObject(update);
  });

  it('of somebody unknown, or of another bank, is the same 404', async () => {
    const other = await enter(api, 'bank');
    const theirs = await onboardOne({}, other);
    const update = { firstname: 'Taken' };
    const answers = await Promise.all(
      [
        '?customerId=cus_00000000000000000000000000',
        '?customerId=x',
        '?lookupID=no-such-phrase-here-00',
        `?customerId=${theirs.customerId}`,
        `?lookupID=${theirs.lookupID}`,
      ].map((query) => change(query, { update })),
    );
    for (const { status, body } of answers) {
      expect([status, body]).toEqual([
        404,
        { statusCode: 404, success: false, message: 'You have no such customer' },
      ]);
    }
    expect((await search(theirs.clientRef, other)).customers[0]?.['firstname']).toBe('Ada');
  });

  it.each([
    ['no customer', '', { update: { phone: '1' } }, 'query'],
    ['a customer named twice', '?customerId=x&lookupID=y', { update: { phone: '1' } }, 'query'],
    ['an unknown parameter', '?customerId=x&a=b', { update: { phone: '1' } }, 'query.a'],
    ['nothing to change', '?customerId=x', { update: {} }, 'update'],
    ['no update', '?customerId=x', {}, 'update'],
    ['more than an update', '?customerId=x', { update: { phone: '1' }, also: 1 }, 'also'],
    [
      'a field that is for good',
      '?customerId=x',
      { update: { phone: '1', email: 'a@b.co' } },
      'update.email',
    ],
    ['a number', '?customerId=x', { update: { phone: 1 } }, 'update.phone'],
    ['nothing in place of text', '?customerId=x', { update: { phone: null } }, 'update.phone'],
    ['no text', '?customerId=x', { update: { address: ' ' } }, 'update.address'],
    ['a name too long', '?customerId=x', { update: { lastname: 'x'.repeat(201) } }, 'update.lastname'],
  ])('refuses %s', async (_, query, body, path) => {
    expect(await change(query, body)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });

  it('stores phone and address sealed, and leaves nothing of them in the log', async () => {
    const ada = await onboardOne({});
    const update = { phone: '+2348001112223', address: 'Secret Close 7' };
    await change(`?customerId=${ada.customerId}`, { update });
    const stored = await row<{ all: string }>(
      test.db,
      `SELECT to_jsonb(c)::text AS all FROM customers c WHERE id = :id`,
      { id: ada.customerId },
    );
    for (const plain of Object.values(update)) {
      expect(stored?.all).not.toContain(plain);
      expect(stored?.all).not.toContain(hex(plain));
      expect(JSON.stringify(api.log)).not.toContain(plain);
    }
  });
});

describe('the list of customers', () => {
  let own: Party;
  beforeAll(async () => {
    own = await enter(api, 'bank');
    await migrate(
      [
        person({ clientRef: 'r3', firstname: 'Chidi', lastname: 'Okafor', accountName: 'C. Okafor' }),
        person({ clientRef: 'r1', firstname: 'Élodie', lastname: 'Obi', accountName: 'Obi & Sons' }),
        person({ clientRef: 'r2', firstname: 'Bola', lastname: '100%_Ade', email: 'Bola@example.com' }),
        person({ clientRef: 'r4', firstname: 'Amaka', lastname: 'Obi', accountName: 'Amaka' }),
      ],
      own,
    );
  });

  it('shows a bank its own, newest first, and never an account number', async () => {
    const { customers, ...page } = await listed('', own);
    expect(page).toEqual({ total: 4, page: 1, limit: 20 });
    expect(refsOf({ customers })).toEqual(['r4', 'r2', 'r1', 'r3']);
    expect(customers[1]).toEqual({
      customerId: expect.stringMatching(/^cus_/) as string,
      lookupID: expect.stringMatching(/-\d\d$/) as string,
      clientRef: 'r2',
      firstname: 'Bola',
      middlename: null,
      lastname: '100%_Ade',
      accountName: 'Ada Obi',
      email: 'Bola@example.com',
      country: 'NG',
      reference: null,
      address: null,
      phone: null,
      displayPicture: null,
      createdAt: expect.stringMatching(/Z$/) as string,
      updatedAt: expect.stringMatching(/Z$/) as string,
    });
  });

  it.each([
    ['part of a name', 'kaf', ['r3']],
    ['another case, also beyond ASCII', 'ÉLODIE', ['r1']],
    ['an account’s name', 'sons', ['r1']],
    ['parts of names in any order', 'obi ama', ['r4']],
    ['a sign that SQL gives a meaning', '%_a', ['r2']],
    ['any one letter in SQL', 'o_i', []],
    ['an e-mail address, however it is written', 'BOLA@example.com', ['r2']],
    ['a part of an e-mail address', 'example', []],
    ['a clientRef', 'r3', ['r3']],
    ['a part of a clientRef', 'r', ['r3']],
    ['nobody’s name', 'Zed', []],
  ])('is searched by %s', async (_, text, refs) => {
    const found = await search(text, own);
    expect([refsOf(found), found.total]).toEqual([refs, refs.length]);
  });

  it('is searched by lookupID, with blanks and capitals', async () => {
    const [first] = (await listed('', own)).customers;
    const typed = String(first?.['lookupID']).toUpperCase().replaceAll('-', ' ');
    expect(refsOf(await search(typed, own))).toEqual(['r4']);
  });

  it('finds nothing of another bank', async () => {
    const [first] = (await listed('', own)).customers;
    for (const text of ['Okafor', 'bola@example.com', 'r3', String(first?.['lookupID'])]) {
      expect(await search(text)).toMatchObject({ customers: [], total: 0 });
    }
  });

  it.each([
    ['?sortOrder=asc', ['r3', 'r1', 'r2', 'r4']],
    ['?sortBy=clientRef&sortOrder=asc', ['r1', 'r2', 'r3', 'r4']],
    ['?sortBy=lastname&sortOrder=asc', ['r2', 'r1', 'r4', 'r3']],
    ['?sortBy=lastname&sortOrder=desc', ['r3', 'r4', 'r1', 'r2']],
  ])('is sorted by %s, equals in order of creation', async (query, refs) => {
    expect(refsOf(await listed(query, own))).toEqual(refs);
  });

  it('comes in pages that neither overlap nor skip, and are empty beyond the last', async () => {
    const pages = await Promise.all([1, 2, 3].map((page) => listed(`?limit=3&page=${page}`, own)));
    expect(pages.map(refsOf)).toEqual([['r4', 'r2', 'r1'], ['r3'], []]);
    expect(pages.map(({ total, page, limit }) => [total, page, limit])).toEqual([
      [4, 1, 3],
      [4, 2, 3],
      [4, 3, 3],
    ]);
  });

  it.each([
    'sortBy=email',
    'sortOrder=up',
    'page=0',
    'limit=101',
    'search=',
    `search=${'x'.repeat(255)}`,
    'name=a',
    'search=a&search=b',
  ])('refuses %s', async (query) => {
    expect(await own.send('GET', `/v1/bank/customers?${query}`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: `query.${query.split('=')[0]}` }] },
    });
  });
});
