import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import { wallClock } from '../domain/calendar';

/** A CSV file of any length, which is made while it is read. */
export interface CsvFile {
  /** Header names, which are the names of the fields; a record's other fields are not written. */
  columns: readonly string[];
  /** Columns of computed numbers: their leading minus is no formula. */
  numbers?: readonly string[];
  /** Zone of the times, as `2026-03-02 09:00:00`; without it they are instants of RFC 3339. */
  timeZone?: string;
  /** Read only as fast as the file is taken, so its memory stays the same at any length. */
  pages: AsyncGenerator<object[], void, void>;
}

/** Gives the bytes of the file to `take`, as fast as that takes them. */
export const eachChunk = (file: CsvFile, take: (chunk: Buffer) => unknown): Promise<void> =>
  pipeline(Readable.from(recordsOf(file.pages)), csvOf(file), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) await take(chunk);
  });

/** Ids, dates, states and amounts are the same cell in every spreadsheet; other text is quoted. */
const TEXT = /[^\w.:+-]/;

/** Makes the bytes of records, as RFC 4180 has them. */
export const csvOf = ({ columns, numbers = [], timeZone }: Omit<CsvFile, 'pages'>) =>
  stringify({
    header: true,
    columns: [...columns],
    cast: {
      string: (value: string, { column }) => (numbers.includes(String(column)) ? value : harmless(value)),
      date: (value: Date) =>
        timeZone === undefined ? value.toISOString() : wallClock(value, timeZone).replace('T', ' '),
      object: (value: object) => harmless(JSON.stringify(value)),
    },
    record_delimiter: 'windows',
    quoted_match: TEXT,
  });

/**
 * The beginning of a cell that a spreadsheet runs, also behind blanks or quotes. A spreadsheet that
 * splits lines at semicolons or tabs finds cells within a cell.
 */
const FORMULA = /(^|[;\t\r\n])((?:"|[^\S\t\r\n])*)([=+\-@＝＋－＠])/g;

/** The text with an apostrophe before each formula. */
const harmless = (text: string): string => text.replace(FORMULA, "$1$2'$3");

/**
 * The records of pages. A stream that is cut throws into its iterator; `yield*` would pass that on
 * to an array's, which has no `throw`.
 */
export async function* recordsOf(
  pages: AsyncGenerator<object[], void, void>,
  first?: IteratorResult<object[], void>,
): AsyncGenerator<object, void, void> {
  if (first && !first.done) for (const record of first.value) yield record;
  for await (const page of pages) for (const record of page) yield record;
}
