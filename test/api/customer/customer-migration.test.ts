import { EventEmitter, once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { deflateSync, gzipSync } from 'node:zlib';
import { batchBody } from '../../../src/api/customer/migration';
import {
  deleteAbandoned,
  onboardBatch,
  onboardNextPage,
} from '../../../src/database/customer/migrate-customers';
import { decrypt } from '../../../src/database/keyring/encrypt';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { SCOPES } from '../../../src/domain/scope';
import { serveApi, tokenOf, type Answered } from '../../support/api';
import { eventually } from '../../support/engine';
import { memoryKept } from '../../support/memory';
import { person } from '../../support/person';
import { callerAt, shareApi, type Caller } from '../../support/shared-api';
import { wholeFeed } from '../../support/whole-feed';

const served = shareApi();
let bank: Caller;
let token: string;
beforeAll(async () => {
  bank = await served.enter('bank', { name: 'First Bank' });
  token = await tokenOf(served.api, bank);
});

const CUSTOMERS = '/v1/bank/customers';
const persons = (count: number) => Array.from({ length: count }, () => person());
const migrate = (customers: unknown[], by = bank, headers = {}) => by.post(CUSTOMERS, { customers }, headers);
const summariesOf = (answers: Answered[]) =>
  answers.map(({ body }) => body.data?.['summary'] as Record<'total' | 'successful' | 'duplicates', number>);
const failuresOf = (data: Record<string, unknown> = {}) =>
  data['failures'] as { index: number; clientRef?: string; reason: string }[];
const reasons = (data?: Record<string, unknown>) =>
  failuresOf(data).map(({ index, reason }) => [index, reason]);
const onboardedOf = (data: Record<string, unknown> = {}) => data['customers'] as Record<string, string>[];
const duplicate = (of: string) => `duplicate: the bank, or this batch before, has a customer with this ${of}`;
const hex = (text: string) => Buffer.from(text).toString('hex');
const staged = async () =>
  (await served.db.row<{ count: number }>`SELECT count(*)::int AS count FROM staged_customers`)?.count;
const retrieve = (batchId: unknown) => bank.get(`${CUSTOMERS}/batches/${String(batchId)}`);
const download = (batchId: unknown, file: string) =>
  bank.file(`${CUSTOMERS}/batches/${String(batchId)}/${file}`);
/** In place of the worker. @returns how many pages there were */
const work = async (batchId: unknown) => {
  for (let pages = 1; ; pages++) {
    const id = String(batchId);
    const { status } = await onboardNextPage(served.db, id, workflowIds.customerMigration(id));
    if (status !== 'processing') return pages;
  }
};

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

  it('holds against a person neither another bank’s customer nor an invalid entry', async () => {
    const ada = person();
    const { body } = await migrate([{ ...ada, email: 'x' }, ada]);
    expect(body.data?.['summary']).toEqual({ total: 2, successful: 1, failed: 1, duplicates: 0 });
    const elsewhere = await migrate([ada], await served.enter('bank'));
    expect(elsewhere.body.data?.['summary']).toMatchObject({ successful: 1 });
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

  it('takes a country and an account number with blanks around them as without', async () => {
    const spaced = person({ country: ' NG ', accountNumber: ' 0123456777 ' });
    const { body } = await migrate([
      spaced,
      person({ accountNumber: '0123456777' }),
      person({ country: ' ng ' }),
    ]);
    const [onboarded] = onboardedOf(body.data);
    expect(onboarded).toMatchObject({ clientRef: spaced.clientRef });
    expect(reasons(body.data)).toEqual([
      [1, duplicate('accountNumber')],
      [2, 'country must be an ISO 3166 alpha-2 code, as NG'],
    ]);
    expect(
      await served.db.row`SELECT country FROM customers WHERE id = ${onboarded?.['customerId']}`,
    ).toEqual({ country: 'NG' });
  });

  it.each([
    ['a NUL', '\0', '\uFFFD'],
    ['half a character', 'a\ud800', 'a\uFFFD'],
    ['a character where its name is cut', `${'x'.repeat(99)}😀`, 'x'.repeat(99)],
  ])('counts a person with a field whose name has %s', async (_, name, told) => {
    const { status, body } = await migrate([person(), { ...person(), [name]: 1 }]);
    expect(status).toBe(201);
    expect(body.data?.['summary']).toMatchObject({ successful: 1, failed: 1 });
    expect(reasons(body.data)).toEqual([[1, `${told} is not a known field`]]);
    expect((await retrieve(body.data?.['batchId'])).body.data).toEqual(body.data);
  });

  it.each([
    [
      'a number that no reader keeps',
      '{"accountNumber":12345678901234567890}',
      'accountNumber has more digits than a JSON number keeps',
    ],
    ['a field twice', '{"a":1,"a":2}', 'a occurs twice in one object'],
    [
      'a value that is deep',
      `{"a":${'['.repeat(16)}${']'.repeat(16)}}`,
      'body is nested more than 16 levels deep',
    ],
    ['a name that objects inherit', '{"__proto__":1}', '__proto__ is not a known field'],
  ])('counts a person with %s, which is JSON, but none that is taken', async (_, bad, reason) => {
    const body = `{"customers":[${bad},${JSON.stringify(person())}]}`;
    const headers = { 'idempotency-key': reason.replaceAll(' ', '-') };
    const answered = await bank.post(CUSTOMERS, body, headers);
    expect(answered).toMatchObject({
      status: 201,
      body: { data: { summary: { successful: 1, failed: 1 } } },
    });
    expect(failuresOf(answered.body.data)).toEqual([{ index: 0, reason }]);
    expect((await bank.post(CUSTOMERS, body, headers)).body).toEqual(answered.body);
    const other = body.replace(bad, bad.replace(/[\d[]/, '2,"b":$&'));
    expect(await bank.post(CUSTOMERS, other, headers)).toMatchObject({ status: 422 });
  });

  it.each([
    ['no array', '{"customers":{}}', 'customers', 'must be an array'],
    ['nobody', '{"customers":[]}', 'customers', 'must have at least 1 entry'],
    ['a list of lists', '{"customers":[[{}]]}', 'customers[0]', 'must be an object'],
    ['a list under another name', '{"people":[{}],"customers":[{}]}', 'people', 'is not a known field'],
    ['the list twice', '{"customers":[{}],"customers":[{}]}', 'customers', 'occurs twice in one object'],
    ['a comma too many', '{"customers":[{},]}', 'body', 'is not valid JSON in UTF-8'],
    ['a person that does not end', '{"customers":[{"a":"}]}', 'body', 'is not valid JSON in UTF-8'],
    ['nothing behind the list', '{"customers":[{}]', 'body', 'is not valid JSON in UTF-8'],
  ])('refuses a body with %s', async (_, body, path, message) => {
    expect(await bank.post(CUSTOMERS, body)).toMatchObject({
      status: 400,
      body: { errors: expect.arrayContaining([{ path, message }]) as unknown },
    });
  });

  it('refuses 10 001 people, saying how many are taken, and keeps nothing of them', async () => {
    const { status, body } = await migrate(Array.from({ length: 10_001 }, () => ({})));
    expect(status).toBe(400);
    expect(body.message).toContain('at most 10000');
    expect(await staged()).toBe(0);
  });

  it('refuses a text as long as the whole body', async () => {
    const text = '\\n'.repeat((15 * 1024 * 1024) / 2);
    expect(await bank.post(CUSTOMERS, `{"customers":"${text}"}`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'body', message: 'has too much beside the objects of its list' }] },
    });
    const list = `{"customers":[{"firstname":"${text}"},${JSON.stringify(person())}]}`;
    const { status, body } = await bank.post(CUSTOMERS, list);
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      summary: { successful: 1, failed: 1 },
      failures: [{ index: 0, reason: 'has more than 32 KiB' }],
    });
  });

  it('refuses a body above 16 MiB whose length is not told before', async () => {
    const body = `{"customers":[{}${' '.repeat(16 * 1024 * 1024)}]}`;
    const { status } = await fetch(served.api.url + CUSTOMERS, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: new Blob([body]).stream(),
      duplex: 'half',
    });
    expect(status).toBe(413);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('takes a body compressed with %s', async (encoding, compress) => {
    const headers = { 'content-encoding': encoding };
    const whole = compress(Buffer.from(JSON.stringify({ customers: [person()] })));
    expect(await bank.post(CUSTOMERS, whole, headers)).toMatchObject({ status: 201 });
    for (const broken of [whole.subarray(0, 20), Buffer.from('{"customers":[]}')]) {
      expect(await bank.post(CUSTOMERS, broken, headers)).toMatchObject({
        status: 400,
        body: {
          errors: [{ path: 'body', message: 'is not whole, or not compressed as its Content-Encoding says' }],
        },
      });
    }
  });

  it.each(['br', 'zstd', 'gzip, gzip'])(
    'refuses the encoding %s, and says which there are',
    async (encoding) => {
      const headers = { 'content-encoding': encoding };
      expect(await bank.post(CUSTOMERS, '{}', headers)).toMatchObject({
        status: 415,
        body: { message: 'The body may be plain, or compressed with gzip or deflate' },
      });
    },
  );

  it('draws again when a phrase is taken', async () => {
    const draws = ['take-me-if-free-01', 'take-me-if-free-01', 'take-me-if-free-01', 'take-me-if-free-02'];
    const entries = [{ person: person() }, { person: person() }];
    const { customers } = await served.db.transaction((trx) =>
      onboardBatch(trx, bank.entityId, entries, () => draws.shift() ?? 'none-is-left-here-99'),
    );
    const told = customers.map(({ lookupID }) => lookupID);
    const stored = await served.db.rows<{ phrase: string }>`
      SELECT lookup_id AS phrase FROM customers WHERE lookup_id LIKE 'take-me%' ORDER BY id`;
    expect(told.toSorted()).toEqual(['take-me-if-free-01', 'take-me-if-free-02']);
    expect(stored.map(({ phrase }) => phrase)).toEqual(told);
  });

  it('stores e-mail and account number encrypted, so that no reader of the database sees them', async () => {
    const ada = person({ email: 'Sealed.Ada@example.com', accountNumber: 'SEALED12345' });
    await migrate([ada]);
    const stored = await served.db.row<{ id: string; email: Buffer; all: string }>`
      SELECT id, email_encrypted AS email, to_jsonb(c)::text AS all FROM customers c
      WHERE client_ref = ${ada.clientRef}`;
    for (const plain of ['Sealed.Ada', 'sealed.ada', 'SEALED12345']) {
      expect(stored?.all).not.toContain(plain);
      expect(stored?.all).not.toContain(hex(plain));
    }
    expect(stored && decrypt(served.db.keyring, stored.email, `customers.email_encrypted:${stored.id}`)).toBe(
      'Sealed.Ada@example.com',
    );
  });
});

