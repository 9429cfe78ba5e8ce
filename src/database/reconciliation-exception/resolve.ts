import { Failure } from '../../domain/failures';
import type { ExceptionState } from '../../domain/lifecycle';
import type { ExceptionKind, Resolution } from '../../domain/books/reconciliation-exception';
import { endExpected } from '../bank-statement/expected';
import { row, rows, type Transaction } from '../connection';
import { settleCreditByWord } from '../customer/payment-credit';
import { recordEvents, type AuditEvent } from '../event';
import type { Keyring } from '../keys/keyring';
import { returnRefund } from '../refund/return';
import { announceExceptions } from './announce';
import { holdRefunds } from './open';
import { EXCEPTION_COLUMNS, UNKNOWN_EXCEPTION, type ExceptionRecord } from './read';
import { reverseRest, writeOffRest } from './reversal';

/**
 * How an exception ends: its bank says what became of the money, or the operator finds it out.
 *
 * One UPDATE decides, `WHERE state <> 'resolved'`, so of a bank and an operator who resolve it at
 * the same time one is taken, and the other is told how it ended. What it held can be refunded from
 * then on, unless another exception of the same refund is about it as well. Where the money of a
 * successful charge did not stay, what is left of the charge is reversed; where that of a completed
 * refund came back, the refund is returned.
 */

/** Who resolves it. */
export type Resolver =
  | { cause: 'bank'; bankId: string; note: string | null }
  /** The network, where a later statement shows that there was no difference. */
  | { cause: 'operator' | 'network'; note: string | null };

export interface Finding {
  resolution: Resolution;
  /** The bank's id of what took the money back; null where none was named. */
  bankTransactionId: string | null;
}

export interface ResolvedException {
  exceptionId: string;
  state: ExceptionState;
  resolution: Resolution | null;
}

/**
 * The same finding again changes nothing.
 *
 * @param timeZone of the network, for the ledger's day
 * @returns whose exception it is, and whether this changed it
 * @throws Failure not_found, also of another bank's; conflict (resolved otherwise, the resolution
 *   does not fit, or the bank's transaction belongs to something else)
 */
export async function resolveException(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  by: Resolver,
  exceptionId: string,
  finding: Finding,
): Promise<ResolvedException & { bankId: string; changed: boolean; before: ExceptionState }> {
  const { billingRequestId, state: before, bankId } = await lockCharge(trx, by, exceptionId);
  const resolved = await decide(trx, by, exceptionId, finding);
  if (!resolved) return { ...(await refused(trx, exceptionId, finding)), bankId, changed: false, before };
  const { kind, refundId, resolution, released, sequence, resolvedAt } = resolved;
  await rows(
    trx,
    `UPDATE billing_requests SET held_amount = held_amount - :released::bigint
     WHERE id = :billingRequestId AND :released::bigint > 0`,
    { billingRequestId, released },
  );
  await recordEvents(trx, [
    {
      resourceId: exceptionId,
      sequence,
      type: 'exception.resolved',
      cause: by.cause,
      details: {
        kind,
        resolution,
        released,
        bankTransactionId: finding.bankTransactionId,
        ...(by.cause === 'operator' && { noted: by.note !== null }),
      },
      at: resolvedAt,
    },
  ]);
  await announceExceptions(trx, keyring, 'exception.resolved', [exceptionId]);
  // An exception of an unknown line is about no money that the ledger counts.
  if (refundId !== null) {
    await returnRefund(trx, keyring, timeZone, by.cause, exceptionId);
    await holdRefunds(trx, [refundId]);
  } else if (billingRequestId !== null) {
    await reverseRest(trx, keyring, timeZone, by.cause, { exceptionId, billingRequestId, refundId: null });
    if (finding.resolution === 'written_off') {
      await writeOffRest(trx, timeZone, { resourceId: exceptionId, billingRequestId, at: resolvedAt });
    }
    if (kind === 'credit_undelivered' && finding.resolution === 'no_difference') {
      await settleCreditByWord(trx, timeZone, billingRequestId);
    }
  }
  await endExpected(trx, exceptionId);
  return { exceptionId, state: 'resolved', resolution: finding.resolution, bankId, changed: true, before };
}

