import type { BookableDays } from '../../src/files/bank-file/line';
import type { ReadLine } from '../../src/domain/books/bank-file';

type Reader = (
  chunks: AsyncIterable<Buffer>,
  days: BookableDays,
  reach: (currency: string, day: string) => void,
  begin: (day: string) => void,
) => AsyncIterable<ReadLine>;

/** Whenever the samples are read. */
export const DAYS: BookableDays = { timeZone: 'Africa/Lagos', first: '2021-03-02' };

/** All lines of a file that comes in pieces. */
export function readFile(reader: Reader, file: string | Buffer, size = 1_000): Promise<ReadLine[]> {
  return readAll(reader, piecesOf(Buffer.from(file), size));
}

export async function readAll(reader: Reader, chunks: AsyncIterable<Buffer>): Promise<ReadLine[]> {
  const lines: ReadLine[] = [];
  for await (const line of reader(
    chunks,
    DAYS,
    () => undefined,
    () => undefined,
  ))
    lines.push(line);
  return lines;
}

async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Buffer, void, void> {
  await Promise.resolve();
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Far more than any reader should want of what goes on without end. */
const ENDLESS_BYTES = 8 * 1024 * 1024;

/** A beginning, and then the same again and again, for as long as it is read. */
export async function* endless(
  beginning: string,
  sent: { bytes: number },
  again = 'x',
): AsyncGenerator<Buffer, void, void> {
  await Promise.resolve();
  yield Buffer.from(beginning);
  const chunk = Buffer.from(again.repeat(Math.ceil((16 * 1024) / again.length)));
  for (; sent.bytes < ENDLESS_BYTES; sent.bytes += chunk.length) yield chunk;
}

/** A line of the samples, in naira unless `more` says otherwise. */
export const sampleLine = (n: number, id: string, day: string, amount: bigint, more: object = {}) => ({
  line: n,
  bankTransactionId: id,
  bookingDate: day,
  bookedOn: day,
  amount,
  currency: 'NGN',
  direction: 'debit',
  reference: null,
  isReversal: false,
  ...more,
});