describe('a small batch, looked at later,', () => {
  it('is as it was answered', async () => {
    const ada = person();
    const { body } = await migrate([person(), {}, ada, { ...person(), clientRef: ada.clientRef }, person()]);
    expect(await retrieve(body.data?.['batchId'])).toMatchObject({ status: 200, body: { data: body.data } });
  });

  it('gives files in the form of a CSV that no spreadsheet takes for formulas', async () => {
    const refs = ['=1+1', '+1', '-1', '@sum', 'a "quoted", one', '＝1'];
    const { body } = await migrate([
      ...refs.map((clientRef) => person({ clientRef })),
      ...refs.map((clientRef) => ({ clientRef, '=1+1\t\r': 1 })),
      { '@x': 1 },
    ]);
    const { batchId } = body.data ?? {};
    const { status, headers } = await bank.get(`${CUSTOMERS}/batches/${String(batchId)}/customers.csv`);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(headers.get('content-disposition')).toBe('attachment; filename="customers.csv"');
    const [header, ...lines] = (await download(batchId, 'customers.csv')).split('\r\n');
    expect(header).toBe('clientRef,customerId,lookupID');
    expect(lines.pop()).toBe('');
    const written = ['"\'=1+1"', '"\'+1"', '"\'-1"', '"\'@sum"', '"a ""quoted"", one"', '"\'＝1"'];
    expect(lines).toEqual(
      onboardedOf(body.data).map(
        ({ customerId, lookupID }, i) => `${written[i]},${String(customerId)},${String(lookupID)}`,
      ),
    );
    const failures = (await download(batchId, 'failures.csv')).split('\r\n');
    expect(failures[0]).toBe('index,clientRef,reason');
    expect(failures[1]).toMatch(/^6,"'=1\+1","firstname is required; .*; '=1\+1\t\r is not a known field"$/s);
    expect(failures.at(-2)).toMatch(/^12,,"?clientRef is required; .*@x is not a known field"?$/);
  });
});

