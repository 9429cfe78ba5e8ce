import type { Config } from '../../settings/config';
import { changeEndpoint } from '../../database/entity-control/control-entity';
import { refuseUnsent } from '../../database/webhook/list-deliveries';
import { announce } from '../../database/webhook/announce-webhooks';
import {
  findWebhookUrl,
  finishSecretRotation,
  newWebhookSecret,
  rotateWebhookSecret,
} from '../../database/webhook/change-endpoint';
import { ANYONE } from '../http/callers';
import { actorOf, type BodyCall, type Call } from '../http/call';
import { section } from '../http/route';
import { z } from 'zod';
import { webhookSchemes } from '../../domain/contact';
import { webUrl } from '../http/request-fields';
import * as shown from '../http/response-fields';
import { sentDelivery } from './delivery';

export const webhookUrl = (config: Config) =>
  webUrl(webhookSchemes(config.ALLOW_PRIVATE_WEBHOOKS)).meta({
    description: 'The URL that webhooks are sent to',
    example: 'https://shop.example.com/webhooks',
  });

const endpointBody = (config: Config) =>
  z.strictObject({
    url: webhookUrl(config)
      .nullable()
      .meta({ description: 'The URL that webhooks are sent to; `null` for none' }),
  });

const endpointShown = z.strictObject({
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

/** The caller's webhook URL. Each attempt to send a webhook checks where the URL leads. */

async function showEndpoint({ caller, deps }: Call) {
  const url = await findWebhookUrl(deps.db, caller.entityId);
  return { message: url === null ? 'No webhooks are sent' : 'Webhooks are sent here', data: { url } };
}

async function putEndpoint(call: BodyCall<ReturnType<typeof endpointBody>>) {
  const { accept, body, caller } = call;
  return accept(async (trx) => {
    await refuseUnsent(trx, caller.entityId, 'webhook.endpoint_changed');
    await changeEndpoint(trx, actorOf(call), caller.entityId, body.url);
    return {
      message: body.url === null ? 'No more webhooks are sent' : 'Webhooks are sent here from now on',
      data: { url: body.url },
    };
  });
}

async function rotateSecret(call: Call) {
  const { accept, caller } = call;
  return accept(async (trx) => {
    const webhookSecret = newWebhookSecret();
    const until = await rotateWebhookSecret(trx, actorOf(call), caller.entityId, webhookSecret);
    const data = { previousSecretValidUntil: until };
    return {
      message: 'Give your receiver this secret beside the old one, then finish the rotation',
      data: { webhookSecret, ...data },
      dataWithoutSecrets: data,
    };
  });
}

async function finishRotation(call: Call) {
  const { accept, caller } = call;
  return accept(async (trx) => {
    await finishSecretRotation(trx, actorOf(call), caller.entityId);
    return { message: 'Webhooks are signed with your newest secret alone' };
  });
}

async function sendTestEvent({ accept, caller }: Call) {
  return accept(async (trx) => {
    await refuseUnsent(trx, caller.entityId, 'webhook.test');
    const [deliveryId] = await announce(trx, [
      { entityId: caller.entityId, webhookType: 'webhook.test', items: [{ sequence: 1, text: 'It works' }] },
    ]);
    if (deliveryId === undefined) throw new Error('the test event has no delivery');
    const url = await findWebhookUrl(trx, caller.entityId);
    return {
      message: url
        ? 'A test event is on its way'
        : 'You have no webhook URL: the test event is in your events feed and goes nowhere else',
      data: { deliveryId },
    };
  });
}

const route = section('Webhook settings');
const ENDPOINT = '/v1/webhooks/endpoint';

export const endpointRoutes = (config: Config) => [
  route('get', ENDPOINT, {
    id: 'getWebhookEndpoint',
    summary: 'Retrieve the webhook endpoint',
    description: 'The URL that your webhooks are sent to. The secret is not shown.',
    takes: ANYONE,
    answers: { 200: { description: 'Webhooks are sent here', data: endpointShown } },
    handle: showEndpoint,
  }),
  route('put', ENDPOINT, {
    id: 'setWebhookEndpoint',
    summary: 'Set the webhook endpoint',
    description:
      'Sets the URL for all your webhooks, retries of earlier ones included. `null` stops them; the events stay available at `GET /v1/events`.',
    takes: { ...ANYONE, scope: 'manage', person: 'admin', body: endpointBody(config) },
    answers: { 200: { description: 'Webhooks are sent here from now on', data: endpointShown } },
    handle: putEndpoint,
  }),
  route('post', `${ENDPOINT}/rotate-secret`, {
    id: 'rotateWebhookSecret',
    summary: 'Rotate the webhook secret',
    description:
      'Creates a new webhook secret. For 24 hours, or until you finish the rotation, `webhook-signature` contains a signature with each secret, and `X-Service-Signature` is made with the old one.',
    takes: { ...ANYONE, scope: 'manage', person: 'admin', idempotent: true },
    answers: {
      200: {
        description: 'Give your receiver this secret beside the old one, then finish the rotation',
        data: rotatedSecret,
      },
    },
    handle: rotateSecret,
  }),
  route('post', `${ENDPOINT}/rotate-secret/finish`, {
    id: 'finishWebhookSecretRotation',
    summary: 'Finish the secret rotation',
    description: 'Stops using the old secret. Changes nothing if no rotation is in progress.',
    takes: { ...ANYONE, scope: 'manage', person: 'admin' },
    answers: { 200: { description: 'Webhooks are signed with your newest secret alone' } },
    handle: finishRotation,
  }),
  route('post', `${ENDPOINT}/test`, {
    id: 'sendTestWebhook',
    summary: 'Send a test webhook',
    description: 'Sends a `webhook.test` to your endpoint, signed and retried like any other webhook.',
    takes: { ...ANYONE, scope: 'manage', person: 'admin', idempotent: true },
    answers: { 202: { description: 'A test event is on its way', data: sentDelivery } },
    handle: sendTestEvent,
  }),
];
