import { createHash, type Hash } from 'node:crypto';
import {
  discardPages,
  leftOfDay,
  PAGE_LINES,
  sentEnough,
  stagePage,
  type ArrivedBankFile,
} from '../../database/bank-file/receive-bank-file';
import type { Database } from '../../database/pool/connection';
import { newId } from '../../database/identifier/new-id';
import { todayOf } from '../../database/clock/moment';
import type { ReadLine } from '../../domain/books/bank-file';
import { invalidRequest } from '../../domain/failures';
import { readCamt } from './read-camt';
import { readCsv } from './read-csv';

/**
 * Takes a bank file in, while it arrives: a file of any length costs the same memory. Its lines
 * wait in the database, page by page, with nothing of the file but what is compared.
 */

/** By the type of the body that brings it. */
const FORMATS = {
  'text/csv': readCsv,
  'application/xml': readCamt,
  'application/octet-stream': readEither,
};

export type BankFileType = keyof typeof FORMATS;

/** No bank books or sends an older day; a mistyped year is older. */
const BOOKABLE_YEARS = 5;

/** Three of a byte order mark, and the first of the document. */
const HEAD_BYTES = 4;

/** Generated clients send a file as bytes, whatever its form. */
async function* readEither(...[chunks, ...also]: Parameters<typeof readCamt>) {
  const rest = chunks[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  async function* whole() {
    yield head;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  try {
    for (let next; head.length < HEAD_BYTES && !(next = await rest.next()).done;)
      head = Buffer.concat([head, next.value]);
    yield* (/^\ufeff?</.test(head.toString()) ? readCamt : readCsv)(whole(), ...also);
  } finally {
    // A file that is refused for its head leaves the rest unread, and its decoder in its place.
    await rest.return?.();
  }
}

/** The days that a bank says its file covers. */
export interface CoveredDays {
  from?: string | undefined;
  through?: string | undefined;
}

interface ArrivingFile extends CoveredDays {
  bankId: string;
  type: BankFileType;
  bytes: AsyncIterable<Buffer>;
}

/**
 * Reads a file to its end, and has as many of its lines wait as are left of the bank's day.
 *
 * @throws Failure invalid_request where it is no bank file or the days are wrong, rate_limited
 *   where it alone has more lines than a day; nothing of it stays then
 */
export async function stageBankFile(
  db: Database,
  linesPerDay: number,
  { bankId, type, bytes, from, through }: ArrivingFile,
): Promise<ArrivedBankFile> {
  const today = await todayOf(db, bankId);
  requireInOrder(from, through, today);
  const left = await leftOfDay(db, bankId, linesPerDay);
  const mayBeStaged = left.files > 0 ? left.lines : 0;
  const statementId = newId('statement');
  const hash = createHash('sha256');
  // No file tells of days to come: a later day counts as the bank's today.
  const notLater = (day: string) => (day > today ? today : day);
  const reaches: Record<string, string> = through === undefined ? {} : { '*': through };
  const reach = (currency: string, day: string) => {
    const reached = notLater(day);
    if (reached > (reaches[currency] ?? '')) reaches[currency] = reached;
  };
  const firstYear = Number(today.slice(0, 4)) - BOOKABLE_YEARS;
  const days = { timeZone: db.timeZone, first: `${firstYear}${today.slice(4)}` };
  let firstDay: string | undefined;
  let periodBegin: string | undefined;
  const begin = (day: string) => {
    if (periodBegin === undefined || day < periodBegin) periodBegin = day;
  };
  let lines = 0;
  let page: ReadLine[] = [];
  async function stage(): Promise<void> {
    if (page.length > 0) await stagePage(db, statementId, lines - page.length, page);
    page = [];
  }
  try {
    for await (const line of FORMATS[type](hashed(bytes, hash), days, reach, begin)) {
      if (++lines > linesPerDay) throw await sentEnough(db, linesPerDay);
      if (!('problem' in line)) {
        reach(line.currency, line.bookingDate);
        if (firstDay === undefined || line.bookingDate < firstDay) firstDay = line.bookingDate;
      }
      // The file is read on for its hash: a file that the bank has sent before gets its old answer.
      if (lines > mayBeStaged) continue;
      page.push(line);
      if (page.length === PAGE_LINES) await stage();
    }
    if (lines <= mayBeStaged) await stage();
  } catch (error) {
    // The sweep takes away pages that cannot be discarded now.
    await discardPages(db, statementId).catch(() => undefined);
    throw error;
  }
  const begins = from ?? firstDay ?? periodBegin ?? through;
  return {
    statementId,
    sha256: hash.digest(),
    lines,
    isStaged: lines <= mayBeStaged,
    begins: begins === undefined ? null : notLater(begins),
    reaches,
    from: from ?? null,
    through: through ?? null,
  };
}

/** @throws Failure invalid_request */
function requireInOrder(from: string | undefined, through: string | undefined, today: string): void {
  for (const [name, day] of Object.entries({ through, from })) {
    if (day === undefined || day <= today) continue;
    const message = `is later than ${today}, the day that it is for the bank`;
    throw invalidRequest([{ path: `query.${name}`, message }]);
  }
  if (from !== undefined && through !== undefined && from > through) {
    throw invalidRequest([{ path: 'query.from', message: 'must not be later than through' }]);
  }
}

async function* hashed(bytes: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer, void, void> {
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
}
