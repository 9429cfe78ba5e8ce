import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readCsv } from '../../src/files/bank-file/read-csv';
import type { ReadLine } from '../../src/domain/books/bank-file';
import { blocksRunBy } from '../support/code-blocks';
import { DAYS, endless, readAll, readFile, sampleLine as line } from '../support/statement-file';

/** A bank's statement as CSV: what is read of it, and what a broken one costs. */

const SAMPLE = readFileSync(path.join(__dirname, '../samples/statement.csv'));
const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction\n';
const LINE = 'FT1,2026-03-02,10.00,NGN,debit\n';

const read = (file: string | Buffer, size?: number) => readFile(readCsv, file, size);

const WRONG_HEADER = /header must have the columns bankTransactionId,bookingDate,amount,currency,direction/;

test.each([1, 7, 100_000])(
  'our sample is read alike in pieces of %i bytes, each fault at its line',
  async (size) => {
    expect(await read(SAMPLE, size)).toEqual([
      line(2, 'FT26061A01', '2026-03-02', 150_000n, { reference: '7Q2MXK4TVWYZ23ABCDEFGHJK' }),
      line(4, 'FT26061A02', '2026-03-02', 2_000n),
      line(5, 'FT26062B01', '2026-03-03', 49_999n, { direction: 'credit' }),
      line(6, 'FT26063C01', '2026-03-05', 1_200n, { bookedOn: '2026-03-04', currency: 'JPY' }),
      { line: 7, problem: 'bankTransactionId is missing' },
      {
        line: 8,
        problem:
          'bookingDate must be a day that exists; amount must have at most 2 decimals in NGN; direction must be debit or credit',
      },
      { line: 9, problem: 'amount must be a decimal number, as in 1500.00' },
      {
        line: 10,
        problem: 'bankTransactionId is missing; currency is missing; direction is missing',
      },
      { line: 11, problem: 'its quotes do not follow RFC 4180' },
      line(12, 'FT26065E01', '2026-03-06', 7_550n),
    ]);
  },
);

test('the lines that docs/bank-files.md shows are lines', async () => {
  const [shown] = blocksRunBy('test/files/bank-file-csv.test.ts', 'docs/bank-files.md');
  expect(await read(shown?.text ?? '')).toEqual([
    line(2, 'FT26061A01', '2026-03-02', 150_000n, { reference: '7Q2MXK4TVWYZ23ABCDEFGHJK' }),
    line(3, 'FT26062B01', '2026-03-03', 49_999n, { direction: 'credit' }),
  ]);
});

test.each([
  ['nothing', ''],
  ['no header', LINE],
  ['a column missing', HEADER.replace('amount,', '') + LINE],
  ['a column twice', HEADER.replace('\n', ',amount\n') + LINE],
  ['another separator', HEADER.replaceAll(',', ';') + LINE],
  ['names in another case', HEADER.toLowerCase() + LINE],
  ['quotes that are never closed', `"${HEADER}${LINE}`],
  ['JSON', '{"bankTransactionId": "FT1"}'],
])('a file with %s is refused as a whole', async (_, file) => {
  await expect(read(file)).rejects.toThrow(WRONG_HEADER);
});

test('a header alone is a statement of no lines, in any order and with a byte order mark', async () => {
  expect(await read(HEADER)).toEqual([]);
  expect(await read(`\ufeffcurrency, amount ,direction,bookingDate,bankTransactionId`)).toEqual([]);
});

test('a quote that is never closed refuses the file before it fills the memory', async () => {
  const sent = { bytes: 0 };
  await expect(readAll(readCsv, endless(`${HEADER}${LINE}"FT2,`, sent))).rejects.toThrow(
    'line 3 has more than 64 KiB: is a quote not closed?',
  );
  expect(sent.bytes).toBeLessThan(1024 * 1024);
});

test('lines with stray quotes are told of as they are read, not once a good one comes: so they are counted', async () => {
  const many = 'a"\n'.repeat(1_000);
  const lines: ReadLine[] = [];
  let sent = 0;
  async function* file() {
    await Promise.resolve();
    yield Buffer.from(HEADER);
    for (; sent < 100_000; sent += 1_000) {
      expect(lines).toHaveLength(sent);
      yield Buffer.from(many);
    }
  }
  for await (const one of readCsv(file(), DAYS)) lines.push(one);
  expect(lines.at(-1)).toEqual({ line: 100_001, problem: 'its quotes do not follow RFC 4180' });
});

test('separators without end refuse the file before their empty fields fill the memory', async () => {
  const sent = { bytes: 0 };
  await expect(readAll(readCsv, endless(HEADER, sent, ','))).rejects.toThrow('line 2 has more than 64 KiB');
  expect(sent.bytes).toBeLessThan(128 * 1024);
});

test.each([
  ['a separator of thousands', 'amount', '1,500.00'],
  ['a decimal comma', 'amount', '1500,50'],
  ['a separator of thousands before an empty field', 'amount,reference', '1,500.00,'],
])('a line with %s has too many fields, and no amount of it is read', async (_, last, amount) => {
  const header = `bankTransactionId,bookingDate,direction,currency,${last}\n`;
  const written = `FT1,2026-03-02,debit,NGN,${amount}\n`;
  expect(await read(`${header}${written}FT2,2026-03-02,debit,NGN,10.00\n`)).toMatchObject([
    { line: 2, problem: 'it has more fields than the header' },
    { line: 3, bankTransactionId: 'FT2', amount: 1_000n },
  ]);
});

test('lines that end differently are each a line: none is taken for the rest of another', async () => {
  const ids = ['FT1', 'FT2', 'FT3', 'FT4'];
  const [first, second, third, fourth] = ids.map((id) => LINE.trim().replace('FT1', id));
  const file = `${HEADER.trim()},reference\r\n${first},\n${second},\r\n${third},\r${fourth},`;
  for (const size of [1, 7, 100_000]) {
    const lines = await read(file, size);
    expect(lines.map((one) => 'bankTransactionId' in one && one.bankTransactionId)).toEqual(ids);
  }
});

test.each([
  ['latin1', Buffer.from(HEADER + LINE.replace('FT1', 'FT\u00e9'), 'latin1')],
  ['UTF-16', Buffer.from(`\ufeff${HEADER}${LINE}`, 'utf16le')],
  ['a letter that is cut off', Buffer.from(HEADER + LINE + 'FT\u00e9').subarray(0, -1)],
])('a file in %s is refused, for letters of two ids might come to one', async (_, file) => {
  await expect(read(file, 7)).rejects.toThrow('body must be in UTF-8');
});
