import { CommandRefusal, Failure } from '../../domain/failures';
import { recordAct, type Actor } from '../audit';
import type { StatementStatus } from '../bank-statement/statement';
import { row, rows, type Database, type Executor, type Transaction } from '../connection';
import type { Keyring } from '../keys/keyring';
import { resolveAsOperator } from './operator';

/**
 * Ends what a wrong file has opened: that of another account, or of another bank. Each exception is
 * resolved by itself, as an operator would, with its own record. What another statement tells of as
 * well stays: the file was wrong, and the difference is not. Nor does the file vouch any more that
 * its bank has booked what is in it.
 */

export interface Dismissed {
  /** How many were resolved. */
  dismissed: number;
  /** How many stay, for another statement tells of them, too. */
  toldByOthers: number;
}

/** Differences looked at in one statement of SQL. */
const PAGE = 1_000;

/**
 * Goes on where it was interrupted, as what is resolved is passed over.
 *
 * @param timeZone of the network, for the ledger's day
 * @param beat told how many were resolved so far
 * @throws Failure not_found; CommandRefusal (it is still being matched)
 */
export async function dismissWithStatement(
  db: Database,
  keyring: Keyring,
  timeZone: string,
  by: Actor,
  statementId: string,
  beat: (dismissed: number) => void,
): Promise<Dismissed> {
  await requireEnded(db, statementId);
  await db.transaction((trx) => mark(trx, by, statementId));
  const result: Dismissed = { dismissed: 0, toldByOthers: 0 };
  let after = -1;
  for (;;) {
    const page = await rows<{ position: number; exceptionId: string | null; shared: boolean }>(
      db,
      `SELECT d.position, x.id AS "exceptionId", EXISTS (
         SELECT FROM bank_statement_differences o JOIN bank_statements s ON s.id = o.statement_id
         WHERE o.exception_id = d.exception_id AND o.statement_id <> d.statement_id AND s.dismissed_at IS NULL) AS shared
       FROM bank_statement_differences d LEFT JOIN reconciliation_exceptions x ON x.id = d.exception_id
         AND x.state <> 'resolved' AND x.kind IN ('unknown_here', 'missing_at_bank', 'amount_differs')
       WHERE d.statement_id = :statementId AND d.position > :after ORDER BY d.position LIMIT ${PAGE}`,
      { statementId, after },
    );
    const open = new Map(page.flatMap((one) => (one.exceptionId === null ? [] : [[one.exceptionId, one]])));
    for (const [exceptionId, { shared }] of open) {
      if (shared) result.toldByOthers += 1;
      else if (await dismiss(db, keyring, timeZone, by, statementId, exceptionId)) result.dismissed += 1;
    }
    beat(result.dismissed);
    const last = page[PAGE - 1];
    if (last === undefined) return result;
    after = last.position;
  }
}

async function requireEnded(db: Executor, statementId: string): Promise<void> {
  const statement = await row<{ status: StatementStatus }>(
    db,
    `SELECT status FROM bank_statements WHERE id = :statementId`,
    { statementId },
  );
  if (!statement) throw new Failure('not_found', 'There is no such statement.');
  if (statement.status === 'processing') {
    throw new CommandRefusal('The statement is still being matched: wait until it is completed.');
  }
}

async function mark(trx: Transaction, by: Actor, statementId: string): Promise<void> {
  const marked = await row<{ bankId: string }>(
    trx,
    `UPDATE bank_statements SET dismissed_at = clock_timestamp() WHERE id = :statementId AND dismissed_at IS NULL
     RETURNING bank_id AS "bankId"`,
    { statementId },
  );
  if (!marked) return;
  await recordAct(trx, by, {
    action: 'statement.dismissed',
    entityId: marked.bankId,
    after: { statementId },
  });
}

/** @returns false where somebody else has resolved it otherwise */
async function dismiss(
  db: Database,
  keyring: Keyring,
  timeZone: string,
  by: Actor,
  statementId: string,
  exceptionId: string,
): Promise<boolean> {
  try {
    await db.transaction(async (trx) => {
      const finding = { resolution: 'no_difference', bankTransactionId: null } as const;
      await resolveAsOperator(trx, keyring, timeZone, by, exceptionId, finding);
      await rows(
        trx,
        `UPDATE reconciliation_exceptions SET dismissed_with = :statementId WHERE id = :exceptionId`,
        { statementId, exceptionId },
      );
    });
    return true;
  } catch (error) {
    if (error instanceof Failure && error.code === 'already_resolved') return false;
    throw error;
  }
}
