import type { Frequency } from '../calendar';
import { counted } from '../words/counted';
import { inMoney } from '../money';
import type { WebhookType } from '../webhook/webhook';

/**
 * One line about a workflow, which the Temporal UI shows beside its id: references, amounts, and
 * the merchant or bank, whose name the outbox puts in place of its id. First starts and later
 * starts of a workflow use the same line.
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

/** The line of a workflow that was started again: its summary, and the reason by the signal. */
export const summaryAgain = {
  foundOverdue: (summary: string) =>
    `${summary} (started again: it was overdue, or open without its workflow)`,
  resumed: (summary: string) => `${summary} (resumed)`,
};
