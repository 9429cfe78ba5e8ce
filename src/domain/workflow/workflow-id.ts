/** Ids follow from business ids, so that starting a workflow twice is harmless. */
export const workflowIds = {
  consent: (agreementId: string) => `consent/${agreementId}`,
  intent: (intentId: string) => `intent/${intentId}`,
  billingRequest: (billingRequestId: string) => `billing-request/${billingRequestId}`,
  billingBatch: (batchId: string) => `billing-batch/${batchId}`,
  recurring: (scheduleId: string) => `recurring/${scheduleId}`,
  refund: (refundId: string) => `refund/${refundId}`,
  webhookDelivery: (deliveryId: string) => `webhook-delivery/${deliveryId}`,
  sandboxClock: (billerId: string, advanceId: string) => `sandbox-clock/${billerId}/${advanceId}`,
  customerMigration: (batchId: string) => `customer-migration/${batchId}`,
  bankFile: (statementId: string) => `bank-file/${statementId}`,
} as const;

/** Search attributes for operators; set at the start and kept up by the workflow. */
export interface WorkflowAttributes {
  status: string;
  merchantId?: string;
  bankId?: string;
  /** RFC 3339, for schedules. */
  nextBillingDate?: string;
}

export interface WorkflowRun {
  type: string;
  args: unknown[];
}

const RUNS = new Map<string, (id: string) => WorkflowRun>([
  ['consent', (id) => ({ type: 'consent', args: [id] })],
  ['intent', (id) => ({ type: 'intent', args: [id] })],
  ['billing-request', (id) => ({ type: 'billingRequest', args: [[id]] })],
  // The workflow finds its open charges by its own id.
  ['billing-batch', () => ({ type: 'billingRequest', args: [[]] })],
  ['recurring', (id) => ({ type: 'recurring', args: [id] })],
  ['refund', (id) => ({ type: 'refund', args: [id] })],
  ['webhook-delivery', (id) => ({ type: 'webhookDelivery', args: [id] })],
  ['sandbox-clock', (id) => ({ type: 'sandboxClock', args: [id] })],
  ['customer-migration', (id) => ({ type: 'customerMigration', args: [id] })],
  ['bank-file', (id) => ({ type: 'bankFile', args: [id] })],
]);

/**
 * The run that takes up a workflow of this id from the state in the database.
 *
 * @throws Error if no workflow of ours has an id of this form
 */
export function runOf(id: string): WorkflowRun {
  const [kind = '', first = ''] = id.split('/');
  const run = RUNS.get(kind)?.(first);
  if (!run) throw new Error(`${id} is no workflow of ours`);
  return run;
}