/** There was no difference, once the bank's next file was there. */
export async function endExceptions(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  exceptionIds: string[],
): Promise<void> {
  for (const exceptionId of exceptionIds) {
    await resolveException(trx, keyring, timeZone, { cause: 'network', note: null }, exceptionId, {
      resolution: 'no_difference',
      bankTransactionId: null,
    });
  }
}

/**
 * Ends what the bank's answer to a charge, or to a refund of it, has explained. The caller holds
 * the charge locked.
 */
export async function endExplained(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  by: Resolver,
  {
    kind,
    resolution,
    ...of
  }: {
    kind: ExceptionKind;
    resolution: Resolution;
    billingRequestId: string;
    refundId: string | null;
  },
): Promise<void> {
  const explained = await rows<{ id: string }>(
    trx,
    `SELECT id FROM reconciliation_exceptions
     WHERE billing_request_id = :billingRequestId AND refund_id IS NOT DISTINCT FROM :refundId AND kind = :kind
       AND state <> 'resolved' ORDER BY id`,
    { kind, ...of },
  );
  for (const { id } of explained) {
    const finding = { resolution, bankTransactionId: null };
    await resolveException(trx, keyring, timeZone, by, id, finding);
  }
}

/**
 * Ends what was opened for an id of something else, which was refused, once the bank has sent the
 * right one.
 */
export async function endDuplicates(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  of: { billingRequestId: string; refundId: string | null },
): Promise<void> {
  const right = { kind: 'duplicate_transaction_id', resolution: 'no_difference', ...of } as const;
  await endExplained(trx, keyring, timeZone, { cause: 'network', note: null }, right);
}

/**
 * The charge is locked before what is about it, as everywhere. What no charge belongs to is locked
 * by itself.
 */
async function lockCharge(trx: Transaction, by: Resolver, exceptionId: string) {
  const found = await row<{ billingRequestId: string | null; bankId: string }>(
    trx,
    `SELECT billing_request_id AS "billingRequestId", bank_id AS "bankId" FROM reconciliation_exceptions
     WHERE id = :exceptionId AND bank_id = coalesce(:bankId, bank_id)`,
    { exceptionId, bankId: by.cause === 'bank' ? by.bankId : null },
  );
  if (!found) throw new Failure('not_found', UNKNOWN_EXCEPTION);
  const { billingRequestId } = found;
  await rows(trx, `SELECT FROM billing_requests WHERE id = :billingRequestId FOR UPDATE`, {
    billingRequestId,
  });
  // Read once the charge is held: until then it may have been resolved.
  const now = await row<{ state: ExceptionState }>(
    trx,
    `SELECT state FROM reconciliation_exceptions WHERE id = :exceptionId FOR UPDATE`,
    { exceptionId },
  );
  if (!now) throw new Error(`there is no ${exceptionId}`);
  return { ...found, ...now };
}

type Decided = Pick<ExceptionRecord, 'kind' | 'refundId' | 'resolution'> & {
  released: bigint;
  sequence: number;
  resolvedAt: Date;
};

/**
 * As with a charge, the statement that ends it claims the bank's transaction, and does neither
 * where it is another's.
 */
async function decide(
  trx: Transaction,
  by: Resolver,
  exceptionId: string,
  { resolution, bankTransactionId }: Finding,
): Promise<Decided | undefined> {
  return row<Decided>(
    trx,
    `WITH asked AS (
       SELECT x.id, x.bank_id, x.held FROM reconciliation_exceptions x LEFT JOIN refunds r ON r.id = x.refund_id
       WHERE x.id = :exceptionId AND x.state <> 'resolved'
         AND (:resolution <> 'confirmed' OR x.kind = 'conflicting_answer' OR r.status = 'completed') FOR UPDATE OF x),
     claimed AS (
       INSERT INTO bank_transactions (bank_id, bank_transaction_id, resource_id)
       SELECT bank_id, :bankTransactionId, id FROM asked WHERE :bankTransactionId::text IS NOT NULL
       ON CONFLICT DO NOTHING RETURNING resource_id)
     UPDATE reconciliation_exceptions x SET
       state = 'resolved', resolution = :resolution, held = 0, released = asked.held, sequence = x.sequence + 1,
       resolved_at = settling_now(coalesce(x.merchant_id, x.payee_bank_id, x.bank_id)),
       reversal_bank_transaction_id = :bankTransactionId,
       bank_note = CASE WHEN :byBank::boolean THEN :note ELSE x.bank_note END,
       operator_note = CASE WHEN :byBank::boolean THEN x.operator_note ELSE coalesce(:note, x.operator_note) END
     FROM asked LEFT JOIN claimed ON claimed.resource_id = asked.id
     WHERE x.id = asked.id AND (:bankTransactionId::text IS NULL OR claimed.resource_id IS NOT NULL)
     RETURNING x.kind, x.refund_id AS "refundId", x.resolution, x.released, x.sequence,
       x.resolved_at AS "resolvedAt"`,
    { exceptionId, resolution, bankTransactionId, byBank: by.cause === 'bank', note: by.note },
  );
}

