import type { Mendable, Wrong } from '../../domain/words/books-words';
import { IS_LET_OFF_BOOKED, IS_KNOWN_BY_NOW, NOTED_BEFORE } from '../bank-statement/known';
import { lockBankStatements } from '../bank-statement/match';
import { announceEnds } from '../billing-request/announce';
import { row, rows, type Transaction } from '../connection';
import { settleCreditByWord } from '../customer/payment-credit';
import { recordEvents } from '../event';
import { askAnew } from '../intent/intent';
import type { Keyring } from '../keys/keyring';
import { postCharge, postCredits, postRefund, postReversal } from '../ledger/settlement';
import { announceExceptions } from '../reconciliation-exception/announce';
import { openException } from '../reconciliation-exception/open';
import {
  endExceptions,
  exceptionsEndedBy,
  lockCharges,
  openStatementExceptions,
  type Booked,
} from '../reconciliation-exception/statement';
import { reverseRejectedRefund, writeOffRest } from '../reconciliation-exception/reversal';
import { announceMissing } from './books-announce';

/**
 * Writes what a row says and nobody has written beside it. Each does nothing where it is there by
 * now.
 */

const hasWriteOff = (id: string) =>
  `EXISTS (SELECT FROM ledger_entries e WHERE e.resource_id = ${id} AND e.kind = 'write_off')`;

type Mend = (trx: Transaction, ring: Keyring, timeZone: string, id: string) => Promise<void>;

