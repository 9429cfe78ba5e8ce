import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { array, assert, asyncProperty, constantFrom, string } from 'fast-check';
import { csvRecords, type CsvRecord } from '../../src/files/bank-file/read-csv';
import { csvOf } from '../../src/files/write-csv';

const written = (columns: string[], records: object[]) =>
  text(Readable.from(records).pipe(csvOf({ columns })));

const typed = string({
  unit: constantFrom('=', '+', '-', '@', ';', '\t', '\r', '\n', '"', ',', ' ', "'", 'x', '1', '＝'),
  maxLength: 12,
});
test('no spreadsheet finds a formula, whatever is typed and wherever it splits; our reader finds the text', async () => {
  await assert(
    asyncProperty(
      array(
        typed.filter((note) => note !== ''),
        { minLength: 1 },
      ),
      async (notes) => {
        const records = notes.map((note, id) => ({ id, note }));
        const file = await written(['id', 'note'], records);
        const lines = (await Readable.from(csvRecords(Readable.from([file]))).toArray()) as CsvRecord[][];
        const [, ...read] = lines.flat().map(({ fields }) => fields);
        expect(read.map((fields) => fields?.[0])).toEqual(notes.map((_, id) => String(id)));
        expect(read.map((fields) => fields?.[1]?.replaceAll("'", ''))).toEqual(
          notes.map((note) => note.replaceAll("'", '')),
        );
        const cells = [...read.map((fields) => fields?.[1] ?? ''), ...file.split(/[;\t\r\n]/)];
        expect(cells.filter((cell) => /^[\s"]*[=+\-@＝]/.test(cell))).toEqual([]);
      },
    ),
  );
});

test('no spreadsheet finds a formula in metadata, which stays the same JSON', async () => {
  const file = await written(['metadata'], [{ metadata: { orderId: 'x;=1+2' } }]);
  expect(file).toContain(`"{""orderId"":""x;'=1+2""}"`);
});