/** It was resolved before, so or otherwise; or what is found does not fit. */
async function refused(trx: Transaction, exceptionId: string, finding: Finding): Promise<ResolvedException> {
  const stands = await row<ExceptionRecord & { reversalId: string | null }>(
    trx,
    `SELECT ${EXCEPTION_COLUMNS}, x.reversal_bank_transaction_id AS "reversalId"
     FROM reconciliation_exceptions x WHERE x.id = :exceptionId`,
    { exceptionId },
  );
  if (!stands) throw new Error(`there is no ${exceptionId}`);
  const { state, resolution, reversalId } = stands;
  const data: ResolvedException = { exceptionId, state, resolution };
  const isSame = resolution === finding.resolution && reversalId === finding.bankTransactionId;
  if (state === 'resolved' && isSame) return data;
  throw refusalOf(data, finding);
}

function refusalOf(data: ResolvedException, finding: Finding): Failure {
  if (data.state === 'resolved') {
    return new Failure('already_resolved', `The exception is resolved already: ${data.resolution}.`, {
      data,
    });
  }
  return finding.resolution === 'confirmed'
    ? new Failure(
        'resolution_not_allowed',
        'Only a conflicting answer, or one to a refund that is completed, can be confirmed.',
        { data },
      )
    : new Failure(
        'duplicate_transaction_id',
        'This bankTransactionId belongs to another transaction of yours: send that of the reversal.',
        { data },
      );
}

/**
 * The operator's hand on an exception: from then on it is investigated, and whose it is. Another
 * operator may take it over.
 *
 * @returns how it was before, and whether this changed it
 * @throws Failure not_found; already_resolved
 */
export async function takeException(
  trx: Transaction,
  exceptionId: string,
  { owner, note }: { owner: string; note: string | null },
): Promise<{ bankId: string; before: { state: ExceptionState; owner: string | null }; changed: boolean }> {
  const { bankId } = await lockCharge(trx, { cause: 'operator', note }, exceptionId);
  const taken = await row<{ sequence: number; at: Date; state: ExceptionState; owner: string | null }>(
    trx,
    `WITH asked AS (SELECT id, state, owner FROM reconciliation_exceptions WHERE id = :exceptionId FOR UPDATE)
     UPDATE reconciliation_exceptions x SET state = 'investigating', owner = :owner, sequence = x.sequence + 1,
       operator_note = coalesce(:note, x.operator_note)
     FROM asked WHERE x.id = asked.id AND asked.state <> 'resolved' AND asked.owner IS DISTINCT FROM :owner
     RETURNING x.sequence, business_now(coalesce(x.merchant_id, x.payee_bank_id, x.bank_id)) AS at, asked.state, asked.owner`,
    { exceptionId, owner, note },
  );
  if (taken) {
    await recordEvents(trx, [
      {
        resourceId: exceptionId,
        sequence: taken.sequence,
        type: 'exception.investigating',
        cause: 'operator' satisfies AuditEvent['cause'],
        details: { noted: note !== null },
        at: taken.at,
      },
    ]);
    return { bankId, before: { state: taken.state, owner: taken.owner }, changed: true };
  }
  const stands = await row<{ state: ExceptionState; owner: string | null }>(
    trx,
    `SELECT state, owner FROM reconciliation_exceptions WHERE id = :exceptionId`,
    { exceptionId },
  );
  if (stands?.state !== 'investigating') {
    throw new Failure('already_resolved', 'The exception is resolved already.');
  }
  return { bankId, before: stands, changed: false };
}
