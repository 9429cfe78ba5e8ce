import { acceptBankFile, discardPages } from '../../../src/database/bank-file/receive-bank-file';
import { deleteCounted } from '../../../src/database/bank-file/open-differences';
import { addDays, calendarDay } from '../../../src/domain/calendar';
import { stageBankFile } from '../../../src/files/bank-file/intake';
import { tokenOf, type Answered } from '../../support/api';
import { workOnFile } from '../../support/bank-file';
import { asSchemaLogin } from '../../support/database';
import {
  approve,
  bill,
  decline,
  EXCEPTIONS,
  initiateRefund,
  respond,
  shareApi,
  type Parties,
} from '../../support/shared-api';
import { raw } from '../../../src/database/pool/statement';

/** A bank's files: what they may cost at most, and the days that the bank says they cover. */

const LAGOS = 'Africa/Lagos';
const STATEMENTS = '/v1/bank/statements';
const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction,reference';
const LINES_PER_DAY = 4_000;

const served = shareApi({ STATEMENT_LINES_PER_DAY: String(LINES_PER_DAY) });
let parties: Parties;
let today: string;
beforeEach(async () => {
  today = calendarDay(new Date(), LAGOS);
  parties = await served.parties();
});

const upload = (file: string, query = '', headers = {}, by = parties.bank): Promise<Answered> =>
  by.post(`${STATEMENTS}${query}`, file, { 'content-type': 'text/csv', ...headers });

/** @returns the reference of a charge that the bank has approved */
async function paid(bankTransactionId: string): Promise<string> {
  const { id, reference } = await bill(parties);
  expect((await approve(parties, id, bankTransactionId)).status).toBe(200);
  return reference;
}

const line = (id: string, { amount = 100, day = today } = {}) => `${id},${day},${amount},NGN,debit,`;
const csv = (...lines: string[]) => [HEADER, ...lines, ''].join('\r\n');

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
  await workOnFile(served.db, id);
  const shown = await parties.bank.read(`${STATEMENTS}/${id}`);
  expect(shown).toMatchObject({ status: 'completed' });
  return { id, summary: shown['summary'] as Matched['summary'], differences: await differencesOf(id) };
}

async function differencesOf(id: string): Promise<string[][]> {
  const [, ...lines] = (await parties.bank.file(`${STATEMENTS}/${id}/differences.csv`))
    .trimEnd()
    .split('\r\n');
  return lines.map((one) => one.split(','));
}
const exceptionIdOf = (difference: string[] | undefined) => difference?.[11];

const total = async (query = '') => (await parties.bank.read(`${EXCEPTIONS}?limit=1${query}`))['total'];
/** A week has passed for the bank, and its file says so. */
async function throughNextWeek(): Promise<string> {
  const { bankId } = parties;
  await asSchemaLogin(
    served.database.url,
    `UPDATE entities SET clock_offset = interval '7 days' WHERE id = '${bankId}'`,
  );
  return `?through=${addDays(today, 7)}`;
}
const count = async (sql: string) => (await served.db.oneRow<{ count: number }>`${raw(sql)}`).count;
const sizeOfDatabase = () => count(`SELECT pg_database_size(current_database()) AS count`);

test('a thousand differences of a file become exceptions, those that hold money of a merchant first; the rest stands in its differences, and holds nothing', async () => {
  const references = [await paid('Z1'), await paid('Z2')];
  const unknown = Array.from({ length: 3_000 }, (_, n) => line(`U${n}`, { amount: 5 }));
  const lines = [...unknown, line('Z1', { amount: 90 })];
  const before = await sizeOfDatabase();
  const { summary, differences } = await match(
    csv(...lines, lines[0] ?? '', lines[2_500] ?? '', lines[3_000] ?? ''),
    await throughNextWeek(),
  );

  expect(summary).toMatchObject({
    lines: 3_004,
    unknownHere: 3_000,
    amountDiffers: 1,
    duplicates: 3,
    missingAtBank: 1,
  });
  expect(await total()).toBe(1_000);
  expect(differences.map(([at, difference]) => `${at} ${difference}`)).toEqual([
    ...unknown.map((_, n) => `${n + 2} unknown_here`),
    '3002 amount_differs',
    '3003 duplicate',
    '3004 duplicate',
    '3005 duplicate',
    ' missing_at_bank',
  ]);
  const [opened, counted] = [differences.slice(0, 998), differences.slice(998, 3_000)];
  expect(opened.map(exceptionIdOf)).not.toContain('');
  expect(new Set(counted.map(exceptionIdOf))).toEqual(new Set(['']));
  // Neither waits for the next file, however many lines come before it.
  for (const held of [differences[3_000], differences.at(-1)]) expect(exceptionIdOf(held)).toMatch(/^exc_/);
  expect(differences[3_000]?.slice(2, 6)).toEqual(['Z1', today, 'debit', '90']);
  for (const reference of references) expect((await initiateRefund(parties, reference)).status).toBe(409);
  // Some kilobytes for each exception; thirty bytes for each line that is counted.
  expect((await sizeOfDatabase()) - before).toBeLessThan(4_000_000);
  expect(await count('SELECT count(*)::int FROM bank_file_reported')).toBe(0);
});

