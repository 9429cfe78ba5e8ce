import { deleteCounted } from '../../../src/database/bank-file/open-differences';
import { oneRow } from '../../../src/database/pool/connection';
import { addDays, calendarDay } from '../../../src/domain/calendar';
import { chargeUnder, send, serveApi, tokenOf, type Answered, type ServedApi } from '../../support/api';
import { workOnFile } from '../../support/bank-file';
import { asOwner, createTestDatabase, type TestDatabase } from '../../support/database';
import { standingApproval, type Standing } from '../../support/standing';

/** A bank's files: what they may cost at most, and the days that the bank says they cover. */

const LAGOS = 'Africa/Lagos';
const STATEMENTS = '/v1/bank/statements';
const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction,reference';
const LINES_PER_DAY = 12_000;

let database: TestDatabase;
let api: ServedApi;
let standing: Standing;
let bank: string;
let merchant: string;
let today: string;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await serveApi(database.db, {
    settings: { RATE_LIMIT_TOKEN_ADDRESS: '999/999', STATEMENT_LINES_PER_DAY: String(LINES_PER_DAY) },
  });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});
beforeEach(async () => {
  today = calendarDay(new Date(), LAGOS);
  standing = await standingApproval(database.db, api.deps.ring);
  bank = await tokenOf(api, standing.credentials.bank);
  merchant = await tokenOf(api, standing.credentials.merchant);
});

const authorized = (token: string) => ({ authorization: `Bearer ${token}` });
const get = (token: string, url: string) => send(api.url, 'GET', url, undefined, authorized(token));
const post = (token: string, url: string, body: unknown) =>
  send(api.url, 'POST', url, body, authorized(token));
const upload = (file: string, query = '', token = bank): Promise<Answered> =>
  send(api.url, 'POST', `${STATEMENTS}${query}`, file, { 'content-type': 'text/csv', ...authorized(token) });

const charged = () => chargeUnder(api, standing, merchant);

async function paid(bankTransactionId: string): Promise<{ reference: string }> {
  const { id, reference } = await charged();
  const answer = { billingRequestId: id, bankTransactionId };
  expect((await post(bank, '/v1/billing/bank-response', answer)).status).toBe(200);
  return { reference };
}

const line = (id: string, { amount = 100, day = today, reference = '' } = {}) =>
  `${id},${day},${amount},NGN,debit,${reference}`;
const csv = (...lines: string[]) => [HEADER, ...lines, ''].join('\r\n');
const unknownLines = (length: number, prefix = 'U') =>
  Array.from({ length }, (_, n) => line(`${prefix}${n}`, { amount: 5 }));

interface Matched {
  id: string;
  summary: Record<string, number>;
  differences: string[][];
}

/** Sends a file, and does what its workflow does. */
async function match(file: string, query = ''): Promise<Matched> {
  const sent = await upload(file, query);
  expect(sent).toMatchObject({ status: 202 });
  const id = String(sent.body.data?.['statementId']);
  await workOnFile(api.deps.db, api.deps.ring, id);
  const { body } = await get(bank, `${STATEMENTS}/${id}`);
  expect(body.data).toMatchObject({ status: 'completed' });
  return { id, summary: body.data?.['summary'] as Matched['summary'], differences: await differencesOf(id) };
}

async function differencesOf(id: string): Promise<string[][]> {
  const { body } = await get(bank, `${STATEMENTS}/${id}/differences.csv`);
  const [, ...lines] = (body as unknown as string).trimEnd().split('\r\n');
  return lines.map((one) => one.split(','));
}
const exceptionIdOf = (difference: string[] | undefined) => difference?.[11];

const exceptions = async (query = '') =>
  (await get(bank, `/v1/reconciliation/exceptions?limit=1${query}`)).body.data as {
    total: number;
    exceptions: { exceptionId: string }[];
  };
/** A week has passed for the bank, and its file says so. */
async function throughNextWeek(): Promise<string> {
  const { bankId } = standing;
  await asOwner(database.url, `UPDATE entities SET clock_offset = interval '7 days' WHERE id = '${bankId}'`);
  return `?through=${addDays(today, 7)}`;
}
const count = async (sql: string) => (await oneRow<{ count: number }>(api.deps.db, sql, {})).count;

