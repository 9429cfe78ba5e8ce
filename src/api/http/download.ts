import { createHash } from 'node:crypto';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import type { Response } from 'express';

/** An answer of any length, as a CSV file that is made while it is sent. */
export interface Download {
  fileName: string;
  /** Names of the header and of the fields; other fields of a record are left out. */
  columns: readonly string[];
  /** Columns of numbers, where a leading minus is no formula. */
  numbers?: readonly string[];
  /** Read as fast as the receiver takes it, so a file of any length needs the same memory. */
  pages: AsyncGenerator<object[], void, void>;
  /** Told of the SHA-256 of the file, in hexadecimal, once the receiver has all of it. */
  sent?: (sha256: string) => Promise<void>;
}

/**
 * Sends the file as RFC 4180 has it. A failure before the first row is thrown; a later one cuts the
 * connection, which tells a receiver that the file is not whole.
 */
export async function sendDownload(res: Response, file: Download): Promise<void> {
  const { fileName, pages, sent } = file;
  const first = await pages.next();
  res.status(200);
  res.set('Content-Type', 'text/csv; charset=utf-8; header=present');
  res.set('Content-Disposition', `attachment; filename="${fileName}"`);
  const csv = csvOf(file);
  const hash = createHash('sha256');
  if (sent) csv.on('data', (chunk: Buffer) => hash.update(chunk));
  try {
    await pipeline(Readable.from(recordsOf(pages, first)), csv, res);
  } catch (error) {
    // The receiver hung up.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    return;
  }
  await sent?.(hash.digest('hex'));
}

/** The SHA-256, in hexadecimal, of the file as it would be sent. */
export async function sha256Of(file: Pick<Download, 'columns' | 'pages'>): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(Readable.from(recordsOf(file.pages)), csvOf(file), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) hash.update(chunk);
  });
  return hash.digest('hex');
}

/** Writes the file as it would be sent. The stream stays open. */
export async function writeCsv(
  file: Pick<Download, 'columns' | 'numbers' | 'pages'>,
  to: Writable,
): Promise<void> {
  await pipeline(Readable.from(recordsOf(file.pages)), csvOf(file), to, { end: false });
}

/** Ids, dates, states and amounts are the same cell in every spreadsheet; other text is quoted. */
const TEXT = /[^\w.:+-]/;

const csvOf = ({ columns, numbers = [] }: Pick<Download, 'columns' | 'numbers'>) =>
  stringify({
    header: true,
    columns: [...columns],
    cast: {
      string: (value: string, { column }) => (numbers.includes(String(column)) ? value : harmless(value)),
      date: (value: Date) => value.toISOString(),
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

async function* recordsOf(
  pages: AsyncGenerator<object[], void, void>,
  first?: IteratorResult<object[], void>,
): AsyncGenerator<object, void, void> {
  if (first && !first.done) yield* first.value;
  for await (const page of pages) yield* page;
}
