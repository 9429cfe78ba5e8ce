import type { Frequency } from '../calendar';
import { counted } from '../words/counted';
import { inMoney } from '../money';
import type { WebhookType } from '../webhook/webhook';

/**
 * What a workflow is about, in one line, as the Temporal UI shows it beside its id: references,
 * amounts and ids only. Whoever starts one and whoever starts it again say the same.
 */
export const workflowSummary = {
  charge: ({ reference, ownerId, ...sum }: Sum & { reference: string; ownerId: string }) =>
    `Charge ${reference} of ${inMoney(sum)} by ${ownerId}`,

  charges: ({ count, ownerId, ...sum }: Sum & { count: number; ownerId: string }) =>
    `${counted(count, 'charges')} of one call, each of ${inMoney(sum)} by ${ownerId}`,

  intent: ({ reference, merchantId }: { reference: string; merchantId: string }) =>
    `Intent ${reference} by ${merchantId}: may it bill the customer?`,

  refund: ({
    reference,
    originalReference,
    merchantId,
    ...sum
  }: Sum & { reference: string; originalReference: string; merchantId: string }) =>
    `Refund ${reference} of ${inMoney(sum)}, of charge ${originalReference}, by ${merchantId}`,

  recurring: ({ frequency, merchantId, ...sum }: Sum & { frequency: Frequency; merchantId: string }) =>
    `Schedule: ${inMoney(sum)} ${frequency} by ${merchantId}`,

  customerMigration: ({ total, bankId }: { total: number; bankId: string }) =>
    `${total} customers of ${bankId}`,

  bankStatement: ({ lines, bankId }: { lines: number; bankId: string }) =>
    `Statement of ${counted(lines, 'lines')} of ${bankId}`,

  webhookDelivery: ({ webhookType, entityId }: { webhookType: WebhookType; entityId: string }) =>
    `${webhookType} to ${entityId}`,

  sandboxClock: ({ ownerId, target }: { ownerId: string; target: string }) =>
    `Test clock of ${ownerId} to ${target}`,
};

interface Sum {
  amount: bigint;
  currency: string;
}

/**
 * For one that is started again: what it is about, and after it why there is another run, by the
 * signal instead of it.
 */
export const summaryAgain = {
  foundOverdue: (summary: string) =>
    `${summary} (started again: it was overdue, or open without its workflow)`,
  resumed: (summary: string) => `${summary} (resumed)`,
};
