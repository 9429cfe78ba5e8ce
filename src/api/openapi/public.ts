import { oneOf } from '../http/request-fields';
import { z } from 'zod';
import { MODES } from '../../domain/mode';
import { answerSchema, headers, parameterRef, problems, plainRefusal, refusalFrame } from './frame';
import { words } from '../http/response-fields';
import type { OpenApiOperation, OpenApiPaths, Schemas } from './schema';

/** Endpoints outside the table of routes: without an access token, mostly without the envelope. */

const tokenRequest = z
  .object({
    grant_type: z.literal('client_credentials'),
    client_id: z.string().optional().meta({
      description: 'Unless HTTP Basic is used',
      example: 'cli_01kafz3q9sew7r5v4t2h8m6xc3',
    }),
    client_secret: z.string().optional().meta({
      description: 'Unless HTTP Basic is used',
      example: 'YCPMuZ2RKRk6N7vRrQ3yb1Gx7nJ0hXo2y3pTg9sVb5E',
    }),
    scope: z
      .string()
      .optional()
      .meta({ description: 'Some of the client’s scopes; left out, all of them', example: 'read bill' }),
  })
  .meta({ id: 'TokenRequest' });

const token = z
  .strictObject({
    access_token: words(
      'A JWT (ES256), to send as `Authorization: Bearer …`',
      'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtY2gifQ.c2ln',
    ),
    token_type: z.literal('Bearer'),
    expires_in: z.int().positive().meta({ description: 'Seconds for which it is valid', example: 3600 }),
    scope: words('The scopes that it has, with a space between two', 'read bill'),
  })
  .meta({ id: 'Token' });

export type Token = z.output<typeof token>;

const oauthError = (codes: [string, ...string[]]) =>
  z.strictObject({
    error: oneOf(codes, 'One of RFC 6749 §5.2, or `temporarily_unavailable` or `server_error`'),
    error_description: words('Human-readable text', 'Client id and secret do not belong together'),
  });

const OAUTH_ERRORS: [status: number, description: string, codes: [string, ...string[]], header?: string][] = [
  [
    400,
    'The request is not a valid token request',
    ['invalid_request', 'unsupported_grant_type', 'invalid_scope'],
  ],
  [401, 'The client id or secret is missing or wrong', ['invalid_client'], 'WWW-Authenticate'],
  [408, 'The body did not arrive within five seconds; the connection is closed', ['invalid_request']],
  [413, 'The body is larger than 4 KiB', ['invalid_request']],
  [415, 'The body has a `Content-Encoding`', ['invalid_request']],
  [
    429,
    'Too many tokens for this client or its address, or too many failed or unfinished requests from the address; wait for `Retry-After`',
    ['temporarily_unavailable'],
    'Retry-After',
  ],
  [500, 'Internal error', ['server_error']],
  [
    503,
    'The database cannot be reached, or too many bodies are under way; try again after `Retry-After`',
    ['temporarily_unavailable'],
    'Retry-After',
  ],
];

const readiness = {
  data: z.strictObject({ mode: oneOf(MODES, 'What this process and its database are for', 'production') }),
};
const alive = answerSchema(200, 'alive', undefined);
const ready = answerSchema(200, 'ready', readiness.data);
const notReady = refusalFrame('unavailable', 'Not ready: temporal is out of reach').extend({
  ...readiness,
  errors: problems,
});

export type Liveness = z.output<typeof alive>;
export type Readiness = z.output<typeof ready> | z.output<typeof notReady>;

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

export type Jwks = z.output<typeof jwks>;

const REQUEST_ID = parameterRef('RequestId');

export function publicPaths(schemas: Schemas): OpenApiPaths {
  const json = (description: string, schema: z.ZodType, ...names: string[]) => ({
    description,
    headers: headers('X-Request-Id', 'RateLimit-Policy', 'RateLimit', ...names),
    content: { 'application/json': schemas.media(schema, 'output') },
  });
  const anywhere = {
    431: json('`headers_too_large`: Request line and headers are too long or too many', plainRefusal(431)),
  };
  const probe = (
    operationId: string,
    summary: string,
    description: string,
    responses: OpenApiOperation['responses'],
  ) => ({
    get: {
      operationId,
      tags: ['Service'],
      summary,
      description,
      security: [],
      parameters: [REQUEST_ID],
      responses: { ...responses, ...anywhere },
    },
  });
  return {
    '/v1/oauth/token': {
      post: {
        operationId: 'createToken',
        tags: ['Authentication'],
        summary: 'Get an access token',
        description:
          'OAuth 2.0 client credentials grant (RFC 6749 §4.4). Send the client id and secret either by HTTP Basic authentication or in the body, a form; JSON with the same names is taken too. Use a token for its whole life rather than fetching one for each call. Unknown parameters are ignored.',
        security: [{ client: [] }, {}],
        parameters: [REQUEST_ID],
        requestBody: {
          required: true,
          content: {
            // JSON is taken too. A code generator takes one of two types, and sends the other.
            'application/x-www-form-urlencoded': schemas.media(tokenRequest, 'input'),
          },
        },
        responses: {
          200: json('A token', token),
          ...anywhere,
          ...Object.fromEntries(
            OAUTH_ERRORS.map(([status, description, codes, header]) => [
              status,
              json(description, oauthError(codes), ...(header === undefined ? [] : [header])),
            ]),
          ),
        },
      },
    },
    '/healthz': probe(
      'getLiveness',
      'Check that the process is alive',
      'Liveness probe. Does not look at the database or at Temporal.',
      { 200: json('Alive', alive) },
    ),
    '/readyz': probe(
      'getReadiness',
      'Check that the service is ready',
      'Readiness probe: Postgres and Temporal can be reached, the keyring opens what is stored, and a worker lives. Tells sandbox from production.',
      {
        200: json('Ready', ready),
        503: json('`unavailable`: Not ready; `errors` says why', notReady),
      },
    ),
    '/.well-known/jwks.json': probe(
      'getSigningKeys',
      'Retrieve the public keys',
      'JWK set (RFC 7517) with which access tokens can be verified.',
      {
        200: json('The keys that are in use', jwks),
        500: json('`internal`: Internal error', plainRefusal(500)),
        503: json(
          '`unavailable`: The database cannot be reached; try again after `Retry-After`',
          plainRefusal(503),
          'Retry-After',
        ),
      },
    ),
    '/openapi.json': probe(
      'getOpenApi',
      'Retrieve this document',
      'OpenAPI 3.1. The page `/docs/reference` shows it.',
      {
        200: {
          description: 'The document',
          headers: headers('X-Request-Id', 'RateLimit-Policy', 'RateLimit'),
          content: {
            'application/json': { schema: { type: 'object', description: 'As OpenAPI 3.1 has it' } },
          },
        },
      },
    ),
  };
}
