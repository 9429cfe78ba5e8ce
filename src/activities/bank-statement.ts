import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { endStatement, openNextExceptions } from '../database/bank-statement/difference';
import { endExplainedByLines, matchNextPage, type Matching } from '../database/bank-statement/match';
import { findMissing } from '../database/bank-statement/missing';
import { readStatement, type StatementStatus } from '../database/bank-statement/statement';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keys/keyring';
import { counted } from '../domain/words/counted';
import { workflowIds } from '../domain/workflow/workflow-id';

export interface StatementProgress {
  status: StatementStatus;
  /** Whether this step has come to its end. */
  finished: boolean;
  done: number;
  lines: number;
  /** What the lines came to so far, in words. */
  counts: string;
}

/**
 * Matches a bank's file. Each call does some pages of its step and says how far it is, for an
 * operator to see. How far it has come is in the database, so a page counts once, however often it
 * is tried.
 */
export interface BankStatementActivities {
  /** Matches the next lines with what the bank is to book. */
  matchLines(statementId: string): Promise<StatementProgress>;
  /**
   * Ends what the lines explain, looks for what the bank's files lack, opens what differs, and
   * completes the file.
   */
  findMissingAtBank(statementId: string): Promise<StatementProgress>;
}

/**
 * Pages of one call: 50 000 lines, some seconds. A file at its largest has a few hundred such
 * calls, which one history holds.
 */
const PAGES = 50;

/** Does a page. @returns whether another may be left */
type Part = (matching: Matching, statementId: string) => Promise<boolean>;

/** @param bookingDays business days that banks have to book what settled */
export function createBankStatementActivities(
  db: Database,
  keyring: Keyring,
  bookingDays: number,
  log: Pick<Logger, 'info'>,
): BankStatementActivities {
  /** @returns whether nothing is left */
  async function work(parts: Part[], statementId: string): Promise<boolean> {
    const activity = Context.current();
    const beat = () => activity.heartbeat();
    const matching = { db, keyring, bookingDays, workflowId: workflowIds.bankStatement(statementId), beat };
    let pages = 0;
    for (const part of parts) {
      while (await part(matching, statementId)) {
        beat();
        // A worker that stops ends this early; another goes on.
        if (++pages === PAGES || activity.cancellationSignal.aborted) return false;
      }
    }
    return true;
  }

  const step =
    (...parts: Part[]) =>
    async (statementId: string): Promise<StatementProgress> => {
      const finished = await work(parts, statementId);
      const { status, done, summary } = await readStatement(db, statementId);
      const { lines, matched, duplicates, unknownHere, missingAtBank, amountDiffers, malformed } = summary;
      log.info({ statementId, status, done, lines }, 'a bank statement goes on');
      const counts = `${matched} matched, ${counted(duplicates, 'duplicates')}, ${unknownHere} unknown here, ${missingAtBank} missing at the bank, ${amountDiffers} with another amount, ${malformed} malformed`;
      return { status, finished, done, lines, counts };
    };

  return {
    matchLines: step(matchNextPage),
    findMissingAtBank: step(endExplainedByLines, findMissing, openNextExceptions, endStatement),
  };
}