describe('small batches that do not end', () => {
  it('are a few of one bank, and keep out neither single customers nor another bank’s', async () => {
    const other = await served.enter('bank');
    const sent = Array.from({ length: 21 }, () => {
      const one = request(`${served.api.url}/v1/bank/customers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      });
      one.write(`{"customers":[${'{},'.repeat(20)}`);
      const answer = new Promise<IncomingMessage>((resolve, reject) => {
        one.once('response', resolve);
        one.once('error', reject);
      });
      return { one, answer };
    });
    const answers = sent.map(({ answer }) => answer);
    const refused = await Promise.race(answers);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '2']);
    expect(await migrate(persons(20))).toMatchObject({ status: 429 });
    const singles = await Promise.all(Array.from({ length: 20 }, () => migrate([person()])));
    expect(singles.map(({ status }) => status)).toEqual(singles.map(() => 201));
    expect(await migrate(persons(20), other)).toMatchObject({ status: 201 });
    sent.forEach(({ one }) => one.destroy());
    await Promise.allSettled(answers);
    // Its places are free again.
    await eventually(async () => (await migrate(persons(20))).status === 201);
  });
});

it('small batches that have arrived keep their places until they are onboarded', async () => {
  const gate = new EventEmitter();
  const opened = once(gate, 'open');
  let waiting = 0;
  const slow = await serveApi(served.db, {
    limiter: {
      async take(_, migrating) {
        waiting += 1;
        await opened;
        return migrating();
      },
    },
  });
  const by = callerAt(slow, await served.enter('bank'));
  const refused: Answered[] = [];
  const sent = Array.from({ length: 60 }, async () => {
    const answered = await migrate(persons(20), by);
    if (answered.status === 429) refused.push(answered);
    return answered.status;
  });
  await eventually(() => Promise.resolve(refused.length + waiting === 60));
  gate.emit('open');
  expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual(Array(48).fill('2'));
  const statuses = await Promise.all(sent);
  expect(statuses.filter((status) => status === 201)).toHaveLength(12);
  // Its places are free again.
  expect(await Promise.all(Array.from({ length: 12 }, () => migrate(persons(20), by)))).toEqual(
    Array.from({ length: 12 }, () => expect.objectContaining({ status: 201 }) as object),
  );
  await slow.close();
});

it('a batch keeps of each entry what is told of it, and nothing of what it was cut from', async () => {
  const names = Array.from({ length: 240 }, (_, n) => `"${`${n}-`.padEnd(100, 'x')}":1`).join(',');
  const body = (entries: number) =>
    Readable.from(
      (function* () {
        yield Buffer.from(`{"customers":[{${names}}`);
        for (let n = 1; n < entries; n += 1) yield Buffer.from(`,{${names}}`);
        yield Buffer.from(']}');
      })(),
    );
  const arriving = { type: 'application/json', deps: served.api.deps, query: {} };
  const caller = { entityId: 'bnk', role: 'bank', scopes: SCOPES } as const;
  const receive = (entries: number) => batchBody().receive({ ...arriving, caller, bytes: body(entries) });
  // Everything that is compiled and kept for good is there from here on.
  await receive(2);
  const before = memoryKept();
  const received = await receive(500);
  const kept = memoryKept() - before;
  expect(received.body).toHaveProperty('entries.length', 500);
  expect(received.body).toHaveProperty('entries.499.reason.length', 1_000);
  // A reason at its longest is a kilobyte; what it was cut from is twelve.
  expect(kept).toBeLessThan(500 * 8 * 1024);
});

describe('a large batch', () => {
  it('is accepted at once, onboarded page by page, and told of', async () => {
    const known = person();
    await migrate([known]);
    const batch: unknown[] = persons(600);
    const [first] = batch as { clientRef: string; accountNumber: string }[];
    batch[3] = { clientRef: 'bad-1', firstname: 'x' };
    batch[300] = { ...person(), accountNumber: known.accountNumber };
    // Duplicates of the first page, of a duplicate in another page, and of an invalid one.
    batch[400] = { ...person(), accountNumber: first?.accountNumber, clientRef: 'twin' };
    batch[500] = { ...person(), clientRef: 'twin' };
    batch[501] = { ...person(), clientRef: 'bad-1' };

    const { status, body } = await migrate(batch);
    const { batchId } = body.data ?? {};
    const [customersUrl, failuresUrl] = ['customers', 'failures'].map(
      (name) => `/v1/bank/customers/batches/${String(batchId)}/${name}.csv`,
    );
    const begun = {
      batchId,
      status: 'processing',
      summary: { total: 600, successful: 0, failed: 0, duplicates: 0 },
      customersUrl,
      failuresUrl,
    };
    expect(status).toBe(202);
    expect(body.data).toEqual(begun);
    expect((await retrieve(batchId)).body.data).toEqual(begun);
    const id = String(batchId);
    const start = await served.db.row`
      SELECT start FROM outbox WHERE workflow_id = ${`customer-migration/${id}`}`;
    expect(start).toEqual({
      start: {
        type: 'customerMigration',
        args: [id],
        attributes: { status: 'processing', bankId: bank.entityId },
        summary: '600 customers of First Bank',
      },
    });

    await onboardNextPage(served.db, id, workflowIds.customerMigration(id));
    expect((await retrieve(batchId)).body.data).toMatchObject({
      status: 'processing',
      summary: { total: 600, successful: 249, failed: 1, duplicates: 0 },
    });
    expect((await download(batchId, 'customers.csv')).split('\r\n')).toHaveLength(251);

    expect(await work(batchId)).toBe(2);
    expect(await staged()).toBe(0);
    const summary = { total: 600, successful: 596, failed: 1, duplicates: 3 };
    const completed = { ...begun, status: 'completed', summary };
    expect((await retrieve(batchId)).body.data).toEqual(completed);
    const failures = (await download(batchId, 'failures.csv')).split('\r\n');
    expect(failures).toEqual([
      'index,clientRef,reason',
      expect.stringMatching(/^3,bad-1,"?lastname is required; /),
      expect.stringContaining(`,"${duplicate('accountNumber')}"`),
      `400,twin,"${duplicate('accountNumber')}"`,
      `500,twin,"${duplicate('clientRef')}"`,
      '',
    ]);
    const customers = (await download(batchId, 'customers.csv')).trimEnd().split('\r\n').slice(1);
    const refs = (batch as { clientRef: string }[]).map(({ clientRef }) => clientRef);
    const refused = [3, 300, 400, 500].map((i) => refs[i]);
    expect(customers.map((line) => line.split(',')[0])).toEqual(
      refs.filter((ref, i) => !refused.includes(ref) || i === 501),
    );
    expect(new Set(customers.map((line) => line.split(',')[2])).size).toBe(596);
    await wholeFeed(served.db);
    const feed = (await bank.send('GET', '/v1/events?limit=100')).body.data?.['events'];
    expect(feed).toEqual([
      expect.objectContaining({
        webhookType: 'migration.completed',
        data: [{ batchId, status: 'completed', summary, sequence: 1 }],
      }),
    ]);
    // A page more than there are does nothing.
    expect(await work(batchId)).toBe(1);
  });

  it('goes on past people that have fields with names that Postgres does not keep', async () => {
    const batch: unknown[] = persons(501);
    batch[7] = { ...person(), '\0': 1 };
    batch[300] = { ...person(), '\ud800': 1 };
    const { status, body } = await migrate(batch);
    expect(status).toBe(202);
    const { batchId } = body.data ?? {};
    await work(batchId);
    expect((await retrieve(batchId)).body.data).toMatchObject({
      status: 'completed',
      summary: { total: 501, successful: 499, failed: 2 },
    });
    expect(await download(batchId, 'failures.csv')).toMatch(
      /^7,ref-\d+,"\uFFFD is not a known field"\r\n300,ref-\d+,"\uFFFD is not a known field"\r\n/m,
    );
  });

  it('that is sent again with its key is one batch, and another one with that key is refused', async () => {
    const batch = persons(501);
    const key = { 'idempotency-key': 'migrate-once' };
    const before = await staged();
    const [one, two] = [await migrate(batch, bank, key), await migrate(batch, bank, key)];
    expect(two.body).toEqual(one.body);
    expect(two.headers.get('idempotent-replayed')).toBe('true');
    const other = await migrate([...batch.slice(1), person()], bank, key);
    expect(other.status).toBe(422);
    expect(await staged()).toBe((before ?? 0) + 3);
    const small = { customers: [person()] };
    const again = { 'idempotency-key': 'small-once' };
    const answers = [
      await bank.post(CUSTOMERS, JSON.stringify(small), again),
      await bank.post(CUSTOMERS, JSON.stringify(small, null, 2), again),
    ];
    expect(answers[1]?.body).toEqual(answers[0]?.body);
  });

  it('of one bank that is slow keeps no other bank’s out', async () => {
    const other = await served.enter('bank');
    const before = (await staged()) ?? 0;
    const held: ClientRequest[] = [];
    /** Begins a large batch, and does not end it. @returns the status of a refusal */
    const begin = async () => {
      const one = request(`${served.api.url}/v1/bank/customers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      });
      const refused = new Promise<number | undefined>((resolve, reject) => {
        one.once('response', ({ statusCode }) => resolve(statusCode));
        one.once('error', reject);
      });
      one.write(`{"customers":[${'{},'.repeat(501)}`);
      held.push(one);
      return refused;
    };
    const pending = [begin(), begin()];
    await eventually(async () => (await staged()) === before + 2);
    expect(await begin()).toBe(429);
    expect(await migrate(persons(502), other)).toMatchObject({ status: 202 });
    held.forEach((one) => one.destroy());
    await Promise.allSettled(pending);
    // Its places are free again.
    await eventually(async () => (await migrate(persons(502))).status === 202);
  });

  it('that is broken at its end leaves nothing behind', async () => {
    const before = await staged();
    const body = JSON.stringify({ customers: persons(501) });
    expect(await bank.post(CUSTOMERS, body.slice(0, -2))).toMatchObject({ status: 400 });
    expect(await staged()).toBe(before);
  });

  it('whose process died before it was accepted is swept away, and an accepted one never', async () => {
    await migrate(persons(501));
    await served.db.rows`
      INSERT INTO staged_customers (batch_id, first_index, entries_encrypted, staged_at)
      VALUES ('bat_lost', 0, '', clock_timestamp() - interval '2 hours'), ('bat_coming', 0, '',
        clock_timestamp())`;
    const before = (await staged()) ?? 0;
    expect(await deleteAbandoned(served.db)).toBe(false);
    expect(await staged()).toBe(before - 1);
    expect(await served.db.row`SELECT FROM staged_customers WHERE batch_id = 'bat_lost'`).toBeUndefined();
  });

  it('waits encrypted, so that no reader of the database sees it', async () => {
    const { body } = await migrate([
      person({ firstname: 'Readable', accountNumber: 'SEALED777' }),
      ...persons(500),
    ]);
    const stored = await served.db.rows<{ all: string }>`
      SELECT to_jsonb(s)::text AS all FROM staged_customers s WHERE batch_id = ${body.data?.['batchId']}`;
    expect(stored).toHaveLength(3);
    for (const plain of ['Readable', 'SEALED777', 'example.com']) {
      for (const { all } of stored) {
        expect(all).not.toContain(plain);
        expect(all).not.toContain(hex(plain));
      }
    }
  });
});

describe('two batches with the same people at once', () => {
  it('share them out, whatever their order, also with references swapped between accounts', async () => {
    const batch = persons(100);
    const swapped = batch.map((one, i) => ({ ...one, clientRef: batch[99 - i]?.clientRef }));
    const answers = await Promise.all(
      [batch, batch.toReversed(), swapped, swapped.toReversed()].map((one) => migrate(one)),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const sum = (of: 'total' | 'successful' | 'duplicates') =>
      summariesOf(answers).reduce((all, one) => all + one[of], 0);
    expect(sum('total')).toBe(sum('successful') + sum('duplicates'));
    const refs = new Set(
      answers.flatMap(({ body }) => onboardedOf(body.data).map(({ clientRef }) => clientRef)),
    );
    expect(refs.size).toBe(sum('successful'));
    expect(sum('successful')).toBeGreaterThanOrEqual(50);
  });
});
