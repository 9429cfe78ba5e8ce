import { z } from 'zod';
import type { Config } from '../../settings/config';
import { DELIVERY_SORTS } from '../../database/webhook/list-deliveries';
import { webhookSchemes } from '../../domain/contact';
import { DELIVERY_STATUSES } from '../../domain/lifecycle';
import { WEBHOOK_TYPES } from '../../domain/webhook/webhook';
import { id, oneOf, pageSize, pagination, webUrl } from '../http/request-fields';
import * as shown from '../http/response-fields';
import { feedEvent } from '../openapi/webhook-frame';

export const webhookUrl = (config: Config) =>
  webUrl(webhookSchemes(config.ALLOW_PRIVATE_WEBHOOKS)).meta({
    description: 'The URL that webhooks are sent to',
    example: 'https://shop.example.com/webhooks',
  });

export const endpointBody = (config: Config) =>
  z.strictObject({
    url: webhookUrl(config)
      .nullable()
      .meta({ description: 'The URL that webhooks are sent to; `null` for none' }),
  });

export const endpoint = z.strictObject({
  url: shown.wordsOrNull(
    'The URL that webhooks are sent to; `null` if there is none',
    'https://shop.example.com/webhooks',
  ),
});

export const rotatedSecret = z.strictObject({
  webhookSecret: shown
    .words(
      'Shown only in this answer, and for an hour in the answer to a repeat of the request',
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw5Zb6Xy0cV1s=',
    )
    .optional(),
  previousSecretValidUntil: shown.moment('Until when the old secret is used too', '2026-03-03T08:00:00.000Z'),
});

export const deliveriesQuery = z.strictObject({
  status: oneOf(DELIVERY_STATUSES, 'Only those with this status').optional(),
  webhookType: oneOf(WEBHOOK_TYPES, 'Only those of this type').optional(),
  ...pagination(Object.keys(DELIVERY_SORTS) as ['createdAt', 'webhookType']),
});

export const deliveryPath = z.strictObject({ deliveryId: id('delivery') });

const deliveryId = shown.id('delivery', 'As in `X-Service-Delivery`');

const attempt = z.strictObject({
  at: shown.moment('When the attempt ended'),
  status: z.int().nullable().meta({
    description: 'HTTP status that your server answered; `null` if it did not answer',
    example: 200,
  }),
  durationMs: z.int().min(0).meta({ description: 'Duration in milliseconds', example: 84 }),
  error: shown.wordsOrNull('What went wrong; `null` if the attempt succeeded'),
});

export const delivery = z
  .strictObject({
    deliveryId,
    eventId: shown.id('event'),
    webhookType: oneOf(WEBHOOK_TYPES, 'Type of the webhook', 'billing.response'),
    batchId: shown.id('batch', 'The API request that caused it').nullable(),
    status: oneOf(DELIVERY_STATUSES, 'Status of the delivery', 'delivered'),
    createdAt: shown.moment('When it was created'),
    finishedAt: shown.moment('When it was delivered or given up', '2026-03-02T08:00:01.000Z').nullable(),
    withdrawnAt: shown
      .moment(
        'There only where what it asks for ended before it was sent: it is `failed` then, and is not sent any more',
        '2026-03-02T08:15:00.000Z',
      )
      .optional(),
    attempts: z.array(attempt).meta({ description: 'The latest 50, oldest first' }),
  })
  .meta({ id: 'Delivery' });

export const deliveryWithBody = delivery
  .extend({
    body: shown.wordsOrNull(
      'The body, byte for byte as it is sent; `null` where its key is no more. Of a webhook that was withdrawn, what is left of it',
      '{"webhookType":"billing.response"}',
    ),
  })
  .meta({ id: 'DeliveryWithBody' });

export const sentDelivery = z.strictObject({ deliveryId });

export const unsentDelivery = sentDelivery.extend({
  status: oneOf(DELIVERY_STATUSES, 'Status of the delivery, which stays', 'failed'),
});

export const feedQuery = z.strictObject({
  after: id('event')
    .meta({ description: 'The last `eventId` that you have handled; the list begins after it' })
    .optional(),
  limit: pageSize,
});

export const feed = z.strictObject({
  events: z.array(feedEvent).meta({ description: 'Oldest first; `data` is that of the webhook' }),
});
