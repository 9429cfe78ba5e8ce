import type { Frequency } from '../calendar';
import { counted } from '../words/counted';
import { inMoney } from '../money';
import type { WebhookType } from '../webhook/webhook';

/**
 * One line about a workflow, which the Temporal UI shows beside its id: references, amounts, and
 * the biller. The outbox puts a name in place of the biller's id. First starts and later starts of
 * a workflow use the same line.
 */
export const workflowSummary = {
  charge: ({ reference, billerId, ...sum }: Sum & { reference: string; billerId: string }) =>
    `${billerId} charges ${inMoney(sum)}, reference ${reference}`,

  charges: ({ count, billerId, ...sum }: Sum & { count: number; billerId: string }) =>
    `${billerId} makes ${counted(count, 'charges')} of ${inMoney(sum)} each in one call`,

  consent: ({ merchantId }: { merchantId: string }) => `Permission that a customer has given ${merchantId}`,

  intent: ({ reference, merchantId }: { reference: string; merchantId: string }) =>
    `${merchantId} asks whether it may bill a customer, reference ${reference}`,

  refund: ({
    reference,
    originalReference,
    merchantId,
    ...sum
  }: Sum & { reference: string; originalReference: string; merchantId: string }) =>
    `${merchantId} refunds ${inMoney(sum)}, reference ${reference}, of charge ${originalReference}`,

  recurring: ({ frequency, merchantId, ...sum }: Sum & { frequency: Frequency; merchantId: string }) =>
    `${merchantId} bills ${inMoney(sum)} ${frequency}`,

  customerMigration: ({ total, bankId }: { total: number; bankId: string }) =>
    `${total} customers of ${bankId}`,

  bankFile: ({ lines, bankId }: { lines: number; bankId: string }) =>
    `Bank file of ${counted(lines, 'lines')} of ${bankId}`,

  webhookDelivery: ({ webhookType, entityId }: { webhookType: WebhookType; entityId: string }) =>
    `${webhookType} to ${entityId}`,

  sandboxClock: ({ billerId, target }: { billerId: string; target: string }) =>
    `Test clock of ${billerId} to ${target}`,
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