const openBefore = (length: number, bankId = parties.bankId, payeeBankId?: string) =>
  asSchemaLogin(
    served.database.url,
    `SET session_replication_role = replica;
     INSERT INTO reconciliation_exceptions (id, kind, bank_id, amount, currency, bank_transaction_id, direction,
       booked_amount, booked_currency, opened_at, payee_bank_id)
     SELECT '${parties.bankId.replace('bnk', 'exc')}' || n, 'unknown_here', '${bankId}', 5, 'NGN', 'O' || n, 'debit', 5, 'NGN', now(),
       ${payeeBankId === undefined ? 'NULL' : `'${payeeBankId}'`}
     FROM generate_series(1, ${length}) AS n`,
  );

test('ten thousand differences are open for a bank at most, and each that ends makes room', async () => {
  await openBefore(9_999);
  const first = await match(csv(line('N1'), line('N2'), line('N3')));
  expect(first.summary).toMatchObject({ unknownHere: 3 });
  expect(first.differences.map(exceptionIdOf).map(Boolean)).toEqual([true, false, false]);
  expect(await total('&state=open')).toBe(10_000);

  const [opened] = first.differences.map(exceptionIdOf);
  expect((await respond(parties, opened, { resolution: 'no_money_moved' })).status).toBe(200);
  const second = await match(csv(line('N2'), line('N3'), line('N1')));
  expect(second.summary).toMatchObject({ unknownHere: 3, duplicates: 0 });
  expect(second.differences.map(exceptionIdOf)).toEqual([expect.stringMatching(/^exc_/), '', opened]);
});

test('what another bank has booked of payments to a bank takes none of its room', async () => {
  await openBefore(10_000, 'bnk_other', parties.bankId);
  const { differences } = await match(csv(line('N1')));
  expect(differences.map(exceptionIdOf)).toEqual([expect.stringMatching(/^exc_/)]);
});

test('what is missing beyond ten thousand is counted, and told again by the next file', async () => {
  await openBefore(9_999);
  await paid('P7');
  await paid('P8');
  const reference = await paid('P9');
  const first = await match(csv(line('P7')), await throughNextWeek());
  expect(first.summary).toMatchObject({ matched: 1, missingAtBank: 2 });
  const [told, counted] = first.differences;
  expect([told, counted].map(exceptionIdOf).map(Boolean)).toEqual([true, false]);

  const finding = { resolution: 'reversed', bankTransactionId: 'P80' };
  expect((await respond(parties, exceptionIdOf(told), finding)).status).toBe(200);
  const second = await match(csv(line('P7'), line('P6')), await throughNextWeek());
  // With the reversal, which the first file could not have.
  expect(second.summary).toMatchObject({ missingAtBank: 2 });
  expect(second.differences.at(-2)?.slice(1, 3)).toEqual(['missing_at_bank', 'P80']);
  expect((await initiateRefund(parties, reference)).status).toBe(201);
  expect(second.differences.at(-1)?.slice(1, 3)).toEqual(['missing_at_bank', 'P9']);
});

test('what many files tell is one exception, in the differences of each', async () => {
  await paid('W1');
  const opened = new Set<string | undefined>();
  for (let n = 0; n < 3; n++) {
    const { summary, differences } = await match(csv(line('W1'), line('W2'), line('W2'), line(`W-${n}`)));
    // The charge that an earlier file had is matched again.
    expect(summary).toMatchObject({ matched: 1, unknownHere: 2, duplicates: 1 });
    opened.add(exceptionIdOf(differences[0]));
  }
  expect([...opened]).toEqual([expect.stringMatching(/^exc_/)]);
});

test('a line that tells of a late answer twice is a duplicate the second time', async () => {
  const { id } = await bill(parties);
  expect((await decline(parties, id)).status).toBe(200);
  expect((await approve(parties, id, 'V1')).status).toBe(409);
  const { summary } = await match(csv(line('V1'), line('V1')));
  expect(summary).toMatchObject({ matched: 1, duplicates: 1 });
});

test('what is counted alone goes once no dispute can need it, and exceptions stay', async () => {
  const { id, differences } = await match(csv(line('T1'), line('T1'), ',,,,,'));
  expect(differences.map(([, difference]) => difference)).toEqual(['unknown_here', 'duplicate', 'malformed']);
  for (const [age, left] of [
    ['13 months -1 day', 3],
    ['13 months 1 minute', 1],
  ] as const) {
    await asSchemaLogin(
      served.database.url,
      `UPDATE bank_file_differences SET counted_at = now() - interval '${age}' WHERE statement_id = '${id}'`,
    );
    await deleteCounted(served.db);
    expect(await differencesOf(id)).toEqual(differences.slice(0, left));
  }
});

