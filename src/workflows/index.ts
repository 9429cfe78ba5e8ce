export { billingRequest } from './billing-request';
export { intent } from './intent';
export { recurring } from './recurring';
export { webhookDelivery } from './webhook-delivery';