export const MENDED_BY: Record<Mendable, Mend> = {
  async charge_unposted(trx, _, timeZone, id) {
    const charge = await settled(trx, id);
    if (charge) await postCharge(trx, timeZone, charge);
  },
  /**
   * Nobody has written down when its bank was told but by the webhook, where that is still there.
   */
  async credit_unposted(trx, _, timeZone, id) {
    const charge = await settled(trx, id);
    const announced = await row<{ at: Date }>(
      trx,
      `SELECT greatest(b.closed_at, coalesce(
         (SELECT min(a.at) FROM webhook_attempts a WHERE a.delivery_id = b.credit_delivery_id AND a.error IS NULL),
         (SELECT r.delivered_at FROM webhook_receipts r WHERE r.delivery_id = b.credit_delivery_id))) AS at
       FROM billing_requests b WHERE b.id = :id`,
      { id },
    );
    if (charge && announced) await postCredits(trx, timeZone, [{ ...charge, at: announced.at }]);
  },
  async credit_in_transit(trx, _, timeZone, id) {
    await lockCharge(trx, id);
    await settleCreditByWord(trx, timeZone, id);
  },
  async refund_unposted(trx, _, timeZone, id) {
    const refund = await row<Parameters<typeof postRefund>[2]>(
      trx,
      `SELECT id AS "refundId", merchant_id AS "merchantId", bank_id AS "bankId", amount, currency, status,
         closed_at AS "closedAt" FROM refunds WHERE id = :id FOR NO KEY UPDATE`,
      { id },
    );
    if (refund) await postRefund(trx, timeZone, refund);
  },
  async reversal_unposted(trx, _, timeZone, id) {
    const reversal = await row<Parameters<typeof postReversal>[2]>(
      trx,
      `SELECT v.transaction_id AS "resourceId", v.billing_request_id AS "billingRequestId", v.amount, v.created_at AS at
       FROM reversals v JOIN billing_requests b ON b.id = v.billing_request_id
       WHERE v.transaction_id = :id FOR NO KEY UPDATE OF b`,
      { id },
    );
    if (reversal) await postReversal(trx, timeZone, reversal);
  },
  /** What was rejected last has left it. */
  async reversal_lacking(trx, ring, timeZone, id) {
    await lockCharge(trx, id);
    const rejected = await row<{ id: string }>(
      trx,
      `SELECT id FROM refunds WHERE billing_request_id = :id AND status = 'rejected'
       ORDER BY closed_at DESC, id DESC LIMIT 1`,
      { id },
    );
    const of = { billingRequestId: id, refundId: rejected?.id ?? null };
    await reverseRejectedRefund(trx, ring, timeZone, 'network', of);
  },
  /** Its own entry, where it has one, stays as it is: the rest is of a refund rejected since. */
  async write_off_unposted(trx, _, timeZone, id) {
    const writeOff = await row<Parameters<typeof writeOffRest>[2]>(
      trx,
      `SELECT coalesce(r.id, x.id) AS "resourceId", x.billing_request_id AS "billingRequestId",
         coalesce(r.closed_at, x.resolved_at) AS at
       FROM reconciliation_exceptions x JOIN billing_requests b ON b.id = x.billing_request_id
         LEFT JOIN LATERAL (
           SELECT id, closed_at FROM refunds
           WHERE billing_request_id = b.id AND status = 'rejected' AND ${hasWriteOff('x.id')} AND NOT ${hasWriteOff('refunds.id')}
           ORDER BY id LIMIT 1) AS r ON true
       WHERE x.id = :id AND x.resolution = 'written_off' FOR NO KEY UPDATE OF b`,
      { id },
    );
    if (writeOff) await writeOffRest(trx, timeZone, writeOff);
  },
  async silence_unnoted(trx, ring, _, id) {
    await lockCharge(trx, id);
    const noted = await row(
      trx,
      `SELECT FROM reconciliation_exceptions WHERE billing_request_id = :id LIMIT 1`,
      {
        id,
      },
    );
    if (noted) return;
    const opened = await openException(trx, { kind: 'unanswered', billingRequestId: id, cause: 'network' });
    await announceExceptions(trx, ring, 'exception.opened', [opened]);
  },
  async exception_untold(trx, ring, _, id) {
    const unannounced = await row<{ id: string }>(
      trx,
      `SELECT id FROM reconciliation_exceptions WHERE id = :id AND state <> 'resolved' AND told = 0 FOR UPDATE`,
      { id },
    );
    await announceExceptions(trx, ring, 'exception.opened', [unannounced?.id]);
  },
  /**
   * Its statement has it: it is not looked for as missing, nor missing any more. What was refused
   * does not stand for what is counted, nor does the payee's side for the payer's.
   */
  async unknown_settled(trx, ring, timeZone, id) {
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
    if (!unknown) return;
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
    if (!known) return;
    await endExceptions(
      trx,
      ring,
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
  },
  /** As a file would that has it now. The customer has paid what nobody counts. */
  async let_off_booked(trx, ring, _, id) {
    const found = await row<{ billingRequestId: string | null; bankId: string }>(
      trx,
      `SELECT billing_request_id AS "billingRequestId", bank_id AS "bankId" FROM reconciliation_exceptions
       WHERE id = :id`,
      { id },
    );
    if (!found?.billingRequestId) return;
    const { billingRequestId, bankId } = found;
    await lockCharge(trx, billingRequestId);
    const booked = await rows<{
      bankTransactionId: string;
      amount: bigint;
      currency: string;
      reference: string;
    }>(
      trx,
      `SELECT b.bank_transaction_id AS "bankTransactionId", b.amount::bigint AS amount, b.currency, b.reference
       FROM billing_requests b WHERE b.id = :billingRequestId AND ${IS_LET_OFF_BOOKED}`,
      { billingRequestId },
    );
    const opened = booked.map((one) => ({
      ...one,
      kind: 'unknown_here' as const,
      billingRequestId: null,
      refundId: null,
      direction: 'debit' as const,
      bookedAmount: one.amount,
      bookedCurrency: one.currency,
      held: 0n,
    }));
    await openStatementExceptions(trx, ring, bankId, opened);
  },
  intent_question_lost: (trx, ring, _, id) => askAnew(trx, ring, id),
  async held_differs(trx, _, __, id) {
    await lockCharge(trx, id);
    await rows(
      trx,
      `UPDATE billing_requests SET held_amount = (
         SELECT coalesce(sum(held), 0) FROM reconciliation_exceptions WHERE billing_request_id = :id)
       WHERE id = :id`,
      { id },
    );
  },
  async end_unannounced(trx, ring, _, id) {
    await lockCharge(trx, id);
    const ended = await row<{ sequence: number; at: Date }>(
      trx,
      `UPDATE billing_requests b SET sequence = sequence + 1 WHERE id = :id AND status <> 'pending'
         AND NOT EXISTS (SELECT FROM events e WHERE e.resource_id = b.id AND e.type = 'billing_request.announced'
           AND e.details->>'of' IS NULL)
       RETURNING sequence, business_now(owner_id) AS at`,
      { id },
    );
    if (!ended) return;
    await recordEvents(trx, [
      { resourceId: id, ...ended, type: 'billing_request.announced', cause: 'network' },
    ]);
    await announceEnds(trx, ring, [id]);
  },
  change_untold: (trx, ring, _, id) => announceMissing(trx, ring, id),
};

export function isMendable(wrong: Wrong): wrong is Mendable {
  return Object.hasOwn(MENDED_BY, wrong);
}

async function lockCharge(trx: Transaction, id: string): Promise<void> {
  await rows(trx, `SELECT FROM billing_requests WHERE id = :id FOR NO KEY UPDATE`, { id });
}

const settled = (trx: Transaction, id: string) =>
  row<Parameters<typeof postCharge>[2]>(
    trx,
    `SELECT id, amount, currency, bank_id AS "bankId", merchant_id AS "merchantId", owner_id AS "ownerId", status,
       closed_at AS "closedAt" FROM billing_requests WHERE id = :id FOR NO KEY UPDATE`,
    { id },
  );
