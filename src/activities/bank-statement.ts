import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { Matching } from '../database/bank-statement/answer';
import { matchNextPage } from '../database/bank-statement/match';
import { endKnownByNow } from '../database/bank-statement/known-by-now';
import { findMissing } from '../database/bank-statement/missing';
import { statementProgress, type StatementStatus } from '../database/bank-statement/statement';
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
 * Matches a statement of a bank. Each call does a part of its step and says how far it is, for an
 * operator to see. How far it has come is in the database, so a page counts once, however often it
 * is tried.
 */
export interface BankStatementActivities {
  /** Compares the next lines with what the network has. */
  matchLines(statementId: string): Promise<StatementProgress>;
  /**
   * Looks for what settled in the statement's days and is in none; then the statement is completed.
   */
  findMissingAtBank(statementId: string): Promise<StatementProgress>;
}

/**
 * Pages of one call: 50 000 lines, some seconds. A file at its largest has a few hundred such
 * calls, which one history holds.
 */
const PAGES = 50;

/** @param timeZone of the network */
export function createBankStatementActivities(
  db: Database,
  keyring: Keyring,
  timeZone: string,
  log: Pick<Logger, 'info'>,
): BankStatementActivities {
  function matchingOf(statementId: string): Matching {
    const activity = Context.current();
    const workflowId = workflowIds.bankStatement(statementId);
    const beat = () => {
      activity.heartbeat();
    };
    return { db, keyring, timeZone, workflowId, beat };
  }

  async function step(
    statementId: string,
    nextPage: (matching: Matching, statementId: string) => Promise<number | undefined>,
  ): Promise<StatementProgress> {
    const activity = Context.current();
    const matching = matchingOf(statementId);
    let finished = false;
    // A worker that stops ends this early; another goes on.
    for (let page = 0; page < PAGES && !activity.cancellationSignal.aborted; page++) {
      activity.heartbeat();
      finished = (await nextPage(matching, statementId)) === undefined;
      if (finished) break;
    }
    const { status, done, summary } = await statementProgress(db, statementId);
    const { lines, matched, duplicates, unknownHere, missingAtBank, amountDiffers, malformed } = summary;
    log.info({ statementId, status, done, lines }, 'a bank statement goes on');
    return {
      status,
      finished,
      done,
      lines,
      counts: `${matched} matched, ${counted(duplicates, 'duplicates')}, ${unknownHere} unknown here, ${missingAtBank} missing at the bank, ${amountDiffers} with another amount, ${malformed} malformed`,
    };
  }

  return {
    matchLines: (statementId) => step(statementId, matchNextPage),
    async findMissingAtBank(statementId) {
      await endKnownByNow(matchingOf(statementId), statementId);
      return step(statementId, findMissing);
    },
  };
}
