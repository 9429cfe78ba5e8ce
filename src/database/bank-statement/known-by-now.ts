import { row, rows, type Transaction } from '../connection';
import { endExceptions } from '../reconciliation-exception/resolve';
import { exceptionsEndedBy, lockCharges, type Booked } from '../reconciliation-exception/statement';
import type { Matching } from './answer';
import { IS_KNOWN_BY_NOW, NOTED_BEFORE } from './known';
import { lockBankStatements } from './match';

/**
 * Ends the exceptions of lines that a bank booked before its answer came: the lines are matched,
 * and are not missing in the file of the bank that is read now.
 *
 * @returns the ids of the exceptions
 */
export async function endKnownByNow(
  { db, keyring, timeZone, beat }: Matching,
  statementId: string,
): Promise<string[]> {
  const known = await rows<{ id: string }>(
    db,
    `SELECT u.id FROM reconciliation_exceptions u
     WHERE u.bank_id = (SELECT bank_id FROM bank_statements WHERE id = :statementId)
       AND u.kind = 'unknown_here' AND u.state <> 'resolved' AND ${IS_KNOWN_BY_NOW} ORDER BY u.id`,
    { statementId },
  );
  const ended: string[] = [];
  for (const { id } of known) {
    beat?.();
    if (await db.transaction((trx) => endOne(trx, keyring, timeZone, id))) ended.push(id);
  }
  return ended;
}

/**
 * Its statement has it: it is not looked for as missing, nor missing any more. What was refused
 * does not stand for what is counted, nor does the payee's side for the payer's.
 */
async function endOne(
  trx: Transaction,
  keyring: Matching['keyring'],
  timeZone: string,
  id: string,
): Promise<boolean> {
  const unknown = await row<Booked & { bankId: string; billingRequestId: string }>(
    trx,
    `SELECT u.bank_id AS "bankId", u.bank_transaction_id AS "bankTransactionId", u.direction, u.amount::bigint, u.currency,
       coalesce(r.billing_request_id, xr.billing_request_id, t.resource_id) AS "billingRequestId",
       CASE WHEN u.direction = 'credit' AND b.payee_bank_id = u.bank_id THEN b.id END AS "creditOf"
     FROM reconciliation_exceptions u
       JOIN bank_transactions t ON t.bank_id = u.bank_id AND t.bank_transaction_id = u.bank_transaction_id
       LEFT JOIN refunds r ON r.id = t.resource_id
       LEFT JOIN reconciliation_exceptions xr ON xr.id = t.resource_id
       LEFT JOIN billing_requests b ON b.id = t.resource_id
     WHERE u.id = :id`,
    { id },
  );
  if (!unknown) return false;
  const { bankId, billingRequestId: ofCharge } = unknown;
  await lockBankStatements(trx, bankId);
  const ended = await exceptionsEndedBy(trx, bankId, [unknown]);
  await lockCharges(trx, [ofCharge, ...ended.flatMap(({ billingRequestId }) => billingRequestId ?? [])]);
  // Asked again once it is locked: until then its bank may have been let off it.
  const known = await row(
    trx,
    `SELECT FROM reconciliation_exceptions u WHERE u.id = :id AND u.state <> 'resolved' AND ${IS_KNOWN_BY_NOW}`,
    { id },
  );
  if (!known) return false;
  await endExceptions(
    trx,
    keyring,
    timeZone,
    ended.map(({ exceptionId }) => exceptionId),
  );
  await rows(
    trx,
    `INSERT INTO bank_statement_matches AS m (resource_id, statement_id, line)
     SELECT t.resource_id || CASE WHEN x.direction = 'credit' AND b.payee_bank_id = x.bank_id THEN '/credit' ELSE '' END,
       d.statement_id, d.line
     FROM reconciliation_exceptions x
       JOIN bank_transactions t ON t.bank_id = x.bank_id AND t.bank_transaction_id = x.bank_transaction_id
       JOIN bank_statement_differences d ON d.exception_id = x.id AND d.difference = 'unknown_here'
       JOIN bank_statements s ON s.id = d.statement_id AND s.dismissed_at IS NULL
       LEFT JOIN billing_requests b ON b.id = t.resource_id
       LEFT JOIN refunds r ON r.id = t.resource_id
     WHERE x.id = :id
       AND coalesce(b.bank_transaction_id, r.bank_transaction_id, t.bank_transaction_id) = t.bank_transaction_id
     ORDER BY d.statement_id, d.position LIMIT 1
     ${NOTED_BEFORE}`,
    { id },
  );
  return true;
}
