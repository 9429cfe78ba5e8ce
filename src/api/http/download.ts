import { Readable } from 'node:stream';
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
  /**
   * Read only as fast as the receiver takes it, so what is in memory stays the same however long
   * the file is.
   */
  pages: AsyncGenerator<object[], void, void>;
}

/**
 * Sends the file, in the form of RFC 4180. Cells that a spreadsheet would run as a formula are led
 * by an apostrophe, for people type some of what is in them.
 *
 * Whatever goes wrong before the first row is ready is thrown with nothing sent; later the
 * connection is cut, which is how a receiver tells a broken file from a whole one.
 */
export async function sendDownload(res: Response, { fileName, columns, pages }: Download): Promise<void> {
  const first = await pages.next();
  res.status(200);
  res.set('Content-Type', 'text/csv; charset=utf-8; header=present');
  res.set('Content-Disposition', `attachment; filename="${fileName}"`);
  const csv = stringify({
    header: true,
    columns: [...columns],
    escape_formulas: true,
    record_delimiter: 'windows',
    // Of line breaks, the writer by itself quotes its own delimiter alone.
    quoted_match: /[\r\n]/,
  });
  try {
    await pipeline(Readable.from(recordsOf(first, pages)), csv, res);
  } catch (error) {
    // A receiver that hangs up has had what it wanted; that is nobody's fault.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

async function* recordsOf(
  first: IteratorResult<object[], void>,
  rest: AsyncGenerator<object[], void, void>,
): AsyncGenerator<object, void, void> {
  if (!first.done) yield* first.value;
  for await (const page of rest) yield* page;
}
