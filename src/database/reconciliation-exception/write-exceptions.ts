import { groupBy } from '../../domain/group';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { recordEvents, type AuditEvent } from '../record/event';
import { announce } from '../webhook/announce-webhooks';
import { EXCEPTION_COLUMNS, shownTo, type ExceptionRecord } from './list-exceptions';

export interface ChangedException {
  id: string;
  sequence: number;
  at: Date;
  details: Record<string, unknown>;
}

/** Items of one webhook, the same limit as for all webhooks. */
const ANNOUNCED_AT_ONCE = 100;

/** @param workflowId of the workflow that makes the first attempts, if any does */
export async function announceExceptions(
  trx: Executor,
  type: 'exception.opened' | 'exception.resolved',
  cause: AuditEvent['cause'],
  changed: ChangedException[],
  workflowId?: string,
): Promise<void> {
  await recordEvents(
    trx,
    changed.map(({ id: resourceId, ...more }) => ({ resourceId, type, cause, ...more })),
  );
  const ids = changed.map(({ id }) => id).toSorted();
  for (let from = 0; from < ids.length; from += ANNOUNCED_AT_ONCE) {
    await announcePage(trx, type, ids.slice(from, from + ANNOUNCED_AT_ONCE), workflowId);
  }
}

/**
 * Tells the bank that is asked, and the merchant; for a payment between customers the payee's bank.
 * Both sides count the same number of webhooks. A side gets all its exceptions in one webhook.
 */
async function announcePage(
  trx: Executor,
  webhookType: 'exception.opened' | 'exception.resolved',
  ids: string[],
  workflowId: string | undefined,
): Promise<void> {
  const counted = await trx.rows<ExceptionRecord>`
    UPDATE reconciliation_exceptions x SET told = x.told + 1 WHERE x.id = ANY(${ids})
    RETURNING ${raw(EXCEPTION_COLUMNS)}`;
  const perSide = counted
    .toSorted((one, other) => (one.exceptionId < other.exceptionId ? -1 : 1))
    .flatMap((exception) => sidesOf(exception).map((entityId) => ({ entityId, exception })));
  await announce(
    trx,
    [...groupBy(perSide, ({ entityId }) => entityId)].map(([entityId, own]) => ({
      entityId,
      webhookType,
      ...(workflowId !== undefined && { workflowId }),
      items: own.map(({ exception }) => {
        const role = entityId === exception.merchantId ? 'merchant' : 'bank';
        return shownTo({ entityId, role }, exception);
      }),
    })),
  );
}

/** Payer and payee may be customers of one bank, which is then told once. */
function sidesOf({ bankId, merchantId, payeeBankId }: ExceptionRecord): string[] {
  return [...new Set([bankId, merchantId ?? payeeBankId].filter((id) => id !== null))];
}
