export { billingRequest } from './billing-request';
export { intent } from './intent';
export { webhookDelivery } from './webhook-delivery';
