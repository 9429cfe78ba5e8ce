import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { csvOf, recordsOf, type CsvFile } from '../../files/write-csv';
import { isBehind, TICK_MS, type Pace } from './body';

/** An answer of any length, as a CSV file that is made while it is sent. */
export interface Download extends CsvFile {
  fileName: string;
  /** Told of the SHA-256 of the file, in hexadecimal, once the receiver has all of it. */
  sent?: (sha256: string) => Promise<void>;
}

/** A receiver may pause for half a minute in all; a slower one would hold a slot for hours. */
const PACE: Pace = { graceMs: 30_000, leastBytesPerS: 32 * 1024 };

/** Makes the rows of a file from records. */
export async function* rowsOf<One>(read: AsyncIterable<One[]>, row: (one: One) => object) {
  for await (const page of read) yield page.map(row);
}

/**
 * Sends the file as RFC 4180 has it. A failure before the first row is thrown; a later one cuts the
 * connection, which tells a receiver that the file is not whole. So does a receiver that takes too
 * little.
 */
export async function sendDownload(res: Response, file: Download): Promise<void> {
  const { fileName, pages, sent } = file;
  const first = await pages.next();
  res.status(200);
  res.set('Content-Type', 'text/csv; charset=utf-8; header=present');
  res.set('Content-Disposition', `attachment; filename="${fileName}"`);
  const csv = csvOf(file);
  const hash = createHash('sha256');
  let bytes = 0;
  csv.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (sent) hash.update(chunk);
  });
  let waitedMs = 0;
  const watch = setInterval(() => {
    if (res.writableNeedDrain || res.writableEnded) waitedMs += TICK_MS;
    if (isBehind(PACE, waitedMs, bytes)) res.destroy();
  }, TICK_MS);
  let ended: Promise<unknown> | undefined;
  const end = () => (ended ??= pages.return());
  // A reader is stopped at a row alone: pages without rows would be read on.
  res.once('close', () => void end().catch(() => undefined));
  try {
    await pipeline(Readable.from(recordsOf(pages, first)), csv, res);
  } catch (error) {
    // The receiver hung up.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    return;
  } finally {
    clearInterval(watch);
    await end();
  }
  await sent?.(hash.digest('hex'));
}