const DAY_BYTES = 16 * 1024 ** 2;
const tookToday = (bytes: number) =>
  asSchemaLogin(
    served.database.url,
    `UPDATE bank_files SET kept_bytes = ${bytes} WHERE bank_id = '${parties.bankId}'`,
  );
const kept = () =>
  count(`SELECT count(*)::int FROM bank_file_differences d
  JOIN bank_files s ON s.id = d.statement_id WHERE s.bank_id = '${parties.bankId}'`);
const NOT_KEPT = (words: string): string[] => [
  ...Array<string>(12).fill(''),
  `"counted and not kept: ${words}"`,
];

describe('the bytes of differences that are kept of a day', () => {
  test('bound what lines without a booking leave, and the file of differences says how many more there were', async () => {
    await paid('R1');
    await match(csv());
    await tookToday(DAY_BYTES - 1);
    const unknown = Array.from({ length: 2_500 }, (_, n) => line(`R-${n}`));
    const { summary, differences } = await match(csv(...unknown, line('R1', { amount: 90 })));
    expect(summary).toMatchObject({ lines: 2_501, unknownHere: 2_500, amountDiffers: 1, notKept: 1_500 });
    expect(differences.slice(0, 1_000).map(([at]) => at)).toEqual(
      unknown.slice(0, 1_000).map((_, n) => `${n + 2}`),
    );
    // What holds money of a merchant is kept and opened all the same.
    expect(differences[1_000]?.slice(0, 3)).toEqual(['2502', 'amount_differs', 'R1']);
    expect(exceptionIdOf(differences[1_000])).toMatch(/^exc_/);
    expect(differences.slice(1_001)).toEqual([NOT_KEPT('1500 differences')]);

    const next = await match(csv(line('R-9999')));
    expect(next.differences).toEqual([NOT_KEPT('1 difference')]);
    expect(await total()).toBe(1_000);
  });

  test('are measured as they grow, for each bank and each day', async () => {
    const first = await match(csv(line('S1')));
    const bytes = await count(`SELECT kept_bytes::int AS count FROM bank_files WHERE id = '${first.id}'`);
    expect(bytes).toBeGreaterThan(100);
    expect(bytes).toBeLessThan(1_000);
    await tookToday(DAY_BYTES);
    expect((await match(csv(line('S2')))).summary).toMatchObject({ unknownHere: 1, notKept: 1 });
    await asSchemaLogin(
      served.database.url,
      `UPDATE bank_files SET recorded_at = recorded_at - interval '1 day' WHERE bank_id = '${parties.bankId}'`,
    );
    expect((await match(csv(line('S3')))).summary).toMatchObject({ unknownHere: 1, notKept: 0 });
  });

  test('end for what holds money as well, which a later file tells again', async () => {
    for (const id of ['T1', 'T2']) await paid(id);
    await match(csv());
    await tookToday(2 * DAY_BYTES);
    const file = csv(line('T1', { amount: 90 }), line('T3'));
    const query = await throughNextWeek();
    const { summary } = await match(file, query);
    expect(summary).toMatchObject({ amountDiffers: 1, unknownHere: 1, missingAtBank: 0, notKept: 2 });
    expect(await kept()).toBe(0);
    await tookToday(0);
    const later = await match(csv(line('T1', { amount: 80 })), query);
    expect(later.summary).toMatchObject({ amountDiffers: 1, missingAtBank: 1, notKept: 0 });
    expect(later.differences.map(exceptionIdOf)).toEqual([
      expect.stringMatching(/^exc_/),
      expect.stringMatching(/^exc_/),
    ]);
  });

  test('have no more of a reference than the longest that a bank has', async () => {
    const { differences } = await match(csv(`${line('Q1')}${'R'.repeat(200)}`));
    expect(differences.map((one) => one[7])).toEqual(['R'.repeat(35)]);
  });
});

const big = (prefix: string, length = LINES_PER_DAY / 2 + 1) =>
  csv(...Array.from({ length }, (_, n) => line(`${prefix}${n}`)));
const statements = () => count('SELECT count(*)::int FROM bank_files');
const staged = () =>
  count(`SELECT count(*)::int FROM bank_file_pages p
     WHERE NOT EXISTS (SELECT FROM bank_files s WHERE s.id = p.statement_id)`);
const isRefused = ({ status, headers, body }: Answered) => {
  expect({ status, body }).toMatchObject({
    status: 429,
    body: { message: expect.stringContaining('1000 files a day, with 4000 lines in all') },
  });
  expect(headers.get('retry-after')).toMatch(/^\d{1,5}$/);
};

