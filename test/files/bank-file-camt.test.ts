import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readCamt } from '../../src/files/bank-file/read-camt';
import { blocksRunBy } from '../support/code-blocks';
import { endless, readAll, readFile, sampleLine as line } from '../support/statement-file';

/** A bank's statement as ISO 20022 has it: what is read of it, and what a hostile one costs. */

const SAMPLE = readFileSync(path.join(__dirname, '../samples/statement.camt.053.xml'));
const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08';
const OPEN = `<Document xmlns="${NAMESPACE}"><BkToCstmrStmt><Stmt>`;
const CLOSE = '</Stmt></BkToCstmrStmt></Document>';
const entry = (more = '') =>
  `<Ntry><Amt Ccy="NGN">10.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-03-02</Dt></BookgDt><AcctSvcrRef>FT1</AcctSvcrRef>${more}</Ntry>`;

const read = (file: string | Buffer, size?: number) => readFile(readCamt, file, size);

test.each([1, 7, 100_000])('our sample is read alike in pieces of %i bytes', async (size) => {
  expect(await read(SAMPLE, size)).toEqual([
    line(1, 'FT26061A01', '2026-03-02', 150_000n, { reference: '7Q2MXK4TVWYZ23ABCDEFGHJK' }),
    line(2, 'FT26062B01', '2026-03-04', 49_999n, { bookedOn: '2026-03-03', direction: 'credit' }),
    line(3, 'FT26063C01', '2026-03-04', 1_000n),
    line(4, 'FT26063C02', '2026-03-04', 2_000n),
    { line: 5, problem: "only 2 of the entry's 3 transactions have an AcctSvcrRef" },
    { line: 6, problem: 'bankTransactionId is missing; currency must be a code of ISO 4217, as NGN' },
  ]);
});

test('an entry that takes another back says so, and its period where it begins', async () => {
  const back = ['true', '1', 'false'].map((is) => entry(`<RvslInd>${is}</RvslInd>`));
  expect(await read(OPEN + back.join('') + CLOSE)).toEqual(
    [true, true, false].map((isReversal, n) => line(n + 1, 'FT1', '2026-03-02', 1_000n, { isReversal })),
  );
  const period = '<FrToDt><FrDtTm>2026-03-02T00:00:00</FrDtTm><ToDtTm>2026-03-04T23:59:59</ToDtTm></FrToDt>';
  const begun: string[] = [];
  const reader: typeof readCamt = (chunks, days, reach) =>
    readCamt(chunks, days, reach, (day) => begun.push(day));
  expect(await readFile(reader, OPEN + period + CLOSE)).toEqual([]);
  expect(begun).toEqual(['2026-03-02']);
});

test('the entry that docs/bank-files.md shows is a line', async () => {
  const [shown] = blocksRunBy('test/files/bank-file-camt.test.ts', 'docs/bank-files.md');
  expect(await read(shown?.text ?? '')).toEqual([
    line(1, 'FT26061A01', '2026-03-02', 150_000n, { reference: '7Q2MXK4TVWYZ23ABCDEFGHJK' }),
  ]);
});

const detail = (id: string, more = '') =>
  `<TxDtls><Refs><AcctSvcrRef>${id}</AcctSvcrRef></Refs>${more}</TxDtls>`;
const amountOf = (amount: string) => `<AmtDtls><TxAmt><Amt Ccy="NGN">${amount}</Amt></TxAmt></AmtDtls>`;
const withDetails = (...details: string[]) => entry(`<NtryDtls>${details.join('')}</NtryDtls>`);

test('of several transactions of one entry none is booked with the sum of them all', async () => {
  const several = withDetails(
    detail('A', amountOf('3.00')),
    detail('B'),
    detail('C', '<Amt Ccy="NGN">7.00</Amt>'),
  );
  expect(await read(OPEN + several + CLOSE)).toEqual([
    line(1, 'A', '2026-03-02', 300n),
    { line: 2, problem: 'amount is missing' },
    line(3, 'C', '2026-03-02', 700n),
  ]);
  // The only one of its entry is all of it, whatever the customer paid in.
  expect(await read(OPEN + withDetails(detail('D', amountOf('3.00'))) + CLOSE)).toEqual([
    line(1, 'D', '2026-03-02', 1_000n),
  ]);
});