test('a thousand differences of a file become exceptions, those that hold money of a merchant first; the rest stands in its differences, and holds nothing', async () => {
  const { reference } = await paid('Z1');
  const lacking = await paid('Z2');
  const lines = [...unknownLines(8_000), line('Z1', { amount: 90 })];
  const before = await count(`SELECT pg_database_size(current_database()) AS count`);
  const { summary, differences } = await match(
    csv(...lines, lines[0] ?? '', lines[7_500] ?? '', lines[8_000] ?? ''),
    await throughNextWeek(),
  );

  expect(summary).toMatchObject({
    lines: 8_004,
    unknownHere: 8_000,
    amountDiffers: 1,
    duplicates: 3,
    missingAtBank: 1,
  });
  expect((await exceptions()).total).toBe(1_000);
  expect(differences.map(([at, difference]) => `${at} ${difference}`)).toEqual([
    ...Array.from({ length: 8_000 }, (_, n) => `${n + 2} unknown_here`),
    '8002 amount_differs',
    '8003 duplicate',
    '8004 duplicate',
    '8005 duplicate',
    ' missing_at_bank',
  ]);
  const [opened, counted] = [differences.slice(0, 998), differences.slice(998, 8_000)];
  expect(opened.map(exceptionIdOf)).not.toContain('');
  expect(new Set(counted.map(exceptionIdOf))).toEqual(new Set(['']));
  // Neither waits for the next file, however many lines come before it.
  for (const held of [differences[8_000], differences.at(-1)]) expect(exceptionIdOf(held)).toMatch(/^exc_/);
  expect(differences[8_000]?.slice(2, 6)).toEqual(['Z1', today, 'debit', '90']);
  for (const charge of [reference, lacking.reference]) {
    const refund = { reference: charge, amount: 100 };
    expect((await post(merchant, '/v1/refunds/initiate', refund)).status).toBe(409);
  }
  // Some kilobytes for each exception; thirty bytes for each line that is counted.
  const grown = (await count(`SELECT pg_database_size(current_database()) AS count`)) - before;
  expect(grown).toBeLessThan(8_000_000);
  expect(await count('SELECT count(*)::int FROM bank_statement_told')).toBe(0);
});

const openBefore = (length: number, bankId = standing.bankId, payeeBankId?: string) =>
  asOwner(
    database.url,
    `SET session_replication_role = replica;
     INSERT INTO reconciliation_exceptions (id, kind, bank_id, amount, currency, bank_transaction_id, direction,
       booked_amount, booked_currency, opened_at, payee_bank_id)
     SELECT '${standing.bankId.replace('bnk', 'exc')}' || n, 'unknown_here', '${bankId}', 5, 'NGN', 'O' || n, 'debit', 5, 'NGN', now(),
       ${payeeBankId === undefined ? 'NULL' : `'${payeeBankId}'`}
     FROM generate_series(1, ${length}) AS n`,
  );

test('ten thousand differences are open for a bank at most, and each that ends makes room', async () => {
  await openBefore(9_999);
  const first = await match(csv(line('N1'), line('N2'), line('N3')));
  expect(first.summary).toMatchObject({ unknownHere: 3 });
  expect(first.differences.map(exceptionIdOf).map(Boolean)).toEqual([true, false, false]);
  expect((await exceptions('&state=open')).total).toBe(10_000);

  const [opened] = first.differences.map(exceptionIdOf);
  const found = { resolution: 'no_money_moved' };
  const url = `/v1/reconciliation/exceptions/${String(opened)}/respond`;
  expect((await post(bank, url, found)).status).toBe(200);
  const second = await match(csv(line('N2'), line('N3'), line('N1')));
  expect(second.summary).toMatchObject({ unknownHere: 3, duplicates: 0 });
  expect(second.differences.map(exceptionIdOf)).toEqual([expect.stringMatching(/^exc_/), '', opened]);
});

