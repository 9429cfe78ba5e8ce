export type * from './api.generated';
export {
  AssentClient,
  type AnswerOf,
  type CallId,
  type ClientOptions,
  type FileId,
  type ItemOf,
  type ListId,
  type RequestOf,
} from './client';
export { AssentError, type FailureCode, type Problem } from './failure';
export {
  verifyWebhook,
  WebhookError,
  type UnknownWebhook,
  type VerifyOptions,
  type WebhookErrorCode,
  type WebhookEvent,
  type WebhookEventOf,
  type WebhookHeaders,
} from './webhook';
export {
  webhookHandler,
  webhookMiddleware,
  type ReceiverOptions,
  type WebhookRequest,
} from './webhook-receiver';
