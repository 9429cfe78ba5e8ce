import { groupBy } from '../../domain/group';
import { formatAmount } from '../../domain/money';
import { rows, type Executor } from '../connection';
import type { Keyring } from '../keys/keyring';
import { announce } from '../webhook/webhook';
import { EXCEPTION_COLUMNS, type ExceptionRecord } from './list-cases';

/**
 * Tells both sides of exceptions: the bank that is asked, and the merchant, or, for a payment
 * between customers, the payee's bank. Each counts the same webhooks about it, and gets all that
 * are its own in one.
 *
 * @param workflowId of the workflow that makes the first attempt, where one does
 */
export async function announceExceptions(
  trx: Executor,
  keyring: Keyring,
  webhookType: 'exception.opened' | 'exception.resolved',
  ids: string[],
  workflowId?: string,
): Promise<void> {
  if (ids.length === 0) return;
  const announced = await rows<ExceptionRecord>(
    trx,
    `UPDATE reconciliation_exceptions x SET told = x.told + 1 WHERE x.id = ANY(:ids) RETURNING ${EXCEPTION_COLUMNS}`,
    { ids },
  );
  const perSide = announced
    .toSorted((one, other) => (one.exceptionId < other.exceptionId ? -1 : 1))
    .flatMap((exception) => sidesOf(exception).map((entityId) => ({ entityId, exception })));
  await announce(
    trx,
    keyring,
    [...groupBy(perSide, ({ entityId }) => entityId)].map(([entityId, own]) => ({
      entityId,
      webhookType,
      ...(workflowId !== undefined && { workflowId }),
      items: own.map(({ exception }) => itemFor(exception, entityId)),
    })),
  );
}

/** Payer and payee may be customers of one bank, which is then told once. */
function sidesOf({ bankId, merchantId, payeeBankId }: ExceptionRecord): string[] {
  return [...new Set([bankId, merchantId ?? payeeBankId].filter((id) => id !== null))];
}

/**
 * A list's columns, but for notes. The bank's own id is for that bank, and metadata is for the
 * merchant.
 */
function itemFor(exception: ExceptionRecord, entityId: string): object {
  const { told, bankNote: _, payeeBankId: __, bankTransactionId, metadata, ...shown } = exception;
  return {
    ...shown,
    sequence: told,
    amount: formatAmount(exception.amount, exception.currency),
    ...(entityId === exception.merchantId
      ? { metadata: metadata ?? {} }
      : { bankTransactionId: entityId === exception.bankId ? bankTransactionId : null }),
    openedAt: exception.openedAt.toISOString(),
    resolvedAt: exception.resolvedAt?.toISOString() ?? null,
  };
}
