import { openNextExceptions } from '../../src/database/bank-statement/difference';
import { endExplainedByLines, matchNextPage, type Matching } from '../../src/database/bank-statement/match';
import { findMissing } from '../../src/database/bank-statement/missing';
import type { Database } from '../../src/database/connection';
import type { Keyring } from '../../src/database/keys/keyring';

/** What the steps of a bank's file need, with the network's defaults. */
export const matchingOf = (db: Database, keyring: Keyring, statementId: string): Matching => ({
  db,
  keyring,
  timeZone: 'Africa/Lagos',
  bookingDays: 2,
  workflowId: `bank-statement/${statementId}`,
});

/** Matches the next page of a file, and opens what differs. @returns whether there may be more */
export async function matchPage(matching: Matching, statementId: string): Promise<boolean> {
  const isMatched = await matchNextPage(matching, statementId);
  return (await openNextExceptions(matching, statementId)) || isMatched;
}

/** Ends what the lines of a file explain, and looks for all that is missing. */
export async function lookForMissing(matching: Matching, statementId: string): Promise<void> {
  await endExplainedByLines(matching, statementId);
  while (await findMissing(matching, statementId));
}

/** Does what the workflow of a bank's file does. */
export async function workOnFile(db: Database, keyring: Keyring, statementId: string): Promise<void> {
  const matching = matchingOf(db, keyring, statementId);
  while (await matchPage(matching, statementId));
  await lookForMissing(matching, statementId);
}
