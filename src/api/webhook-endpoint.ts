import { z } from 'zod';
import type { Config } from '../config';
import { findWebhookEndpoint, setWebhookUrl } from '../database/webhook-endpoint';
import { Failure } from '../domain/failures';
import type { Answer, Reply } from './answer';
import { webUrl } from './fields';
import type { Call } from './route';

/** Where the caller wants its webhooks. Where such an address leads is checked each time one is sent. */

export const webhookUrl = (config: Config) =>
  webUrl(config.ALLOW_PRIVATE_WEBHOOKS ? ['https', 'http'] : ['https']);

export const endpointBody = (config: Config) => z.strictObject({ url: webhookUrl(config).nullable() });

export async function showEndpoint({ caller, deps }: Call<undefined, unknown, unknown>): Promise<Answer> {
  const endpoint = await findWebhookEndpoint(deps.db, caller.entityId);
  if (endpoint === undefined) throw new Failure('not_found', 'You have no webhook endpoint');
  return {
    message: endpoint.url === null ? 'No webhooks are sent' : 'Webhooks are sent here',
    data: endpoint,
  };
}

export async function changeEndpoint({
  accept,
  body,
  caller,
}: Call<z.output<ReturnType<typeof endpointBody>>, unknown, unknown>): Promise<Reply> {
  return accept(async (trx) => {
    await setWebhookUrl(trx, caller.entityId, body.url);
    return {
      message: body.url === null ? 'No more webhooks are sent' : 'Webhooks are sent here from now on',
      data: { url: body.url },
    };
  });
}
