import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { openNextExceptions } from '../database/bank-statement/difference';
import { endExplainedByLines, matchNextPage, type Matching } from '../database/bank-statement/match';
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
 * Matches a bank's file. Each call does a part of its step and says how far it is, for an operator
 * to see. How far it has come is in the database, so a page counts once, however often it is tried.
 */
export interface BankStatementActivities {
  /** Matches the next lines with what the bank is to book, and opens what differs. */
  matchLines(statementId: string): Promise<StatementProgress>;
  /** Ends what the lines explain, looks for what the bank's files lack, and completes the file. */
  findMissingAtBank(statementId: string): Promise<StatementProgress>;
}

/**
 * Pages of one call: 50 000 lines, some seconds. A file at its largest has a few hundred such
 * calls, which one history holds.
 */
const PAGES = 50;

/** @param settings the network's zone, and how many business days its banks have to book */
export function createBankStatementActivities(
  db: Database,
  keyring: Keyring,
  settings: Pick<Matching, 'timeZone' | 'bookingDays'>,
  log: Pick<Logger, 'info'>,
): BankStatementActivities {
  async function step(
    statementId: string,
    nextPage: (matching: Matching, statementId: string) => Promise<boolean>,
  ): Promise<StatementProgress> {
    const { cancellationSignal } = Context.current();
    let finished = false;
    // A worker that stops ends this early; another goes on.
    for (let page = 0; page < PAGES && !finished && !cancellationSignal.aborted; page++) {
      Context.current().heartbeat();
      finished = !(await nextPage(matchingOf(statementId), statementId));
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

  function matchingOf(statementId: string): Matching {
    const activity = Context.current();
    const beat = () => {
      activity.heartbeat();
    };
    return { db, keyring, ...settings, workflowId: workflowIds.bankStatement(statementId), beat };
  }

  return {
    matchLines: (statementId) =>
      step(statementId, async (matching) => {
        const isMatched = await matchNextPage(matching, statementId);
        return (await openNextExceptions(matching, statementId)) || isMatched;
      }),
    async findMissingAtBank(statementId) {
      await endExplainedByLines(matchingOf(statementId), statementId);
      return step(statementId, findMissing);
    },
  };
}