describe('the lines of a day', () => {
  test('bound what a bank sends: the file that passes them is refused and leaves nothing', async () => {
    const first = await upload(big('K'));
    expect(first.status).toBe(202);
    const before = await statements();
    isRefused(await upload(big('L')));
    isRefused(await upload(big('M', LINES_PER_DAY + 1)));
    expect(await statements()).toBe(before);
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
    const { status } = await fetch(served.api.url + STATEMENTS, {
      method: 'POST',
      headers: {
        'content-type': 'text/csv',
        authorization: `Bearer ${await tokenOf(served.api, parties.bank)}`,
      },
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
    expect((await upload(big('L'), '', {}, (await served.parties()).bank)).status).toBe(202);
    await asSchemaLogin(
      served.database.url,
      `UPDATE bank_files SET recorded_at = recorded_at - interval '1 day' WHERE bank_id = '${parties.bankId}'`,
    );
    expect((await upload(big('L'))).status).toBe(202);
  });

  test('are those of one file, where two come at once that pass them together', async () => {
    const answers = await Promise.all([upload(big('K')), upload(big('L'))]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 429]);
    expect(await staged()).toBe(0);
  });
});

const earlier = () => addDays(today, -3);

const FILES_PER_DAY = 1_000;

test('a file beyond those of a day is refused, though it has no line, and one sent before is answered', async () => {
  await asSchemaLogin(
    served.database.url,
    `INSERT INTO bank_files (id, bank_id, sha256, reaches, lines, status, ended_at)
     SELECT '${parties.bankId.replace('bnk', 'stm')}' || n, '${parties.bankId}', sha256(n::text::bytea), '{}', 0,
       'completed', now()
     FROM generate_series(1, ${FILES_PER_DAY - 1}) AS n`,
  );
  const last = await upload(csv());
  expect(last.status).toBe(202);
  isRefused(await upload(`${csv()}\n`));
  isRefused(await upload(csv(), `?through=${today}`));
  expect((await upload(csv())).body.data).toEqual(last.body.data);
  expect((await upload(csv(), '', {}, (await served.parties()).bank)).status).toBe(202);
});

test('of a file beyond the lines that are left no more than these wait, and it is refused the next day too', async () => {
  await upload(big('K'));
  const file = big('L', LINES_PER_DAY);
  async function* bytes() {
    yield await Promise.resolve(Buffer.from(file));
  }
  const { bankId } = parties;
  const arrived = await stageBankFile(served.db, LINES_PER_DAY, { bankId, type: 'text/csv', bytes: bytes() });
  expect(arrived.lines).toBe(LINES_PER_DAY);
  expect(await staged()).toBe(1);
  await asSchemaLogin(
    served.database.url,
    `UPDATE bank_files SET recorded_at = recorded_at - interval '1 day' WHERE bank_id = '${bankId}'`,
  );
  const accepted = served.db.transaction((trx) => acceptBankFile(trx, bankId, arrived, LINES_PER_DAY));
  await expect(accepted).rejects.toMatchObject({ code: 'rate_limited' });
  await discardPages(served.db, arrived.statementId);
});

describe('the days that a bank says its file covers', () => {
  test('are part of what file it is, and of what an idempotency key stands for', async () => {
    const file = csv(line('P0', { day: earlier() }));
    const narrow = await match(file);
    const wide = await match(file, `?through=${today}`);
    expect(wide.id).not.toBe(narrow.id);
    const idOf = async (query = '') => (await upload(file, query)).body.data?.['statementId'];
    expect(await idOf(`?through=${today}`)).toBe(wide.id);
    expect(await idOf()).toBe(narrow.id);
    expect(await idOf(`?through=${today}&from=${today}`)).not.toBe(wide.id);

    const key = { 'idempotency-key': 'monday' };
    expect((await upload(csv(), '', key)).status).toBe(202);
    expect((await upload(csv(), `?through=${today}`, key)).status).toBe(422);
  });

  test('end with the day that it is for the bank, and in their order', async () => {
    const before = await statements();
    for (const [query, problem] of [
      [
        `?through=${addDays(today, 1)}`,
        { path: 'query.through', message: expect.stringContaining(`later than ${today}`) as string },
      ],
      [
        `?from=${addDays(today, 1)}`,
        { path: 'query.from', message: expect.stringContaining(`later than ${today}`) as string },
      ],
      [
        `?from=${today}&through=${earlier()}`,
        { path: 'query.from', message: 'must not be later than through' },
      ],
      ['?through=2026-02-30', { path: 'query.through' }],
    ] as const) {
      expect(await upload(csv(), query)).toMatchObject({ status: 400, body: { errors: [problem] } });
    }
    expect(await statements()).toBe(before);
  });
});
