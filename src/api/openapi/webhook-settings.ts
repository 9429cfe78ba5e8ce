import { z } from 'zod';
import { WEBHOOK_TYPES } from '../../domain/webhook';
import type { Operation } from './operation';
import { moment, pageOf, shownId, words } from './parts';
import { feedEvent } from './webhook';

const endpoint = z.strictObject({
  url: z.string().nullable().meta({
    description: 'Where webhooks go; `null` while you take none',
    example: 'https://shop.example.com/webhooks',
  }),
});

const webhookType = z.enum(WEBHOOK_TYPES).meta({ example: 'billing.response' });

const attempt = z.strictObject({
  at: moment('When it ended'),
  status: z.int().nullable().meta({ description: 'Your HTTP status; `null` where none came', example: 200 }),
  durationMs: z.int().min(0).meta({ description: 'Milliseconds', example: 84 }),
  error: z.string().nullable().meta({ description: '`null` where it succeeded', example: null }),
});

const delivery = z
  .strictObject({
    deliveryId: shownId('delivery', 'As in `X-Service-Delivery`'),
    eventId: shownId('event'),
    webhookType,
    batchId: shownId('batch', 'The request that it came of').nullable(),
    status: z.enum(['pending', 'delivered', 'failed']).meta({ example: 'delivered' }),
    createdAt: moment('When it was announced'),
    finishedAt: moment('When it was delivered or given up').nullable(),
    attempts: z.array(attempt).meta({ description: 'The latest 50, oldest first' }),
  })
  .meta({ id: 'Delivery' });

const sent = z.strictObject({ deliveryId: shownId('delivery', 'As in `X-Service-Delivery`') });

export const WEBHOOK_SETTINGS = {
  'GET /v1/webhooks/endpoint': {
    id: 'getWebhookEndpoint',
    tag: 'Webhook settings',
    summary: 'Where your webhooks go',
    description: 'The address, without the secret.',
    answers: { 200: { description: 'Webhooks are sent here', data: endpoint } },
  },
  'PUT /v1/webhooks/endpoint': {
    id: 'setWebhookEndpoint',
    tag: 'Webhook settings',
    summary: 'Say where webhooks go',
    description:
      'From the next event on; `null` to get no more. What was sent already goes on to where it went.',
    answers: { 200: { description: 'Webhooks are sent here from now on', data: endpoint } },
  },
  'POST /v1/webhooks/endpoint/rotate-secret': {
    id: 'rotateWebhookSecret',
    tag: 'Webhook settings',
    summary: 'Get a new webhook secret',
    description:
      'For 24 hours, or until the rotation is finished, `webhook-signature` is made with both secrets and `X-Service-Signature` with the old one.',
    answers: {
      200: {
        description: 'Give your receiver this secret beside the old one, then finish the rotation',
        data: z.strictObject({
          webhookSecret: words(
            'Shown this once, and for an hour to a repeat of the request',
            'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw5Zb6Xy0cV1s=',
          ).optional(),
          previousSecretValidUntil: moment('Until when the old one is used too'),
        }),
      },
    },
  },
  'POST /v1/webhooks/endpoint/rotate-secret/finish': {
    id: 'finishWebhookSecretRotation',
    tag: 'Webhook settings',
    summary: 'Finish the rotation',
    description: 'The old secret is not used any more. Without a rotation nothing changes.',
    answers: { 200: { description: 'Webhooks are signed with your newest secret alone' } },
  },
  'POST /v1/webhooks/endpoint/test': {
    id: 'sendTestWebhook',
    tag: 'Webhook settings',
    summary: 'Send yourself a test event',
    description: 'A `webhook.test`, signed and retried like any other.',
    answers: { 202: { description: 'A test event is on its way', data: sent } },
  },
  'GET /v1/webhooks/deliveries': {
    id: 'listDeliveries',
    tag: 'Webhook settings',
    summary: 'List deliveries',
    description: 'What was sent to you, and how that went.',
    answers: { 200: { description: '1 delivery', data: pageOf('deliveries', delivery) } },
  },
  'GET /v1/webhooks/deliveries/:deliveryId': {
    id: 'getDelivery',
    tag: 'Webhook settings',
    summary: 'Look at a delivery',
    description: 'With its attempts.',
    answers: { 200: { description: 'The delivery is delivered', data: delivery } },
  },
  'POST /v1/webhooks/deliveries/:deliveryId/redeliver': {
    id: 'redeliver',
    tag: 'Webhook settings',
    summary: 'Send a delivery once more',
    description: 'Any, also a delivered one: the same bytes under the same id.',
    answers: { 202: { description: 'The delivery is sent once more', data: sent } },
  },
  'GET /v1/events': {
    id: 'listEvents',
    tag: 'Webhook settings',
    summary: 'Catch up on events',
    description:
      'Everything that was announced to you, in one order without gaps, to be read on from the last `eventId` that you have seen. An empty answer is the end for now.',
    answers: {
      200: {
        description: '1 event',
        data: z.strictObject({
          events: z.array(feedEvent).meta({ description: 'As the webhooks have them' }),
        }),
      },
    },
  },
} satisfies Record<string, Operation>;
