import { createHash } from 'node:crypto';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import type { Response } from 'express';

/** An answer of any length, as a CSV file that is made while it is sent. */
export interface Download {
  fileName: string;
  /**
   * Header names, which are the names of the fields; of records with more fields, these alone are
   * written.
   */
  columns: readonly string[];
  /** Columns of numbers, which nobody types: there a leading minus is no formula. */
  numbers?: readonly string[];
  /**
   * Read only as fast as the receiver takes it, so what is in memory stays the same however long
   * the file is.
   */
  pages: AsyncGenerator<object[], void, void>;
  /** Told of the SHA-256 of the file, in hexadecimal, once the receiver has all of it. */
  sent?: (sha256: string) => Promise<void>;
}

/**
 * Sends the file, in the form of RFC 4180. Text is quoted, and each formula in it is led by an
 * apostrophe (`harmless`), for people type some of the cells.
 *
 * Whatever goes wrong before the first row is ready is thrown with nothing sent; later the
 * connection is cut, which is how a receiver tells a broken file from a whole one.
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
    // A receiver that hangs up has had what it wanted; that is nobody's fault.
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

/** Writes the file as it would be sent, as fast as it is taken. The stream stays open. */
export async function writeCsv(
  file: Pick<Download, 'columns' | 'numbers' | 'pages'>,
  to: Writable,
): Promise<void> {
  await pipeline(Readable.from(recordsOf(file.pages)), csvOf(file), to, { end: false });
}

/** Our ids, dates, states and amounts: they are the same cell in every spreadsheet. */
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
 * A spreadsheet runs a cell that begins like this, be it behind blanks or quotes. One that splits
 * lines at semicolons or tabs heeds no quotes behind our commas, and finds cells within a cell.
 */
const FORMULA = /(^|[;\t\r\n])((?:"|[^\S\t\r\n])*)([=+\-@＝＋－＠])/g;

/** The text with an apostrophe before each formula that a spreadsheet could find in it. */
const harmless = (text: string): string => text.replace(FORMULA, "$1$2'$3");

async function* recordsOf(
  pages: AsyncGenerator<object[], void, void>,
  first?: IteratorResult<object[], void>,
): AsyncGenerator<object, void, void> {
  if (first && !first.done) yield* first.value;
  for await (const page of pages) yield* page;
}
