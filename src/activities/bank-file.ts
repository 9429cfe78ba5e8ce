import type { Logger } from 'pino';
import { completeBankFile, openDifferences } from '../database/bank-file/open-differences';
import { judgeFile } from '../database/bank-file/judge-file';
import { matchLines, type Matching } from '../database/bank-file/match-lines';
import { findMissing } from '../database/bank-file/find-missing';
import { readBankFile, type BankFileStatus } from '../database/bank-file/receive-bank-file';
import type { Database } from '../database/pool/connection';
import { counted } from '../domain/words/counted';
import { workflowIds } from '../domain/workflow/workflow-id';
import { heartbeat } from './heartbeat';

/**
 * Matches a bank's file, in steps. The database keeps each step's progress: a page counts once, and
 * a retried step goes on.
 */
export interface BankFileActivities {
  matchLines(statementId: string): Promise<void>;
  endExplained(statementId: string): Promise<void>;
  findMissingAtBank(statementId: string): Promise<void>;
  openExceptions(statementId: string): Promise<void>;
  /** @returns the results of the lines, in words */
  completeBankFile(statementId: string): Promise<{ status: BankFileStatus; counts: string }>;
}

/** @param bookingDays business days that banks have to book what settled */
export function createBankFileActivities(
  db: Database,
  bookingDays: number,
  log: Pick<Logger, 'info'>,
): BankFileActivities {
  const matchingOf = (statementId: string): Matching => ({
    db,
    bookingDays,
    workflowId: workflowIds.bankFile(statementId),
    heartbeat,
  });

  return {
    matchLines: (statementId) => matchLines(matchingOf(statementId), statementId),
    endExplained: (statementId) => judgeFile(matchingOf(statementId), statementId),
    findMissingAtBank: (statementId) => findMissing(matchingOf(statementId), statementId),
    openExceptions: (statementId) => openDifferences(matchingOf(statementId), statementId),
    async completeBankFile(statementId) {
      await completeBankFile(matchingOf(statementId), statementId);
      const { status, summary } = await readBankFile(db, statementId);
      const { lines, matched, duplicates, unknownHere, missingAtBank, amountDiffers, malformed, pending } =
        summary;
      log.info({ statementId, status, lines }, 'a bank file has ended');
      const counts = `${matched} matched, ${counted(duplicates, 'duplicates')}, ${unknownHere} unknown here, ${missingAtBank} missing at the bank, ${amountDiffers} with another amount, ${malformed} malformed, ${pending} pending`;
      return { status, counts };
    },
  };
}
