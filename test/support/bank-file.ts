import { createHash } from 'node:crypto';
import { acceptBankFile, PAGE_LINES, stagePage } from '../../src/database/bank-file/receive-bank-file';
import { newId } from '../../src/database/identifier/new-id';
import type { Direction, ReadLine } from '../../src/domain/books/bank-file';
import { completeBankFile, openDifferences } from '../../src/database/bank-file/open-differences';
import { judgeFile } from '../../src/database/bank-file/judge-file';
import { matchLines, type Matching } from '../../src/database/bank-file/match-lines';
import { findMissing } from '../../src/database/bank-file/find-missing';
import type { Database, Executor } from '../../src/database/pool/connection';
import {
  openExceptions,
  type BookingInDoubt,
  type NewException,
} from '../../src/database/reconciliation-exception/open-exceptions';

/** The steps of a bank's file need it, with the network's defaults. */
export const matchingOf = (db: Database, statementId: string): Matching => ({
  db,
  bookingDays: 2,
  workflowId: `bank-file/${statementId}`,
  heartbeat: () => undefined,
});

/** Ends what the lines of a file explain, looks for all that is missing, and opens what differs. */
export async function lookForMissing(matching: Matching, statementId: string): Promise<void> {
  await judgeFile(matching, statementId);
  await findMissing(matching, statementId);
  await openDifferences(matching, statementId);
  await completeBankFile(matching, statementId);
}

/** Does what the workflow of a bank's file does. */
export async function workOnFile(db: Database, statementId: string): Promise<void> {
  const matching = matchingOf(db, statementId);
  await matchLines(matching, statementId);
  await lookForMissing(matching, statementId);
}

export interface SentLine {
  id: string;
  direction: Direction;
  /** Minor units. */
  amount: number;
  day: string;
  reference?: string;
  isReversal?: boolean;
}

interface Covered {
  from?: string | null;
  through?: string | null;
}

/** A file of the bank in naira, and all that follows of it. @returns its id */
export async function sendFile(
  db: Database,
  bankId: string,
  sent: SentLine[],
  covered: Covered = {},
): Promise<string> {
  const statementId = await acceptFile(db, bankId, sent, covered);
  await workOnFile(db, statementId);
  return statementId;
}

/** A file that waits for its workflow. @returns its id */
export async function acceptFile(
  db: Database,
  bankId: string,
  sent: SentLine[],
  { from = null, through = null }: Covered = {},
): Promise<string> {
  const statementId = newId('statement');
  const lines = sent.map(
    ({ id, direction, amount, day, reference = null, isReversal = false }, n): ReadLine => ({
      line: n + 2,
      bankTransactionId: id,
      bookingDate: day,
      bookedOn: day,
      amount: BigInt(amount),
      currency: 'NGN',
      direction,
      reference,
      isReversal,
    }),
  );
  for (let at = 0; at < lines.length; at += PAGE_LINES)
    await stagePage(db, statementId, at, lines.slice(at, at + PAGE_LINES));
  const days = sent.map(({ day }) => day).toSorted();
  const reached = days.at(-1);
  const arrived = {
    statementId,
    sha256: createHash('sha256').update(statementId).digest(),
    lines: lines.length,
    isStaged: true,
    begins: from ?? days[0] ?? through,
    reaches: { ...(reached !== undefined && { NGN: reached }), ...(through !== null && { '*': through }) },
    from,
    through,
  };
  await db.transaction((trx) => acceptBankFile(trx, bankId, arrived, 1_000_000));
  return statementId;
}

/** Opens the exception of a booking, as a file of the bank does. @returns its id */
export async function openBookingCase(trx: Executor, of: NewException & BookingInDoubt): Promise<string> {
  await trx.rows`SELECT FROM billing_requests WHERE id = ${of.billingRequestId} FOR UPDATE`;
  return String((await openExceptions(trx, 'bank', [of], 'bank-file/stm_1')).get(0));
}
