import { z } from 'zod';
import type { Config } from '../../config';
import { changeEndpoint } from '../../database/entity/control';
import { refuseUnsent } from '../../database/webhook/delivery';
import { announce } from '../../database/webhook/webhook';
import {
  findWebhookUrl,
  finishSecretRotation,
  newWebhookSecret,
  rotateWebhookSecret,
} from '../../database/webhook/endpoint';
import { formatInstant } from '../../domain/calendar';
import { webUrl } from '../http/fields';
import { actorOf, type Call } from '../http/route';

/**
 * Where the caller wants its webhooks. Where such an address leads is checked each time one is
 * sent.
 */

export const webhookUrl = (config: Config) =>
  webUrl(config.ALLOW_PRIVATE_WEBHOOKS ? ['https', 'http'] : ['https']).meta({
    description: 'The URL that webhooks are sent to',
    example: 'https://shop.example.com/webhooks',
  });

export const endpointBody = (config: Config) =>
  z.strictObject({
    url: webhookUrl(config)
      .nullable()
      .meta({ description: 'The URL that webhooks are sent to; `null` for none' }),
  });

export async function showEndpoint({ caller, deps }: Call) {
  const url = await findWebhookUrl(deps.db, caller.entityId);
  return { message: url === null ? 'No webhooks are sent' : 'Webhooks are sent here', data: { url } };
}

export async function putEndpoint(call: Call<z.output<ReturnType<typeof endpointBody>>>) {
  const { accept, body, caller, deps } = call;
  return accept(async (trx) => {
    await refuseUnsent(trx, caller.entityId, 'webhook.endpoint_changed');
    await changeEndpoint(trx, deps.ring, actorOf(call), caller.entityId, body.url);
    return {
      message: body.url === null ? 'No more webhooks are sent' : 'Webhooks are sent here from now on',
      data: { url: body.url },
    };
  });
}

export async function rotateSecret(call: Call) {
  const { accept, caller, deps } = call;
  return accept(async (trx) => {
    const webhookSecret = newWebhookSecret();
    const until = await rotateWebhookSecret(trx, deps.ring, actorOf(call), caller.entityId, webhookSecret);
    const data = { previousSecretValidUntil: formatInstant(until) };
    return {
      message: 'Give your receiver this secret beside the old one, then finish the rotation',
      data: { webhookSecret, ...data },
      dataWithoutSecrets: data,
    };
  });
}

export async function finishRotation(call: Call) {
  const { accept, caller } = call;
  return accept(async (trx) => {
    await finishSecretRotation(trx, actorOf(call), caller.entityId);
    return { message: 'Webhooks are signed with your newest secret alone' };
  });
}

export async function sendTestEvent({ accept, caller, deps }: Call) {
  return accept(async (trx) => {
    await refuseUnsent(trx, caller.entityId, 'webhook.test');
    const [deliveryId] = await announce(trx, deps.ring, [
      { entityId: caller.entityId, webhookType: 'webhook.test', items: [{ sequence: 1, text: 'It works' }] },
    ]);
    if (deliveryId === undefined) throw new Error('a test event was announced to nobody');
    const url = await findWebhookUrl(trx, caller.entityId);
    return {
      message: url
        ? 'A test event is on its way'
        : 'You have no webhook URL: the test event is in your events feed and goes nowhere else',
      data: { deliveryId },
    };
  });
}
