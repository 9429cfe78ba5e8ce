import { groupBy } from '../../domain/group';
import { formatAmount } from '../../domain/money';
import { rows, type Executor } from '../connection';
import type { Keyring } from '../keys/keyring';
import { announce, type Announcement } from '../webhook/webhook';
import { EXCEPTION_COLUMNS, type ExceptionRecord } from './read';

/**
 * Tells both sides of exceptions: the bank that is asked, and the merchant, or, of a payment
 * between customers, the payee's bank. Each counts the same webhooks about it.
 *
 * @param exceptionIds each side gets all that are its own in one webhook; what was not opened after
 *   all is undefined
 * @param workflowId of the workflow that makes the first attempt, where one does
 */
export async function announceExceptions(
  trx: Executor,
  keyring: Keyring,
  webhookType: 'exception.opened' | 'exception.resolved',
  exceptionIds: (string | undefined)[],
  workflowId?: string,
): Promise<void> {
  const ids = exceptionIds.filter((id) => id !== undefined);
  if (ids.length === 0) return;
  const announced = await rows<ExceptionRecord>(
    trx,
    `UPDATE reconciliation_exceptions x SET told = x.told + 1 WHERE x.id = ANY(:ids) RETURNING ${EXCEPTION_COLUMNS}`,
    { ids },
  );
  await announce(trx, keyring, exceptionAnnouncements(webhookType, announced, workflowId));
}

/** What each side of them hears. */
function exceptionAnnouncements(
  webhookType: 'exception.opened' | 'exception.resolved',
  exceptions: ExceptionRecord[],
  workflowId?: string,
): Announcement[] {
  const perSide = exceptions
    .toSorted((one, other) => (one.exceptionId < other.exceptionId ? -1 : 1))
    .flatMap((exception) => sidesOf(exception).map((entityId) => ({ entityId, exception })));
  return [...groupBy(perSide, ({ entityId }) => entityId)].map(([entityId, own]): Announcement => ({
    entityId,
    webhookType,
    ...(workflowId !== undefined && { workflowId }),
    items: own.map(({ exception }) => itemFor(exception, entityId)),
  }));
}

/** Payer and payee may be customers of one bank, which is then told once. */
function sidesOf({ bankId, merchantId, payeeBankId }: ExceptionRecord): string[] {
  return [...new Set([bankId, merchantId ?? payeeBankId].filter((id) => id !== null))];
}

/**
 * A list's columns, but for notes. The bank's own id is for that bank, and metadata is for
 * the merchant.
 */
function itemFor(exception: ExceptionRecord, entityId: string): object {
  const { told, bankNote: _, payeeBankId: __, bankTransactionId, metadata, ...shown } = exception;
  const isBanks = entityId !== exception.merchantId;
  return {
    ...shown,
    sequence: told,
    amount: formatAmount(exception.amount, exception.currency),
    ...(isBanks
      ? { bankTransactionId: entityId === exception.bankId ? bankTransactionId : null }
      : { metadata: metadata ?? {} }),
    openedAt: exception.openedAt.toISOString(),
    resolvedAt: exception.resolvedAt?.toISOString() ?? null,
  };
}