test('what another bank has booked of payments to a bank takes none of its room', async () => {
  await openBefore(10_000, 'bnk_other', standing.bankId);
  const { differences } = await match(csv(line('N1')));
  expect(differences.map(exceptionIdOf)).toEqual([expect.stringMatching(/^exc_/)]);
});

test('what is missing beyond ten thousand is counted, and told again by the next file', async () => {
  await openBefore(9_999);
  await paid('P7');
  const charges = [await paid('P8'), await paid('P9')];
  const first = await match(csv(line('P7')), await throughNextWeek());
  expect(first.summary).toMatchObject({ matched: 1, missingAtBank: 2 });
  const [told, counted] = first.differences;
  expect([told, counted].map(exceptionIdOf).map(Boolean)).toEqual([true, false]);
  const refund = { reference: charges[1]?.reference, amount: 100 };

  const found = { resolution: 'reversed', bankTransactionId: 'P80' };
  const url = `/v1/reconciliation/exceptions/${String(exceptionIdOf(told))}/respond`;
  expect((await post(bank, url, found)).status).toBe(200);
  const second = await match(csv(line('P7'), line('P6')), await throughNextWeek());
  // With the reversal, which the first file could not have.
  expect(second.summary).toMatchObject({ missingAtBank: 2 });
  expect(second.differences.at(-2)?.slice(1, 3)).toEqual(['missing_at_bank', 'P80']);
  expect((await post(merchant, '/v1/refunds/initiate', refund)).status).toBe(201);
  expect(second.differences.at(-1)?.slice(1, 3)).toEqual(['missing_at_bank', 'P9']);
});

test('what many files tell is one exception, in the differences of each', async () => {
  await paid('W1');
  const opened = new Set<string | undefined>();
  for (let n = 0; n < 9; n++) {
    const { summary, differences } = await match(csv(line('W1'), line('W2'), line('W2'), line(`W-${n}`)));
    // The charge that an earlier file had is matched again.
    expect(summary).toMatchObject({ matched: 1, unknownHere: 2, duplicates: 1 });
    opened.add(exceptionIdOf(differences[0]));
  }
  expect([...opened]).toEqual([expect.stringMatching(/^exc_/)]);
});

test('a line that tells of a late answer twice is a duplicate the second time', async () => {
  const { id } = await charged();
  const decline = { billingRequestId: id, declineReason: 'insufficient_funds' };
  expect((await post(bank, '/v1/billing/bank-response', decline)).status).toBe(200);
  const approve = { billingRequestId: id, bankTransactionId: 'V1' };
  expect((await post(bank, '/v1/billing/bank-response', approve)).status).toBe(409);
  const { summary } = await match(csv(line('V1'), line('V1')));
  expect(summary).toMatchObject({ matched: 1, duplicates: 1 });
});

test('what is counted alone goes after five weeks, and exceptions stay', async () => {
  const { id, differences } = await match(csv(line('T1'), line('T1'), ',,,,,'));
  expect(differences.map(([, difference]) => difference)).toEqual(['unknown_here', 'duplicate', 'malformed']);
  const aged = (age: string) =>
    asOwner(
      database.url,
      `UPDATE bank_statement_differences SET counted_at = now() - interval '${age}' WHERE statement_id = '${id}'`,
    );
  await aged('34 days 23 hours');
  await deleteCounted(api.deps.db);
  expect(await differencesOf(id)).toEqual(differences);
  await aged('35 days 1 minute');
  await deleteCounted(api.deps.db);
  expect(await differencesOf(id)).toEqual(differences.slice(0, 1));
});

const big = (prefix: string, length = LINES_PER_DAY / 2 + 1) =>
  csv(...Array.from({ length }, (_, n) => line(`${prefix}${n}`)));
const staged = () =>
  count(`SELECT count(*)::int FROM bank_statement_pages p
     WHERE NOT EXISTS (SELECT FROM bank_statements s WHERE s.id = p.statement_id)`);
