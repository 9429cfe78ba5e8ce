export { billingRequest } from './billing-request';
export { customerMigration } from './customer-migration';
export { intent } from './intent';
export { reconcile } from './reconcile';
export { recurring } from './recurring';
export { refund } from './refund';
export { sandboxClock } from './sandbox-clock';
export { webhookDelivery } from './webhook-delivery';
