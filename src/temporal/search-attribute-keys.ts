import {
  defineSearchAttributeKey,
  TypedSearchAttributes,
  type SearchAttributePair,
} from '@temporalio/common';
import type { WorkflowAttributes } from '../domain/workflow/workflow-id';

/** Operators filter workflows by these attributes; each has to be registered first. */
export const SEARCH_ATTRIBUTE = {
  status: defineSearchAttributeKey('AssentStatus', 'KEYWORD'),
  merchantId: defineSearchAttributeKey('AssentMerchant', 'KEYWORD'),
  bankId: defineSearchAttributeKey('AssentBank', 'KEYWORD'),
  nextBillingDate: defineSearchAttributeKey('AssentNextBillingDate', 'DATETIME'),
} as const;

export function searchAttributes(attributes: WorkflowAttributes): TypedSearchAttributes {
  const pairs: SearchAttributePair[] = [{ key: SEARCH_ATTRIBUTE.status, value: attributes.status }];
  if (attributes.merchantId) pairs.push({ key: SEARCH_ATTRIBUTE.merchantId, value: attributes.merchantId });
  if (attributes.bankId) pairs.push({ key: SEARCH_ATTRIBUTE.bankId, value: attributes.bankId });
  if (attributes.nextBillingDate) {
    pairs.push({ key: SEARCH_ATTRIBUTE.nextBillingDate, value: new Date(attributes.nextBillingDate) });
  }
  return new TypedSearchAttributes(pairs);
}
