import { z } from 'zod';
import { headers, parameterRef, problems } from './frame';
import { words } from './parts';
import type { OpenApiPaths, Schemas } from './schema';

/** What is served outside the table of routes: to callers without an access token, and mostly without the envelope. */

const tokenRequest = z
  .looseObject({
    grant_type: z.literal('client_credentials'),
    client_id: z
      .string()
      .optional()
      .meta({ description: 'Unless in the header', example: 'cli_01kafz3q9sew7r5v4t2h8m6xc3' }),
    client_secret: z
      .string()
      .optional()
      .meta({ description: 'Unless in the header', example: 'the secret that came with the client id' }),
  })
  .meta({ id: 'TokenRequest' });

const tokenAnswer = z
  .strictObject({
    access_token: words(
      'A JWT (ES256), to send as `Authorization: Bearer …`',
      'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtY2gifQ.c2ln',
    ),
    token_type: z.literal('Bearer'),
    expires_in: z.int().positive().meta({ description: 'Seconds that it is good for', example: 3600 }),
  })
  .meta({ id: 'Token' });

const oauthError = (...codes: [string, ...string[]]) =>
  z.strictObject({
    error: z
      .enum(codes)
      .meta({ description: 'One of RFC 6749 §5.2, or `temporarily_unavailable` or `server_error`' }),
    error_description: words('For people; do not parse it', 'Client id and secret do not belong together'),
  });

const OAUTH_ERRORS: [status: number, description: string, schema: z.ZodType, ...headers: string[]][] = [
  [
    400,
    'The request is not one for a token',
    oauthError('invalid_request', 'unsupported_grant_type', 'invalid_scope'),
    'RateLimit-Policy',
    'RateLimit',
  ],
  [
    401,
    'Client id and secret do not belong together',
    oauthError('invalid_client'),
    'WWW-Authenticate',
    'RateLimit-Policy',
    'RateLimit',
  ],
  [413, 'The body is larger than 16 KiB', oauthError('invalid_request'), 'RateLimit-Policy', 'RateLimit'],
  [
    415,
    'The body is compressed in an unknown way',
    oauthError('invalid_request'),
    'RateLimit-Policy',
    'RateLimit',
  ],
  [
    429,
    'Too many tokens: one a second per client; wait for `Retry-After`',
    oauthError('temporarily_unavailable'),
    'Retry-After',
    'RateLimit-Policy',
    'RateLimit',
  ],
  [500, 'Our fault', oauthError('server_error')],
  [503, 'Our database is out of reach', oauthError('temporarily_unavailable'), 'Retry-After'],
];

const health = (status: number, message: string) =>
  z.strictObject({
    statusCode: z.literal(status),
    success: z.literal(status < 400),
    message: words('For people', message),
  });

const notReady = health(503, 'Not ready: temporal is out of reach').extend({ errors: problems });

const fault = health(500, 'Something went wrong on our side. If it lasts, report the request id 0b0d2f6e');
const unavailable = health(503, 'The service cannot reach its database; nothing was accepted');

const jwks = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.literal('EC'),
        crv: z.literal('P-256'),
        x: words('Coordinate, base64url', 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'),
        y: words('Coordinate, base64url', 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'),
        kid: words('Id of the key, as tokens name it', 'key_01kafz3q9sew7r5v4t2h8m6xcf'),
        alg: z.literal('ES256'),
        use: z.literal('sig'),
      }),
    ),
  })
  .meta({ id: 'Jwks' });

const probe = (operationId: string, summary: string, description: string) => ({
  operationId,
  tags: ['Service'],
  summary,
  description,
  security: [],
  parameters: [parameterRef('RequestId')],
});

export function publicPaths(schemas: Schemas): OpenApiPaths {
  const json = (description: string, schema: z.ZodType, ...names: string[]) => ({
    description,
    headers: headers('X-Request-Id', ...names),
    content: { 'application/json': schemas.media(schema, 'output') },
  });
  return {
    '/v1/oauth/token': {
      post: {
        operationId: 'createToken',
        tags: ['Authentication'],
        summary: 'Get an access token',
        description:
          'OAuth 2.0 client credentials (RFC 6749 §4.4): the client id and secret go in HTTP Basic, or in the body as a form or as JSON, but not in both. Fetch a new token when the old one is about to expire, not for every call. Parameters that are not known are ignored; `scope` is refused, for there are none.',
        security: [{ client: [] }, {}],
        parameters: [parameterRef('RequestId')],
        requestBody: {
          required: true,
          content: {
            'application/x-www-form-urlencoded': schemas.media(tokenRequest, 'input'),
            'application/json': schemas.media(tokenRequest, 'input'),
          },
        },
        responses: {
          200: json('A token', tokenAnswer, 'RateLimit-Policy', 'RateLimit'),
          ...Object.fromEntries(
            OAUTH_ERRORS.map(([status, description, schema, ...names]) => [
              status,
              json(description, schema, ...names),
            ]),
          ),
        },
      },
    },
    '/healthz': {
      get: {
        ...probe(
          'getLiveness',
          'Is the process alive?',
          'Asks nobody else, so that no outage elsewhere gets the process restarted.',
        ),
        responses: { 200: json('It is', health(200, 'alive')) },
      },
    },
    '/readyz': {
      get: {
        ...probe(
          'getReadiness',
          'Is the service ready?',
          'Whether Postgres, Temporal and a worker can be reached.',
        ),
        responses: {
          200: json('It is', health(200, 'ready')),
          503: json('It is not: `errors` names what is missing', notReady),
        },
      },
    },
    '/.well-known/jwks.json': {
      get: {
        ...probe(
          'getSigningKeys',
          'Public keys of access tokens',
          'A JWK set (RFC 7517), by which anybody can check a token.',
        ),
        responses: {
          200: json('The keys that tokens may be signed with', jwks),
          500: json('Our fault', fault),
          503: json('Our database is out of reach', unavailable, 'Retry-After'),
        },
      },
    },
    '/openapi.json': {
      get: {
        ...probe('getOpenApi', 'This document', 'OpenAPI 3.1, for people at `/docs` and for tools here.'),
        responses: {
          200: {
            description: 'The document',
            headers: headers('X-Request-Id'),
            content: {
              'application/json': { schema: { type: 'object', description: 'As OpenAPI 3.1 has it' } },
            },
          },
        },
      },
    },
  };
}
