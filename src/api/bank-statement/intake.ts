import { createHash } from 'node:crypto';
import {
  acceptStatement,
  discardPages,
  PAGE_LINES,
  stagePage,
  tooManyLines,
  type ArrivedStatement,
  type CoveredDays,
  type LinesLimit,
  type Statement,
} from '../../database/bank-statement/statement';
import type { Database, Transaction } from '../../database/connection';
import { newId } from '../../database/ids';
import { enqueueStarts } from '../../database/outbox';
import { todayOf } from '../../database/today';
import { isMalformed, type ReadLine } from '../../domain/books/bank-statement';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import type { Config } from '../../config';
import { readCamt } from './camt';
import { readCsv } from './csv';
import { invalidRequest } from '../http/validation';
import { MALFORMED_MAX, tooManyMalformed } from './line';

/**
 * Takes a statement in, while it arrives: a file of any length costs the same memory. Its lines
 * wait in the database, page by page, with nothing of the file but what is compared.
 */

/** By the type of the body that brings it. */
export const FORMATS = { 'text/csv': readCsv, 'application/xml': readCamt } as const;
export type StatementType = keyof typeof FORMATS;

export const linesLimit = (
  config: Pick<Config, 'STATEMENT_LINES_PER_DAY' | 'NETWORK_TIMEZONE'>,
): LinesLimit => ({
  linesPerDay: config.STATEMENT_LINES_PER_DAY,
  timeZone: config.NETWORK_TIMEZONE,
});

/**
 * The days that a bank says its file covers.
 *
 * @throws Failure invalid_request
 */
export async function coveredDays(
  db: Database,
  bankId: string,
  timeZone: string,
  { from, through }: { from?: string | undefined; through?: string | undefined },
): Promise<CoveredDays> {
  const today = await todayOf(db, bankId, timeZone);
  if (through !== undefined && through > today) {
    const message = `is later than ${today}, the day that it is for the bank`;
    throw invalidRequest([{ path: 'query.through', message }]);
  }
  if (from !== undefined && through !== undefined && from > through) {
    throw invalidRequest([{ path: 'query.from', message: 'must not be later than through' }]);
  }
  return { from: from ?? null, through: through ?? null, today };
}

/**
 * Reads a file to its end, and has its lines wait.
 *
 * @throws Failure invalid_request where it is no statement, rate_limited where it alone has more
 *   lines than a day; nothing of it stays then
 */
export async function stageStatement(
  db: Database,
  type: StatementType,
  bytes: AsyncIterable<Buffer>,
  covered: CoveredDays,
  limit: LinesLimit,
): Promise<ArrivedStatement> {
  const statementId = newId('statement');
  const hash = createHash('sha256');
  const facts = new Facts(covered.today);
  const days = { timeZone: limit.timeZone, first: firstBookable(covered.today) };
  const reach = (currency: string, day: string) => facts.reach(currency, day);
  let page: ReadLine[] = [];
  async function stage(): Promise<void> {
    await stagePage(db, statementId, facts.lines - page.length, page);
    page = [];
  }
  try {
    for await (const line of FORMATS[type](hashed(bytes, hash), days, reach)) {
      facts.add(line);
      if (facts.lines > limit.linesPerDay) throw await tooManyLines(db, limit);
      if (facts.malformed > MALFORMED_MAX) throw tooManyMalformed();
      page.push(line);
      if (page.length === PAGE_LINES) await stage();
    }
    if (page.length > 0) await stage();
    const { lines, firstDay, reaches } = facts;
    return { statementId, sha256: hash.digest(), lines, firstDay, reaches, covered };
  } catch (error) {
    // What cannot be discarded now is swept away later.
    await discardPages(db, statementId).catch(() => undefined);
    throw error;
  }
}

/** No bank books, or sends, what is older: a year that is written wrong is. */
const BOOKABLE_YEARS = 5;

const firstBookable = (today: string) => `${Number(today.slice(0, 4)) - BOOKABLE_YEARS}${today.slice(4)}`;

/** What is told of a file as a whole. */
class Facts {
  lines = 0;
  malformed = 0;
  firstDay: string | null = null;
  readonly reaches: Record<string, string> = {};

  constructor(private readonly today: string) {}

  add(line: ReadLine): void {
    this.lines += 1;
    if (isMalformed(line)) {
      this.malformed += 1;
      return;
    }
    const { bookingDate, currency } = line;
    if (this.firstDay === null || bookingDate < this.firstDay) this.firstDay = bookingDate;
    this.reach(currency, bookingDate);
  }

  /** A later day counts as the bank's today: no file tells of days to come. */
  reach(currency: string, day: string): void {
    const reached = day > this.today ? this.today : day;
    if (reached > (this.reaches[currency] ?? '')) this.reaches[currency] = reached;
  }
}

async function* hashed(
  bytes: AsyncIterable<Buffer>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Buffer, void, void> {
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
}

/**
 * Has a statement matched by its workflow; one that is there already is not matched again, and its
 * pages are the caller's to discard.
 *
 * @throws Failure rate_limited where the bank has sent enough lines today
 */
export async function startStatement(
  trx: Transaction,
  bankId: string,
  arrived: ArrivedStatement,
  limit: LinesLimit,
): Promise<Statement & { isNew: boolean }> {
  const statement = await acceptStatement(trx, bankId, arrived, limit);
  if (statement.isNew) {
    const { statementId, lines } = arrived;
    await enqueueStarts(trx, [
      {
        workflowId: workflowIds.bankStatement(statementId),
        attributes: { status: statement.status, bankId },
        summary: workflowSummary.bankStatement({ lines, bankId }),
      },
    ]);
  }
  return statement;
}
