import { isMalformed, judge } from '../../domain/books/bank-statement';
import { Failure } from '../../domain/failures';
import { answerBillingRequest } from '../billing-request/outcome';
import { row, type Database } from '../connection';
import type { Keyring } from '../keys/keyring';
import { answerRefund } from '../refund/outcome';
import { networks, stated, writeDifferences } from './difference';
import { knownOf } from './known';
import { countExceptions, EXCEPTIONS_OF_FILE, nextPage, type StatementStatus } from './statement';

/** What the lines of a statement are judged with. */
export interface Matching {
  db: Database;
  keyring: Keyring;
  /** Of the network, for the ledger's day. */
  timeZone: string;
  /** Of the workflow that makes the first attempts at what is announced. */
  workflowId: string;
  /** Told before each answer that is taken, of which a page may have as many as lines. */
  beat?: () => void;
}

/**
 * A charge or a refund that is named by its reference, with its amount, by a transaction that
 * nothing else has: the bank has made it, whether its answer was lost, or the network has lost it.
 *
 * @returns where the page is that was looked at; undefined where none is left
 */
export async function takeAnswers(
  { db, keyring, timeZone, beat }: Matching,
  statementId: string,
): Promise<number | undefined> {
  const statement = await row<{ bankId: string; status: StatementStatus; exceptions: number }>(
    db,
    `SELECT bank_id AS "bankId", status, exceptions FROM bank_statements WHERE id = :statementId`,
    { statementId },
  );
  if (statement?.status !== 'processing') return undefined;
  const { bankId } = statement;
  let { exceptions } = statement;
  const page = await nextPage(db, statementId);
  if (!page) return undefined;
  const lines = page.lines.flatMap((one, n) => (isMalformed(one) ? [] : [{ ...one, n }]));
  const known = await knownOf(
    db,
    timeZone,
    bankId,
    lines.filter(({ reference }) => reference !== null),
  );
  const taken = new Set<string>();
  for (const { n, ...line } of lines) {
    const verdict = judge(line, known.get(line.line));
    if (verdict.is !== 'answer' || taken.has(line.bankTransactionId)) continue;
    // An answer to what has ended would be an exception.
    if (!verdict.known.pending && exceptions >= EXCEPTIONS_OF_FILE) continue;
    taken.add(line.bankTransactionId);
    beat?.();
    const { billingRequestId, refundId } = verdict.known;
    const { bankTransactionId } = line;
    await db
      .transaction(async (trx) => {
        const { agreed } =
          refundId === null
            ? await answerBillingRequest(
                trx,
                keyring,
                timeZone,
                bankId,
                billingRequestId ?? '',
                { outcome: 'approved', bankTransactionId, action: null },
                {},
              )
            : await answerRefund(trx, keyring, timeZone, bankId, refundId, {
                action: 'completed',
                bankTransactionId,
                reason: null,
              });
        if (!agreed) {
          exceptions += 1;
          await countExceptions(trx, statementId, 1);
          return;
        }
        const position = page.position + n;
        await writeDifferences(trx, statementId, [
          { ...stated(line), ...networks(verdict.known), difference: 'settled', position },
        ]);
      })
      .catch((error: unknown) => {
        // What is refused as an answer is judged like any other line.
        if (!(error instanceof Failure)) throw error;
      });
  }
  return page.position;
}