const isRefused = ({ status, headers, body }: Answered) => {
  expect({ status, body }).toMatchObject({
    status: 429,
    body: { message: expect.stringContaining('12000 lines a day') },
  });
  expect(headers.get('retry-after')).toMatch(/^\d{1,5}$/);
};
const earlier = () => addDays(today, -3);
const later = () => addDays(today, 1);
const keyed = (query: string) =>
  send(api.url, 'POST', `${STATEMENTS}${query}`, csv(line('S1')), {
    'content-type': 'text/csv',
    'idempotency-key': 'monday',
    ...authorized(bank),
  });

describe('the lines of a day', () => {
  test('bound what a bank sends: the file that passes them is refused and leaves nothing', async () => {
    const first = await upload(big('K'));
    expect(first.status).toBe(202);
    const before = await count('SELECT count(*)::int FROM bank_statements');
    isRefused(await upload(big('L')));
    isRefused(await upload(big('M', LINES_PER_DAY + 1)));
    expect(await count('SELECT count(*)::int FROM bank_statements')).toBe(before);
    expect(await staged()).toBe(0);
    // A repeat counts nothing, and is answered.
    expect((await upload(big('K'))).body.data).toEqual(first.body.data);
    expect((await upload(big('N', LINES_PER_DAY / 2 - 1))).status).toBe(202);
    isRefused(await upload(csv(line('O1'))));
    // An empty file has no line; the same lines for other days are lines once more.
    expect((await upload(csv())).status).toBe(202);
    isRefused(await upload(big('K'), `?through=${today}`));
  });

  test('bound a file while it arrives, also where none of them can be read', async () => {
    const lines = 'a\n'.repeat(LINES_PER_DAY + 1);
    const { status } = await fetch(api.url + STATEMENTS, {
      method: 'POST',
      headers: { 'content-type': 'text/csv', ...authorized(bank) },
      // It never ends.
      body: new ReadableStream({ start: (body) => body.enqueue(Buffer.from(`${HEADER}\n${lines}`)) }),
      duplex: 'half',
    });
    expect(status).toBe(429);
    expect(await staged()).toBe(0);
  });

  test('are of each bank, and of each day', async () => {
    expect((await upload(big('K'))).status).toBe(202);
    expect((await upload(big('L'))).status).toBe(429);
    const { credentials, bankId } = await standingApproval(database.db, api.deps.ring);
    expect((await upload(big('L'), '', await tokenOf(api, credentials.bank))).status).toBe(202);
    await asOwner(
      database.url,
      `UPDATE bank_statements SET recorded_at = recorded_at - interval '1 day' WHERE bank_id <> '${bankId}'`,
    );
    expect((await upload(big('L'))).status).toBe(202);
  });

  test('are those of one file, where two come at once that pass them together', async () => {
    const answers = await Promise.all([upload(big('K')), upload(big('L'))]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 429]);
    expect(await staged()).toBe(0);
  });
});

describe('the days that a bank says its file covers', () => {
  test('are part of what file it is', async () => {
    const file = csv(line('P0', { day: earlier() }));
    const narrow = await match(file);
    const wide = await match(file, `?through=${today}`);
    expect(wide.id).not.toBe(narrow.id);
    expect((await upload(file, `?through=${today}`)).body.data).toMatchObject({ statementId: wide.id });
    expect((await upload(file)).body.data).toMatchObject({ statementId: narrow.id });
    expect((await upload(file, `?through=${today}&from=${today}`)).body.data).not.toMatchObject({
      statementId: wide.id,
    });
  });

  test('end with the day that it is for the bank, and in their order', async () => {
    const before = await count('SELECT count(*)::int FROM bank_statements');
    expect(await upload(csv(), `?through=${later()}`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'query.through', message: expect.stringContaining(`later than ${today}`) }] },
    });
    expect(await upload(csv(), `?from=${today}&through=${earlier()}`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'query.from', message: 'must not be later than through' }] },
    });
    expect((await upload(csv(), '?through=2026-02-30')).status).toBe(400);
    expect((await upload(csv(), '?until=2026-02-03')).status).toBe(400);
    expect(await count('SELECT count(*)::int FROM bank_statements')).toBe(before);
  });

  test('are part of what an idempotency key stands for', async () => {
    expect((await keyed('')).status).toBe(202);
    expect((await keyed(`?through=${today}`)).status).toBe(422);
  });
});
