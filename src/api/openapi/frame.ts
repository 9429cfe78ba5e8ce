import { z } from 'zod';
import { FAILURES, type FailureCode } from '../../domain/failures';
import { errorCode, words } from '../http/response-fields';
import type { Scope } from '../../domain/scope';
import type { JsonSchema } from './schema';

/** Shared by every operation: the envelope, its refusals, and the header fields. */

export const answerSchema = (status: number, message: string, data: z.ZodType | undefined) =>
  z.strictObject({
    statusCode: z.literal(status).meta({ description: 'The HTTP status' }),
    success: z.literal(true),
    message: words('Human-readable text; do not parse it', message),
    ...(data && { data }),
  });

const problem = z
  .strictObject({
    path: z.string().meta({
      description:
        'Which field: for example `merchants[3].email`, `query.page` for a query parameter, `body` for the whole body, or a header’s name',
      example: 'amount',
    }),
    message: words('What is wrong with it', 'must be more than 0'),
  })
  .meta({ id: 'Problem' });

export const refusalFrame = (code: FailureCode, message: string) =>
  z.strictObject({
    statusCode: z.literal(FAILURES[code].status).meta({ description: 'The HTTP status' }),
    success: z.literal(false),
    code: errorCode.meta({ example: code }),
    message: words('Human-readable text; do not parse it', message),
  });

export const problems = z.array(problem).max(100).meta({ description: 'Every problem of the request' });

export type RefusalStatus = 400 | 401 | 403 | 404 | 408 | 409 | 413 | 415 | 422 | 429 | 431 | 500 | 503;

const plain = (id: string, code: FailureCode) => refusalFrame(code, FAILURES[code].meaning).meta({ id });

const PLAIN: Record<RefusalStatus, z.ZodObject> = {
  400: refusalFrame('invalid_request', FAILURES.invalid_request.meaning)
    .extend({ errors: problems.optional() })
    .meta({ id: 'InvalidRequest' }),
  401: plain('Unauthenticated', 'unauthenticated'),
  403: plain('NotAllowed', 'forbidden'),
  404: plain('NotFound', 'not_found'),
  408: plain('RequestTooSlow', 'request_too_slow'),
  409: plain('Conflict', 'idempotency_key_in_use'),
  413: plain('BodyTooLarge', 'body_too_large'),
  415: plain('UnsupportedMediaType', 'unsupported_media_type'),
  422: plain('IdempotencyKeyReused', 'idempotency_key_reused'),
  429: plain('RateLimited', 'rate_limited'),
  431: plain('HeadersTooLarge', 'headers_too_large'),
  500: plain('Internal', 'internal'),
  503: plain('Unavailable', 'unavailable'),
};

export const plainRefusal = (status: RefusalStatus): z.ZodType => PLAIN[status];

/** The same with `data`, and what its example says. */
export const refusalWith = (data: z.ZodType, code: FailureCode, message: string) =>
  refusalFrame(code, message).extend({
    data: data.optional(),
    ...(FAILURES[code].status === 400 && { errors: problems.optional() }),
  });

const text = (description: string, example: string, schema: JsonSchema = {}) => ({
  description,
  schema: { type: 'string', ...schema, examples: [example] },
});

/** Header fields of answers, by name. */
export const HEADERS: Record<string, JsonSchema> = {
  'X-Request-Id': {
    ...text('Id of the request; quote it when you ask for support', '0b0d2f6e-6f4e-4a8e-9a53-4f1d8f6f3c11'),
    required: true,
  },
  'RateLimit-Policy': text(
    'The rate limit that applies: its name, its size (`q`), and the seconds in which it refills (`w`)',
    '"caller";q=100;w=2',
  ),
  RateLimit: text(
    'What is left of the rate limit (`r`), and the seconds until it has refilled (`t`)',
    '"caller";r=99;t=1',
  ),
  'Retry-After': {
    description: 'Seconds to wait before trying again',
    schema: { type: 'integer', minimum: 1, examples: [2] },
  },
  'Idempotent-Replayed': {
    description:
      'Present when this is the stored answer to an earlier request with the same `Idempotency-Key`',
    schema: { type: 'string', const: 'true' },
  },
  'WWW-Authenticate': text('How to authenticate', 'Bearer realm="assent"'),
  'Content-Disposition': text('The name of the file', 'attachment; filename="transactions.csv"'),
};

export const headers = (...names: (keyof typeof HEADERS)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Header fields of requests. */
export const PARAMETERS = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A unique value of your choice, such as a UUID, so that a request can be repeated safely: with the same key and body it is carried out once, and a repeat gets the first answer. Keys are kept for 7 days',
    schema: {
      type: 'string',
      pattern: '^[\\x21-\\x7e]{1,255}$',
      examples: ['6f2c1c1e-0c5b-4b8f-9d3c-5a0e7f1b2d34'],
    },
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Your own id for the request, for support and logs: 1 to 128 of A-Z, a-z, 0-9, `.`, `_` and `-`. For any other, or none, one is generated',
    schema: { type: 'string', examples: ['0b0d2f6e-6f4e-4a8e-9a53-4f1d8f6f3c11'] },
  },
  Traceparent: {
    name: 'traceparent',
    in: 'header',
    description:
      'Your span by W3C Trace Context, where you trace: the network’s own spans of the call join its trace, and so do the webhooks that come of it, which carry `traceparent` too. One that is not valid is as none',
    schema: { type: 'string', examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'] },
  },
} as const;

export const parameterRef = (name: keyof typeof PARAMETERS) => ({ $ref: `#/components/parameters/${name}` });

export const SECURITY_SCHEMES = {
  accessToken: {
    type: 'oauth2',
    description: 'The `access_token` from `POST /v1/oauth/token`, as `Authorization: Bearer …`',
    flows: {
      clientCredentials: {
        tokenUrl: '/v1/oauth/token',
        scopes: {
          read: 'Read and search',
          bill: 'Send intents, bill, cancel a charge, run schedules, look up and enrol devices',
          refund: 'Initiate refunds',
          manage:
            'All else: webhooks, merchants, customers and their decisions, and a bank’s answers and files',
        } satisfies Record<Scope, string>,
      },
    },
  },
  client: {
    type: 'http',
    scheme: 'basic',
    description: 'Client id and secret, each form-encoded; only for `POST /v1/oauth/token`',
  },
};