test('transactions without ids beside others that have them are one line, however many they are, and none where the entry is not booked', async () => {
  const nameless = '<TxDtls/>'.repeat(100_000);
  const many = withDetails(nameless, detail('A', amountOf('3.00')), nameless);
  expect(await read(OPEN + many + many.replace('BOOK', 'PDNG') + CLOSE, 64 * 1024)).toEqual([
    line(1, 'A', '2026-03-02', 300n),
    { line: 2, problem: "only 1 of the entry's 200001 transactions have an AcctSvcrRef" },
  ]);
  expect(await read(OPEN + withDetails(nameless) + CLOSE, 64 * 1024)).toMatchObject([
    { bankTransactionId: 'FT1' },
  ]);
});

const referenceOf = (own: string) => `<Refs><EndToEndId>${own}</EndToEndId></Refs>`;

test('of several transactions of one entry none has the reference of another', async () => {
  const reference = '7Q2MXK4TVWYZ23ABCDEFGHJK';
  const several = withDetails(
    detail('A', `${referenceOf(reference)}<Amt Ccy="NGN">3.00</Amt>`),
    detail('B', '<Amt Ccy="NGN">3.00</Amt>'),
    detail('C', `${referenceOf('NOTPROVIDED')}<Amt Ccy="NGN">4.00</Amt>`),
  );
  expect(await read(OPEN + several + CLOSE)).toEqual([
    line(1, 'A', '2026-03-02', 300n, { reference }),
    line(2, 'B', '2026-03-02', 300n),
    line(3, 'C', '2026-03-02', 400n),
  ]);
  // The only one of its entry has no id of its own where the entry has it.
  const only = withDetails(`<TxDtls>${referenceOf(reference)}</TxDtls>`);
  expect(await read(OPEN + only + entry() + CLOSE)).toEqual([
    line(1, 'FT1', '2026-03-02', 1_000n, { reference }),
    line(2, 'FT1', '2026-03-02', 1_000n),
  ]);
});

test('what is of another vocabulary is no entry, whatever its name', async () => {
  const foreign = entry().replaceAll(/<(\/?)(\w)/g, '<$1f:$2');
  const file = `${OPEN.replace('<Document', '<Document xmlns:f="urn:f"')}${foreign}${entry()}${CLOSE}`;
  expect(await read(file)).toHaveLength(1);
});

const booked = (day: string) => entry().replace('2026-03-02', day);

test('a file of prefixed elements has the lines of one without', async () => {
  const prefixed = SAMPLE.toString()
    .replaceAll(/<(\/?)(\w)/g, '<$1d:$2')
    .replace('xmlns=', 'xmlns:d=');
  expect(await read(prefixed)).toEqual(await read(SAMPLE));
});

const VERSIONS = Array.from({ length: 12 }, (_, n) => String(n + 2).padStart(2, '0'));

test.each(VERSIONS)('version .%s has the lines that every other has', async (version) => {
  const versioned = SAMPLE.toString().replace('camt.053.001.08', `camt.053.001.${version}`);
  expect(await read(versioned)).toEqual(await read(SAMPLE));
});

test('before version .08 the status is the code itself', async () => {
  const open = OPEN.replace('001.08', '001.02');
  const plain = entry().replace('<Sts><Cd>BOOK</Cd></Sts>', '<Sts>BOOK</Sts>');
  const pending = plain.replace('BOOK', 'PDNG');
  expect(await read(open + pending + plain + CLOSE)).toEqual([line(1, 'FT1', '2026-03-02', 1_000n)]);
});

test('an element of another version than its document is none of the message', async () => {
  const other = entry().replace('<Ntry>', `<Ntry xmlns="${NAMESPACE.replace('.08', '.02')}">`);
  expect(await read(OPEN + other + CLOSE)).toEqual([]);
});

const LONG = 'a'.repeat(4_096);
const inEntry = (tag: string) => `${OPEN}<Ntry>${tag}`;

test.each([
  ['name', `<${LONG}>`, `<${LONG}a>`],
  ['attribute', `<a ${LONG.slice(34)}="b">`, `<a ${LONG}="">`],
  ['namespace', `<a xmlns:p="${LONG.slice(40)}">`, `<a xmlns:p="${LONG}">`],
])(
  'a tag with a long %s is refused before each element in it costs as much again',
  async (_, longest, beyond) => {
    await expect(read(inEntry(longest))).rejects.toThrow('is not well-formed');
    const sent = { bytes: 0 };
    await expect(readAll(readCamt, endless(inEntry(beyond), sent, '<b/>'))).rejects.toThrow(
      'has a tag of more than 4 KiB',
    );
    expect(sent.bytes).toBe(0);
  },
);

