import { z } from 'zod';
import { exampleId } from '../http/example';
import { moment, id } from '../http/response-fields';
import { pascalCase } from './names';
import type { JsonSchema, OpenApiOperation, Schemas } from './schema';
import { WEBHOOKS } from './webhook';

/** Shared by every webhook: the envelope, its signatures, and the answers that it may get. */

const sequence = z.int().min(1).meta({
  description:
    'Counts the webhooks about one resource that you are sent, from 1 without gaps: a higher number is newer, and a missing one is still on its way, or lost',
  example: 1,
});

const KINDS = Object.entries(WEBHOOKS).map(([type, { item, ...webhook }]) => {
  const items: z.ZodObject = z.strictObject({ ...item, sequence });
  return { ...webhook, type, item: items.meta({ id: `${pascalCase(type)}Item` }) };
});

const signature = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ example: '6d0cc3'.padEnd(64, '0') });

const oneOf = ([first, ...others]: z.ZodType[]) =>
  first && others.length === 0 ? first : z.union([first, ...others].filter((one) => one !== undefined));

const envelope = ({ type, to, item }: (typeof KINDS)[number]) =>
  z.strictObject({
    entityId: oneOf(to.map((role) => id(role, 'Your own id'))),
    entityType: z.enum(to),
    webhookType: z.literal(type),
    timestamp: moment('When the event happened'),
    batchId: id('batch', 'The API request that caused it; of its own if there was none'),
    data: z.array(item).min(1).meta({ description: 'One item per intent, charge, schedule, …' }),
    itemCount: z.int().min(1).meta({ description: 'Number of items in `data`', example: 1 }),
    signature: signature.meta({
      description: 'HMAC-SHA256, in hex, of the body without this field; the key is your webhook secret',
    }),
  });

/** The same event in the feed. */
export const feedEvent = z.union(
  KINDS.map(({ type, summary, item }) =>
    z
      .strictObject({
        eventId: id('event'),
        webhookType: z.literal(type),
        timestamp: moment('When the event happened'),
        data: z.array(item),
      })
      .meta({ id: `${pascalCase(type)}Event`, description: summary }),
  ),
);

const header = (name: string, description: string, schema: JsonSchema, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string', ...schema, examples: [example] },
});

const SIGNED: JsonSchema[] = [
  header('X-Service-Event', 'The `webhookType`', {}, 'billing.request'),
  header(
    'X-Service-Delivery',
    'Id of the delivery: the same for every attempt, as is the body. Ignore one that you have processed already',
    {},
    exampleId('delivery'),
  ),
  header(
    'X-Service-Signature',
    'HMAC-SHA256 of the raw body, in lower-case hex; the key is your whole webhook secret, `whsec_` included',
    { pattern: '^[0-9a-f]{64}$' },
    '6d0cc3'.padEnd(64, '0'),
  ),
  header(
    'webhook-id',
    'The same as `X-Service-Delivery`, as Standard Webhooks names it',
    {},
    exampleId('delivery'),
  ),
  header('webhook-timestamp', 'When this attempt was sent, in seconds since 1970', {}, '1795245600'),
  header(
    'webhook-signature',
    'Signature as defined by Standard Webhooks (standardwebhooks.com). It covers the time, so an old request cannot be sent again by another sender. Two signatures while you rotate your secret',
    {},
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
  {
    ...header(
      'traceparent',
      'The span of this attempt by W3C Trace Context, in the trace of the call that it comes of; only where the network traces',
      { pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$' },
      '00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01',
    ),
    required: false,
  },
];

export function webhookPaths(schemas: Schemas): Record<string, { post: OpenApiOperation }> {
  return Object.fromEntries(
    KINDS.map((webhook) => [
      webhook.type,
      {
        post: {
          operationId: `on${pascalCase(webhook.type)}`,
          tags: ['Webhooks'],
          summary: webhook.summary,
          description: `${webhook.description}\n\nSent to: ${webhook.to.join(', ')}.`,
          security: [],
          parameters: SIGNED,
          requestBody: {
            required: true,
            content: { 'application/json': schemas.media(envelope(webhook), 'output') },
          },
          responses: {
            '2XX': { description: 'Received' },
            410: { description: 'Not wanted: this delivery is not retried' },
            default: {
              description:
                'Anything else, or no answer within 10 seconds (2 at the first attempt), is retried later',
            },
          },
        },
      },
    ]),
  );
}
