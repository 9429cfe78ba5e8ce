/**
 * A workflow's id follows from the business id: starting it twice is harmless, and row and workflow find each
 * other.
 */
export const workflowId = {
  intent: (intentId: string) => `intent/${intentId}`,
  billingRequest: (billingRequestId: string) => `billing-request/${billingRequestId}`,
  billingBatch: (batchId: string) => `billing-batch/${batchId}`,
  recurring: (scheduleId: string) => `recurring/${scheduleId}`,
  refund: (refundId: string) => `refund/${refundId}`,
  webhookDelivery: (deliveryId: string) => `webhook-delivery/${deliveryId}`,
  sandboxClock: (ownerId: string, advanceId: string) => `sandbox-clock/${ownerId}/${advanceId}`,
  customerBatch: (batchId: string) => `customer-batch/${batchId}`,
} as const;
