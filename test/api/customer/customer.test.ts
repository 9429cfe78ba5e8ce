import { person } from '../../support/person';
import { shareApi, type Caller } from '../../support/shared-api';

const served = shareApi({ RATE_LIMIT_LOOKUP: '1000/1000' });
let bank: Caller;
let merchant: Caller;
beforeAll(async () => {
  bank = await served.enter('bank', { name: 'First Bank' });
  merchant = await served.enter('merchant');
});

type Made = Record<'customerId' | 'lookupID', string>;

async function migrate(customers: unknown[], by = bank): Promise<Made[]> {
  const { status, body } = await by.post('/v1/bank/customers', { customers });
  expect([status, body.data?.['summary']]).toMatchObject([201, { successful: customers.length }]);
  return body.data?.['customers'] as Made[];
}
const onboardOne = async (more: Record<string, unknown>, by = bank) => {
  const given = person(more);
  const [made] = await migrate([given], by);
  return { ...given, customerId: made?.customerId ?? '', lookupID: made?.lookupID ?? '' };
};

const banksOf = (email: string) => merchant.list(`/v1/customer/banks?email=${encodeURIComponent(email)}`);

describe('the look-up by e-mail', () => {
  it('finds every bank of the address, however it is written, and none of one that nobody has', async () => {
    const other = await served.enter('bank', { name: 'Second Bank' });
    const ada = person({ email: 'Found.Ada@Example.com' });
    const [{ lookupID, customerId } = { lookupID: '', customerId: '' }] = await migrate([ada]);
    await migrate([ada], other);
    for (const email of ['Found.Ada@Example.com', ' found.ada@example.com ', 'FOUND.ADA@EXAMPLE.COM']) {
      expect(await banksOf(email)).toEqual([
        { bankId: bank.entityId, bankName: 'First Bank', lookupID, customerId },
        expect.objectContaining({ bankId: other.entityId, bankName: 'Second Bank' }),
      ]);
    }
    expect(await banksOf("x'--@example.com")).toEqual([]);
    for (const query of ['', '?email=x', '?mail=a@b.co']) {
      expect((await merchant.get(`/v1/customer/banks${query}`)).status).toBe(400);
    }
  });

  it('finds the bank of a customer, however many another bank has with that address', async () => {
    const bad = await served.enter('bank', { name: 'Bad Bank' });
    const email = 'victim@example.com';
    await migrate(
      Array.from({ length: 100 }, () => person({ email })),
      bad,
    );
    const { customerId } = await onboardOne({ email });
    const found = await banksOf(email);
    const of = ({ entityId }: Caller) => found.filter(({ bankId }) => bankId === entityId);
    expect(of(bank)).toMatchObject([{ customerId }]);
    expect(of(bad)).toHaveLength(10);
  });

  it('shows a customer of each bank before a second of any', async () => {
    const email = 'everywhere@example.com';
    const crowd = Array.from({ length: 10 }, () => person({ email }));
    for (let n = 0; n < 11; n++) await migrate(crowd, await served.enter('bank'));
    const found = await banksOf(email);
    expect(found).toHaveLength(100);
    expect(new Set(found.map(({ bankId }) => bankId)).size).toBe(11);
  });
});

const listed = (query = '', by = bank) => by.list(`/v1/bank/customers${query}`);
const search = (text: string, by = bank) => listed(`?search=${encodeURIComponent(text)}`, by);

const change = (query: string, body: unknown, by = bank) =>
  by.send('PATCH', `/v1/bank/customer${query}`, body);

