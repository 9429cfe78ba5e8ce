import { z } from 'zod';
import { DELIVERY_STATUSES } from '../../domain/lifecycle';
import { WEBHOOK_TYPES } from '../../domain/webhook/webhook';
import type { Operation } from './operation';
import { moment, pageOf, shownId, words } from './parts';
import { feedEvent } from './webhook-frame';

const endpoint = z.strictObject({
  url: z.string().nullable().meta({
    description: 'The URL that webhooks are sent to; `null` if there is none',
    example: 'https://shop.example.com/webhooks',
  }),
});

const webhookType = z
  .enum(WEBHOOK_TYPES)
  .meta({ description: 'Type of the webhook', example: 'billing.response' });

const attempt = z.strictObject({
  at: moment('When the attempt ended'),
  status: z.int().nullable().meta({
    description: 'HTTP status that your server answered; `null` if it did not answer',
    example: 200,
  }),
  durationMs: z.int().min(0).meta({ description: 'Duration in milliseconds', example: 84 }),
  error: z
    .string()
    .nullable()
    .meta({ description: 'What went wrong; `null` if the attempt succeeded', example: null }),
});

const delivery = z
  .strictObject({
    deliveryId: shownId('delivery', 'As in `X-Service-Delivery`'),
    eventId: shownId('event'),
    webhookType,
    batchId: shownId('batch', 'The API request that caused it').nullable(),
    status: z.enum(DELIVERY_STATUSES).meta({ description: 'Status of the delivery', example: 'delivered' }),
    createdAt: moment('When it was created'),
    finishedAt: moment('When it was delivered or given up', '2026-03-02T08:00:01.000Z').nullable(),
    withdrawnAt: moment(
      'There only where what it asks for ended before it was sent: it is `failed` then, and is not sent any more',
      '2026-03-02T08:15:00.000Z',
    ).optional(),
    attempts: z.array(attempt).meta({ description: 'The latest 50, oldest first' }),
  })
  .meta({ id: 'Delivery' });

const sent = z.strictObject({ deliveryId: shownId('delivery', 'As in `X-Service-Delivery`') });

export const WEBHOOK_SETTINGS = {
  'GET /v1/webhooks/endpoint': {
    id: 'getWebhookEndpoint',
    tag: 'Webhook settings',
    summary: 'Retrieve the webhook endpoint',
    description: 'The URL that your webhooks are sent to. The secret is not shown.',
    answers: { 200: { description: 'Webhooks are sent here', data: endpoint } },
  },
  'PUT /v1/webhooks/endpoint': {
    id: 'setWebhookEndpoint',
    tag: 'Webhook settings',
    summary: 'Set the webhook endpoint',
    description:
      'Sets the URL for all your webhooks, retries of earlier ones included. `null` stops them; the events stay available at `GET /v1/events`.',
    answers: { 200: { description: 'Webhooks are sent here from now on', data: endpoint } },
  },
  'POST /v1/webhooks/endpoint/rotate-secret': {
    id: 'rotateWebhookSecret',
    tag: 'Webhook settings',
    summary: 'Rotate the webhook secret',
    description:
      'Creates a new webhook secret. For 24 hours, or until you finish the rotation, `webhook-signature` contains a signature with each secret, and `X-Service-Signature` is made with the old one.',
    answers: {
      200: {
        description: 'Give your receiver this secret beside the old one, then finish the rotation',
        data: z.strictObject({
          webhookSecret: words(
            'Shown only in this answer, and for an hour in the answer to a repeat of the request',
            'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw5Zb6Xy0cV1s=',
          ).optional(),
          previousSecretValidUntil: moment(
            'Until when the old secret is used too',
            '2026-03-03T08:00:00.000Z',
          ),
        }),
      },
    },
  },
  'POST /v1/webhooks/endpoint/rotate-secret/finish': {
    id: 'finishWebhookSecretRotation',
    tag: 'Webhook settings',
    summary: 'Finish the secret rotation',
    description: 'Stops using the old secret. Changes nothing if no rotation is in progress.',
    answers: { 200: { description: 'Webhooks are signed with your newest secret alone' } },
  },
  'POST /v1/webhooks/endpoint/test': {
    id: 'sendTestWebhook',
    tag: 'Webhook settings',
    summary: 'Send a test webhook',
    description: 'Sends a `webhook.test` to your endpoint, signed and retried like any other webhook.',
    answers: { 202: { description: 'A test event is on its way', data: sent } },
  },
  'GET /v1/webhooks/deliveries': {
    id: 'listDeliveries',
    tag: 'Webhook settings',
    summary: 'List webhook deliveries',
    description: 'The webhooks that were sent to you, with the attempts to deliver each.',
    answers: { 200: { description: '1 delivery', data: pageOf('deliveries', delivery) } },
  },
  'GET /v1/webhooks/deliveries/:deliveryId': {
    id: 'getDelivery',
    tag: 'Webhook settings',
    summary: 'Retrieve a webhook delivery',
    description: 'One webhook that was sent to you, with the attempts to deliver it.',
    answers: { 200: { description: 'The delivery is delivered', data: delivery } },
  },
  'POST /v1/webhooks/deliveries/:deliveryId/redeliver': {
    id: 'redeliver',
    tag: 'Webhook settings',
    summary: 'Redeliver a webhook',
    description:
      'Sends the same webhook again, with the same `deliveryId` and body, whether it was delivered before or not. What asks for a charge or an intent that ended before it was sent (`withdrawnAt`) is not sent any more: the merchant may have billed anew. While you have no webhook URL, nothing is sent again either: set one first.',
    answers: { 202: { description: 'The delivery is sent once more', data: sent } },
    refusals: {
      delivery_withdrawn:
        'What this webhook asks for ended before it was sent, so it is not sent any more; how it ended is in your events',
      no_webhook_url: 'You have no webhook URL: set one first',
    },
    refusedWith: {
      409: {
        data: z.strictObject({
          deliveryId: shownId('delivery', 'As in `X-Service-Delivery`'),
          status: z
            .enum(DELIVERY_STATUSES)
            .meta({ description: 'Status of the delivery, which stays', example: 'failed' }),
        }),
      },
    },
  },
  'GET /v1/events': {
    id: 'listEvents',
    tag: 'Webhook settings',
    summary: 'List events',
    description:
      'All events that webhooks were sent for, in a fixed order without gaps, for example to catch up after an outage. What was withdrawn before it was sent or read here is left out. Pass the last `eventId` that you have handled as `after`, and repeat until the list is empty. Events are kept for 30 days by default.',
    answers: {
      200: {
        description: '1 event',
        data: z.strictObject({
          events: z.array(feedEvent).meta({ description: 'Oldest first; `data` is that of the webhook' }),
        }),
      },
    },
  },
} satisfies Record<string, Operation>;
