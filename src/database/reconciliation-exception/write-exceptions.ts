import type { Cause } from '../../domain/words/timeline';
import { newId } from '../identifier/new-id';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import type { Row, TransitionOf } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';
import { EXCEPTION_COLUMNS, shownTo, type ExceptionRecord } from './list-exceptions';

export interface ChangedException extends Row {
  details: Record<string, unknown>;
}

/** Items of one webhook, the same limit as for all webhooks. */
const ANNOUNCED_AT_ONCE = 100;

/**
 * Writes that exceptions were opened, or resolved. Tells the bank that is asked, and the merchant;
 * for a payment between customers the payee's bank. Both sides count the same number of webhooks. A
 * side gets all its exceptions in one webhook.
 */
export async function writeExceptions(
  trx: Executor,
  changed: ChangedException[],
  of: {
    event: 'exception.opened' | 'exception.resolved';
    cause: Cause;
    /** Makes the first attempts at the webhooks, if any does. */
    workflowId?: string | undefined;
  },
): Promise<void> {
  if (changed.length === 0) return;
  const ids = changed.map(({ id }) => id);
  const counted = await trx.rows<ExceptionRecord>`
    UPDATE reconciliation_exceptions x SET announced = x.announced + 1 WHERE x.id = ANY(${ids})
    RETURNING ${raw(EXCEPTION_COLUMNS)}`;
  const facts = new Map(changed.map(({ details, ...row }) => [row.id, { row, details }]));
  const batches = new Map<string, string>();
  const batchOf = (webhook: string) => {
    const batchId = batches.get(webhook) ?? newId('batch');
    batches.set(webhook, batchId);
    return batchId;
  };
  const { event, cause, workflowId } = of;
  const transitions = counted
    .toSorted((one, other) => (one.exceptionId < other.exceptionId ? -1 : 1))
    .map((exception, n): TransitionOf<typeof event> => {
      const tell = (entityId: string) => ({
        entityId,
        batchId: batchOf(`${Math.floor(n / ANNOUNCED_AT_ONCE)} ${entityId}`),
        ...(workflowId !== undefined && { workflowId }),
        item: shownTo({ entityId, role: entityId === exception.merchantId ? 'merchant' : 'bank' }, exception),
      });
      const [bank, ...others] = sidesOf(exception);
      const announces = [tell(bank), ...others.map(tell)] as const;
      const own = facts.get(exception.exceptionId);
      if (!own) throw new Error(`${exception.exceptionId} has not changed`);
      return event === 'exception.opened'
        ? { event, cause, ...own, announces: { 'exception.opened': announces } }
        : { event, cause, ...own, announces: { 'exception.resolved': announces } };
    });
  await writeTransitions(trx, transitions);
}

/** Payer and payee may be customers of one bank, which is then told once. */
function sidesOf({ bankId, merchantId, payeeBankId }: ExceptionRecord): [string, ...string[]] {
  const other = merchantId ?? payeeBankId;
  return other === null || other === bankId ? [bankId] : [bankId, other];
}