test.each(['2026-03-02Z', '2026-03-02+01:00', '2026-03-02-14:00'])(
  'the day %s is the day that the bank has booked it on, whatever its offset',
  async (day) => {
    expect(await read(OPEN + booked(day) + CLOSE)).toEqual([line(1, 'FT1', '2026-03-02', 1_000n)]);
  },
);

test.each(['2026-03-02+', '2026-03-02+1', '2026-03-02+01:00Z', '2026-02-30Z'])(
  '%s is no day',
  async (day) => {
    expect(await read(OPEN + booked(day) + CLOSE)).toMatchObject([
      { line: 1, problem: expect.stringMatching(/^bookingDate must be a day/) },
    ]);
  },
);

test('a field is read whole or not at all, whatever blanks are in it', async () => {
  const before = entry().replace('10.00', `${' '.repeat(1_022)}1500.00`);
  const behind = entry().replace('10.00', `15${' '.repeat(1_022)}00.00`);
  const apart = entry().replace('10.00', `15${' '.repeat(1_021)}<!-- -->${' '.repeat(9)}0`);
  const long = entry().replace('FT1', 'F'.repeat(2_000));
  const status = entry().replace('BOOK', `${'\n'.repeat(1_022)}BOOK`);
  const problem = 'amount must be a decimal number, as in 1500.00';
  expect(await read(OPEN + before + behind + apart + long + status + CLOSE)).toEqual([
    line(1, 'FT1', '2026-03-02', 150_000n),
    { line: 2, problem },
    { line: 3, problem },
    { line: 4, problem: 'bankTransactionId must have at most 200 characters' },
    line(5, 'FT1', '2026-03-02', 1_000n),
  ]);
});

const WRONG = /must be a statement of ISO 20022, camt\.053\.001\.02 to camt\.053\.001\.13/;
const BOMB = `<!DOCTYPE a [<!ENTITY b "${'x'.repeat(100)}"><!ENTITY c "&b;&b;&b;">]>`;

test.each([
  ['nothing', '', /is not well-formed|must be a statement/],
  ['another message', OPEN.replace('camt.053', 'camt.052') + CLOSE, WRONG],
  ['a version before the first', OPEN.replace('001.08', '001.01') + CLOSE, WRONG],
  ['a version behind the last', OPEN.replace('001.08', '001.14') + CLOSE, WRONG],
  ['another root', `<Doc xmlns="${NAMESPACE}"/>`, WRONG],
  ['a root alone', `<Document xmlns="${NAMESPACE}"/>`, WRONG],
  ['a tag that is not closed', OPEN + entry(), /is not well-formed/],
  [
    'a tag that is closed by another',
    `${OPEN}<Ntry></Stmt>${CLOSE}`,
    /is not well-formed at line 1, column \d+$/,
  ],
  ['more after its end', `${OPEN}${CLOSE}<x/>`, /is not well-formed/],
  ['CSV', 'bankTransactionId,bookingDate\n', /is not well-formed/],
  ['a document type', BOMB + OPEN + CLOSE, /must have no document type/],
  ['an entity of its own', `${OPEN}<Ntry>&b;</Ntry>${CLOSE}`, /is not well-formed/],
  [
    'a declaration of another encoding',
    `<?xml version="1.0" encoding="latin1"?>${OPEN}${CLOSE}`,
    /must be in UTF-8/,
  ],
  ['another encoding', Buffer.from(`${OPEN}<Nm>é</Nm>${CLOSE}`, 'latin1'), /must be in UTF-8/],
  [
    'an element of thousands of attributes',
    `${OPEN}<Ntry ${Array.from({ length: 5_000 }, (_, n) => `a${n}=""`).join(' ')}/>${CLOSE}`,
    /has a tag of more than 4 KiB/,
  ],
  ['elements without end', OPEN + '<a>'.repeat(1_000), /has elements 64 deep/],
])('a file with %s is refused as a whole', async (_, file, why) => {
  await expect(read(file)).rejects.toThrow(why);
});

test.each([
  ['a text', `${OPEN}<Nm>`],
  ['a comment', `${OPEN}<!--`],
  ['a name', `${OPEN}<N`],
  ['an attribute', `${OPEN}<Nm a="`],
])('%s without end is refused before it fills the memory', async (_, beginning) => {
  const sent = { bytes: 0 };
  await expect(readAll(readCamt, endless(beginning, sent))).rejects.toThrow('more than 1 MiB');
  expect(sent.bytes).toBeLessThan(3 * 1024 * 1024);
});