describe('the change of a customer', () => {
  it('takes the fields that are named, leaves the others, and answers with no data', async () => {
    const ada = await onboardOne({ firstname: 'Patched' });
    const [before] = await search(ada.clientRef);
    expect(before).toMatchObject({ middlename: null, address: null, phone: null, displayPicture: null });
    expect(before?.['updatedAt']).toBe(before?.['createdAt']);

    const update = { middlename: 'Mae', address: '1 Broad Street, Lagos', phone: '+234 800 000 0000' };
    const { status, body } = await change(`?customerId=${ada.customerId}`, { update });
    expect([status, body]).toEqual([
      200,
      { statusCode: 200, success: true, message: 'The customer is changed', data: {} },
    ]);
    const [after] = await search(ada.clientRef);
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
    expect((await change(`?lookupID=${typed}`, { update })).status).toBe(200);
    expect(await search(ada.clientRef)).toMatchObject([update]);
  });

  it.each([
    ['no customer', '', { update: { phone: '1' } }, 'query'],
    ['a customer named twice', '?customerId=x&lookupID=y', { update: { phone: '1' } }, 'query'],
    ['nothing to change', '?customerId=x', { update: {} }, 'update'],
    ['no update', '?customerId=x', {}, 'update'],
    ['more than an update', '?customerId=x', { update: { phone: '1' }, also: 1 }, 'also'],
    [
      'a field that is for good',
      '?customerId=x',
      { update: { phone: '1', email: 'a@b.co' } },
      'update.email',
    ],
    ['nothing in place of text', '?customerId=x', { update: { phone: null } }, 'update.phone'],
    ['a name too long', '?customerId=x', { update: { lastname: 'x'.repeat(201) } }, 'update.lastname'],
  ])('refuses %s', async (_, query, body, path) => {
    expect(await change(query, body)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });

  it('stores phone and address encrypted, and leaves nothing of them in the log', async () => {
    const { customerId } = await onboardOne({});
    const update = { phone: '+2348001112223', address: 'Secret Close 7' };
    await change(`?customerId=${customerId}`, { update });
    const stored = await served.db.row<{
      all: string;
    }>`SELECT to_jsonb(c)::text AS all FROM customers c WHERE id = ${customerId}`;
    for (const plain of Object.values(update)) {
      expect(stored?.all).not.toContain(plain);
      expect(stored?.all).not.toContain(Buffer.from(plain).toString('hex'));
      expect(JSON.stringify(served.api.log)).not.toContain(plain);
    }
  });
});

const refsOf = (customers: Record<string, unknown>[]) => customers.map(({ clientRef }) => clientRef);

describe('the list of customers', () => {
  let own: Caller;
  beforeAll(async () => {
    own = await served.enter('bank');
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

  it('shows a bank its own, newest first, in pages that neither overlap nor skip, and never an account number', async () => {
    const pages = await Promise.all(
      [1, 2, 3].map((page) => own.read(`/v1/bank/customers?limit=3&page=${page}`)),
    );
    const customers = pages.map((page) => page['customers'] as Record<string, unknown>[]);
    expect(customers.map(refsOf)).toEqual([['r4', 'r2', 'r1'], ['r3'], []]);
    for (const [i, page] of pages.entries()) expect(page).toMatchObject({ total: 4, page: i + 1, limit: 3 });
    expect(customers[0]?.[1]).toEqual({
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
    expect(refsOf(await search(text, own))).toEqual(refs);
  });

  it('is searched by a text in a body, which no address holds, and by id', async () => {
    const path = '/v1/bank/customers/search';
    const found = async (body: object, query = '') =>
      (await own.post(path + query, body)).body.data?.['customers'] as Record<string, unknown>[];
    expect(refsOf(await found({ search: 'obi ama' }))).toEqual(['r4']);
    expect(refsOf(await found({}, '?limit=2&sortBy=clientRef&sortOrder=asc'))).toEqual(['r1', 'r2']);
    const [first] = await found({ search: 'r2' });
    const customerId = String(first?.['customerId']);
    expect(await found({ customerId })).toEqual([first]);
    const other = await own.post(path, { customerId: 'cus_nobody' });
    expect(other.body.data).toMatchObject({ customers: [], total: 0 });
  });

  it('is searched by lookupID, with blanks and capitals, and finds nothing of another bank', async () => {
    const [first] = await listed('', own);
    const lookupID = String(first?.['lookupID']);
    expect(refsOf(await search(lookupID.toUpperCase().replaceAll('-', ' '), own))).toEqual(['r4']);
    for (const text of ['Okafor', 'bola@example.com', 'r3', lookupID]) expect(await search(text)).toEqual([]);
  });

  it.each([
    ['?sortOrder=asc', ['r3', 'r1', 'r2', 'r4']],
    ['?sortBy=clientRef&sortOrder=asc', ['r1', 'r2', 'r3', 'r4']],
    ['?sortBy=lastname&sortOrder=asc', ['r2', 'r1', 'r4', 'r3']],
    ['?sortBy=lastname&sortOrder=desc', ['r3', 'r4', 'r1', 'r2']],
  ])('is sorted by %s, equals in order of creation', async (query, refs) => {
    expect(refsOf(await listed(query, own))).toEqual(refs);
  });
});
