import { stringify } from 'csv-stringify/sync';
import * as fc from 'fast-check';
import { csvRecords, RECORD_MAX_CHARS, type CsvRecord } from '../../src/files/bank-file/read-csv';

/** CSV as RFC 4180 has it, in pieces of any size. */

async function* piecesOf(text: string, size: number): AsyncGenerator<string> {
  await Promise.resolve();
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

async function recordsOf(text: string, size = text.length + 1): Promise<CsvRecord[]> {
  const records: CsvRecord[] = [];
  for await (const some of csvRecords(piecesOf(text, size))) records.push(...some);
  return records;
}

const fieldsOf = async (text: string, size?: number) =>
  (await recordsOf(text, size)).map(({ fields }) => fields);

const field = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'é'), maxLength: 6 });
const rows = fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { maxLength: 5 });

test.each(['\n', '\r\n', '\r'])(
  'what another program has written is read as it was meant, with %j',
  async (end) => {
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: 9 }), fc.boolean(), async (meant, size, isQuoted) => {
        const text = stringify(meant, { record_delimiter: end, quoted: isQuoted, quoted_match: /[\r\n]/ });
        expect(await fieldsOf(text, size)).toEqual(meant);
      }),
    );
  },
);

test('a text means the same in whatever pieces it comes', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' '), maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 9 }), async (any, size) => {
      expect(await recordsOf(any, size)).toEqual(await recordsOf(any));
    }),
  );
});

const BROKEN = undefined;

test.each<[string, CsvRecord['fields'][]]>([
  ['a,b', [['a', 'b']]],
  [',', [['', '']]],
  ['""', [['']]],
  ['"",""\n', [['', '']]],
  ['"a""b","""",""""""', [['a"b', '"', '""']]],
  ['"a,b"\r\n"c\r\nd"\r\n', [['a,b'], ['c\r\nd']]],
  ['\n\r\n\r\na\n\n', [['a']]],
  [' "a"\nb', [BROKEN, ['b']]],
  ['a"\nb', [BROKEN, ['b']]],
  ['"a"b\nc', [BROKEN, ['c']]],
  ['"a"b,"c\nd', [BROKEN, ['d']]],
  ['a\n"b', [['a'], BROKEN]],
  ['a\n"b\nc\n', [['a'], BROKEN]],
])('%j is what RFC 4180 says of it', async (text, meant) => {
  for (const size of [1, 2, 100]) expect(await fieldsOf(text, size)).toEqual(meant);
});

test('a record is of the line that it ends on, and of the one that it begins on where its quotes are wrong, whichever way lines end', async () => {
  const records = await recordsOf('a\r\n\r\n"b\r\nc\nd\re"\rf\ng\n"h\ni');
  expect(records.map(({ line }) => line)).toEqual([1, 6, 7, 8, 9]);
});

test.each(['a', ',', '"', '"",', '"\n"'])(
  'a record of %j without end is refused at 64 Ki characters',
  async (part) => {
    const most = part.repeat(Math.floor(RECORD_MAX_CHARS / part.length));
    for (const size of [1_000, 1_000_000]) {
      expect((await recordsOf(`a\n"",${most.slice(4)}`, size)).length).toBeGreaterThan(0);
      await expect(recordsOf(`a\n"",${most}`, size)).rejects.toThrow(/line \d+ has more than 64 KiB/);
    }
  },
);
