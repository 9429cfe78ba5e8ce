import { completeBankFile, openDifferences } from '../../src/database/bank-file/open-differences';
import type { BookingInDoubt } from '../../src/database/ledger/end-expected-booking';
import { endExceptionsOfFile, matchLines, type Matching } from '../../src/database/bank-file/match-lines';
import { findMissing } from '../../src/database/bank-file/find-missing';
import type { Database, Executor } from '../../src/database/pool/connection';
import {
  openExceptions,
  type NewException,
} from '../../src/database/reconciliation-exception/open-exceptions';

/** The steps of a bank's file need it, with the network's defaults. */
export const matchingOf = (db: Database, statementId: string): Matching => ({
  db,
  bookingDays: 2,
  workflowId: `bank-statement/${statementId}`,
  heartbeat: () => undefined,
});

/** Ends what the lines of a file explain, looks for all that is missing, and opens what differs. */
export async function lookForMissing(matching: Matching, statementId: string): Promise<void> {
  await endExceptionsOfFile(matching, statementId);
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

/** Opens the exception of a booking, as a file of the bank does. @returns its id */
export async function openBookingCase(
  trx: Executor,
  { kind, billingRequestId, refundId, ...booking }: Omit<NewException, 'booking'> & BookingInDoubt,
): Promise<string> {
  await trx.rows`SELECT FROM billing_requests WHERE id = ${billingRequestId} FOR UPDATE`;
  const cases = [{ kind, billingRequestId, refundId, booking }];
  return String((await openExceptions(trx, 'bank', cases, 'bank-statement/stm_1')).get(0));
}
