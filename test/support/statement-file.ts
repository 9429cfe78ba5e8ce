import type { BookableDays } from '../../src/database/bank-statement/statement';
import type { ReadLine } from '../../src/domain/bank-statement';

type Reader = (chunks: AsyncIterable<Buffer>, days: BookableDays) => AsyncIterable<ReadLine>;

/** Whenever the samples are read. */
const DAYS: BookableDays = { timeZone: 'Africa/Lagos', first: '2021-03-02', last: '2026-12-31' };

/** All lines of a file that comes in pieces. */
export function readFile(reader: Reader, file: string | Buffer, size = 1_000): Promise<ReadLine[]> {
  return readAll(reader, piecesOf(Buffer.from(file), size));
}

export async function readAll(reader: Reader, chunks: AsyncIterable<Buffer>): Promise<ReadLine[]> {
  const lines: ReadLine[] = [];
  for await (const line of reader(chunks, DAYS)) lines.push(line);
  return lines;
}

async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Buffer, void, void> {
  await Promise.resolve();
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** A beginning, and then as much of nothing as is read. */
export async function* endless(
  beginning: string,
  sent: { bytes: number },
): AsyncGenerator<Buffer, void, void> {
  await Promise.resolve();
  yield Buffer.from(beginning);
  for (const chunk = Buffer.alloc(16 * 1024, 'x'); ; sent.bytes += chunk.length) yield chunk;
}

/** A line of the samples, in naira unless `more` says otherwise. */
export const sampleLine = (n: number, id: string, day: string, amount: bigint, more: object = {}) => ({
  line: n,
  bankTransactionId: id,
  bookingDate: day,
  amount,
  currency: 'NGN',
  direction: 'debit',
  reference: null,
  ...more,
});
