import { row } from '../../../src/database/pool/connection';
import { enter, serveApi, type Party, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { person } from '../../support/person';

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

const migrate = (customers: unknown[], by = bank) => by.send('POST', '/v1/bank/customers', { customers });
const onboardedOf = (data: Record<string, unknown> = {}) => data['customers'] as Record<string, string>[];
const hex = (text: string) => Buffer.from(text).toString('hex');
const banksOf = async (email: string) =>
  (await merchant.send('GET', `/v1/customer/banks?email=${encodeURIComponent(email)}`)).body.data?.['banks'];

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

  it('finds the bank of a customer, however many another bank has with that address', async () => {
    const bad = await enter(api, 'bank', { name: 'Bad Bank' });
    const email = 'victim@example.com';
    const crowd = Array.from({ length: 100 }, () => person({ email }));
    expect(await migrate(crowd, bad)).toMatchObject({ body: { data: { summary: { successful: 100 } } } });
    const [own] = onboardedOf((await migrate([person({ email })])).body.data);
    const found = (await banksOf(email)) as { bankId: string; customerId: string }[];
    const of = ({ entityId }: Party) =>
      found.filter(({ bankId }) => bankId === entityId).map(({ customerId }) => customerId);
    expect(of(bank)).toEqual([own?.['customerId']]);
    expect(of(bad)).toHaveLength(10);
  });

  it('shows a customer of each bank before a second of any', async () => {
    const email = 'everywhere@example.com';
    const crowd = Array.from({ length: 10 }, () => person({ email }));
    const banks = await Promise.all(Array.from({ length: 11 }, () => enter(api, 'bank')));
    for (const one of banks) await migrate(crowd, one);
    const found = (await banksOf(email)) as { bankId: string }[];
    expect(found).toHaveLength(100);
    expect(new Set(found.map(({ bankId }) => bankId)).size).toBe(11);
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
        { statusCode: 404, success: false, code: 'not_found', message: 'You have no such customer' },
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

  it('stores phone and address encrypted, and leaves nothing of them in the log', async () => {
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
    ['two letters within a name', 'hI', ['r3']],
    ['two letters each of two names', 'ka ch', ['r3']],
    ['two letters that stand apart in a name', 'kf', []],
    ['one letter', 'k', ['r4', 'r3']],
    ['one sign, and a part of a name', '& obi', ['r1']],
    ['one letter beyond ASCII', 'É', ['r1']],
    ['letters one of which is beyond ASCII', 'ÉLO', ['r1']],
    ['letters that no name has in this order', 'lÉo', []],
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
