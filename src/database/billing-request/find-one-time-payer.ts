import type { BillingRules } from '../../domain/billing-rules';
import type { Failure } from '../../domain/failures';
import { blockersOf, lockAgreementsOf } from '../agreement/agreement';
import type { Executor } from '../pool/connection';
import { takePrompts } from '../customer/limit-prompts';
import { payersByLookupId, type Payer } from '../entity/read-parties';

/**
 * Reads payers by lookup ID, and whether they may be asked. A prompt is counted for each payer who
 * has not blocked the merchant.
 */
export async function readOneTimePayers(
  trx: Executor,
  rules: BillingRules,
  merchantId: string,
  lookupIds: string[],
): Promise<Map<string, { payer: Payer; blocked: boolean; tooOften: Failure | undefined }>> {
  const payers = await payersByLookupId(trx, lookupIds);
  const ids = payers.map((payer) => payer.customerId);
  const blockers = await blockersOf(trx, merchantId, ids);
  const unblocked = ids.filter((id) => !blockers.has(id));
  const askedEnough = await takePrompts(trx, 'approval', rules, unblocked);
  // Locked after the prompts, so that a block comes wholly before the charge, or after it.
  for (const { customerId, blocked } of await lockAgreementsOf(trx, merchantId, unblocked))
    if (blocked) blockers.add(customerId);
  return new Map(
    payers.map((payer) => {
      const blocked = blockers.has(payer.customerId);
      return [payer.lookupId, { payer, blocked, tooOften: askedEnough.get(payer.customerId) }];
    }),
  );
}
