import { z } from 'zod';
import { ROLES } from '../../domain/entity';
import { BODY_LIMIT_BYTES } from '../http/body';
import type { Route } from '../http/route';
import {
  answerSchema,
  HEADERS,
  headers,
  parameterRef,
  PARAMETERS,
  refusalSchema,
  SECURITY_SCHEMES,
  type RefusalStatus,
} from './frame';
import { INTRODUCTION } from './introduction';
import { TAGS, type Refusal, type Success } from './operation';
import { publicPaths } from './public';
import {
  Schemas,
  type JsonSchema,
  type OpenApiOperation,
  type OpenApiPaths,
  type OpenApiResponse,
} from './schema';

import { webhookPaths } from './webhook-frame';

/**
 * Builds the OpenAPI 3.1 document of the API from the table of its routes and what is said of each.
 */

export interface OpenApiDocument {
  openapi: string;
  paths: OpenApiPaths;
  webhooks: OpenApiPaths;
  [key: string]: unknown;
}

/** @throws Error where something needed is not said, such as an example */
export function openApiDocument(routes: readonly Route[]): OpenApiDocument {
  const schemas = new Schemas();
  const paths = publicPaths(schemas);
  for (const one of routes) {
    const methods = (paths[one.path.replaceAll(/:(\w+)/g, '{$1}')] ??= {});
    methods[one.method] = describe(one, schemas);
  }
  const webhooks = webhookPaths(schemas);
  const used = new Set(
    [paths, webhooks].flatMap((all) =>
      Object.values(all).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags)),
    ),
  );
  return {
    openapi: '3.1.0',
    info: {
      title: 'Assent',
      version: '1.0.0',
      summary: 'Billing on a customer’s identity, authorised by the customer’s bank',
      description: INTRODUCTION,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This server' }],
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    security: [{ accessToken: [] }],
    paths,
    webhooks,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      parameters: PARAMETERS,
      headers: HEADERS,
      schemas: schemas.components,
    },
  };
}

function describe(one: Route, schemas: Schemas): OpenApiOperation {
  const { options, operation } = one;
  const { id, tag, summary, description, answers } = operation;
  const body = bodyOf(options);
  const roles = options.roles.length === ROLES.length ? 'all roles' : options.roles.join(', ');
  return {
    operationId: id,
    tags: [tag],
    summary,
    [ROLES_KEY]: options.roles,
    description: `${description}\n\nCallers: ${roles}. Rate limit: \`${options.limit}\`.${options.namesIdentifiers ? NAMES_IDENTIFIERS : ''}`,
    parameters: [
      ...(options.params ? parametersOf('path', options.params, schemas) : []),
      ...(options.query ? parametersOf('query', options.query, schemas) : []),
      ...(options.idempotent ? [parameterRef('IdempotencyKey')] : []),
      parameterRef('RequestId'),
      parameterRef('Traceparent'),
    ],
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': schemas.media(body, 'input') },
      },
    }),
    ...(options.upload && { requestBody: { required: true, content: filesOf(options.upload) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [
          status,
          successOf(Number(status), answer, options.idempotent, schemas),
        ]),
      ),
      ...Object.fromEntries(
        [...reasonsOf(one)].map(([status, reasons]) => [
          status,
          refusalOf(status, reasons, options.idempotent, schemas),
        ]),
      ),
    },
  };
}

function parametersOf(where: 'path' | 'query', schema: z.ZodType, schemas: Schemas) {
  const { properties, required } = schemas.convert(schema, 'input') as {
    properties: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...json }]) => ({
    name,
    in: where,
    required: required?.includes(name) ?? false,
    description,
    schema: json,
  }));
}

/**
 * What the request's body is; where roles send different ones, either of them, with those who send
 * it.
 */
function bodyOf({ receiver, body, bodyOf: others = {}, roles }: Route['options']): z.ZodType | undefined {
  const own = receiver?.schema ?? body;
  const special = Object.entries(others);
  if (!own || special.length === 0) return own;
  const rest = roles.filter((role) => others[role] === undefined);
  return z.union([
    own.meta({ [ROLES_KEY]: rest }),
    ...special.map(([role, schema]) => schema.meta({ [ROLES_KEY]: [role] })),
  ]);
}

function filesOf({ types }: NonNullable<Route['options']['upload']>) {
  return Object.fromEntries(
    Object.entries(types).map(([type, { description, example }]) => [
      type,
      { schema: { type: 'string', description }, example },
    ]),
  );
}

/** For tools: the roles that an operation, or one form of its body, is for. */
const ROLES_KEY = 'x-roles';

const NAMES_IDENTIFIERS =
  ' Identifiers that name nothing are counted (`unknown`): after too many of them, every call that names any is a 429 for a while.';

const typesOf = (upload: Route['options']['upload']) =>
  Object.keys(upload?.types ?? { 'application/json': true })
    .map((type) => `\`${type}\``)
    .join(' or ');

const METERED = ['RateLimit-Policy', 'RateLimit'];

function successOf(
  status: number,
  answer: Success,
  idempotent: boolean | undefined,
  schemas: Schemas,
): OpenApiResponse {
  const { description, csv, example } = answer;
  const schema = 'items' in answer ? z.array(answer.items) : answerSchema(status, description, answer.data);
  return {
    description,
    headers: headers(
      'X-Request-Id',
      ...METERED,
      ...(idempotent ? ['Idempotent-Replayed'] : []),
      ...(csv ? ['Content-Disposition'] : []),
    ),
    content: {
      ...(csv !== 'only' && { 'application/json': withData(schemas.media(schema, 'output'), example) }),
      ...(csv && {
        'text/csv': { schema: { type: 'string', description: 'RFC 4180 in UTF-8, with a header line' } },
      }),
    },
  };
}

/** The example with some fields of its `data` as the operation says. */
function withData(media: { schema: JsonSchema; example: unknown }, data: object | undefined) {
  if (data === undefined) return media;
  const envelope = media.example as { data: object };
  return { ...media, example: { ...envelope, data: { ...envelope.data, ...data } } };
}

const exampleOf = (reasons: readonly Refusal[]) =>
  reasons.map((reason) => (typeof reason === 'string' ? undefined : reason.example)).find(Boolean);

function refusalOf(
  status: RefusalStatus,
  reasons: readonly Refusal[],
  idempotent: boolean | undefined,
  schemas: Schemas,
): OpenApiResponse {
  const sentences = reasons.map((reason) => (typeof reason === 'string' ? reason : reason.description));
  return {
    description: sentences.join('; or: '),
    headers: headers(
      'X-Request-Id',
      ...METERED,
      ...(status === 401 ? ['WWW-Authenticate'] : []),
      ...(status === 429 || status === 503 || (status === 409 && idempotent) ? ['Retry-After'] : []),
      ...(idempotent && [403, 404, 409].includes(status) ? ['Idempotent-Replayed'] : []),
    ),
    content: {
      'application/json': withData(
        schemas.media(refusalSchema(status, reasons), 'output'),
        exampleOf(reasons),
      ),
    },
  };
}

/**
 * Why the operation may refuse, by status: what follows from its entry in the table, and what it
 * finds itself.
 */
function reasonsOf({ method, options, operation: { refusals = {} } }: Route): Map<RefusalStatus, Refusal[]> {
  const { roles, params, idempotent, namesIdentifiers, upload } = options;
  const body = upload ?? bodyOf(options);
  // A body that comes unasked is looked at, too.
  const reads = method !== 'get';
  const limitBytes = (upload ?? options.receiver)?.limitBytes ?? BODY_LIMIT_BYTES;
  const given: [RefusalStatus, Refusal | undefined | false][] = [
    [400, 'The request is not valid; `errors` lists every problem'],
    [400, refusals[400]],
    [401, 'The access token is missing, invalid or expired'],
    [403, roles.length < ROLES.length && 'Your role may not call this operation'],
    [403, refusals[403]],
    [404, params && !refusals[404] && 'Not found, or not yours'],
    [404, refusals[404]],
    [408, reads && 'Nothing of the body arrived for ten seconds; the connection is closed'],
    [409, refusals[409]],
    [409, idempotent && 'An earlier request with this `Idempotency-Key` is still being processed'],
    [413, reads && `The body is larger than ${limitBytes / 1024} KiB`],
    [415, reads && `The body is not ${typesOf(upload)} in UTF-8`],
    [422, idempotent && body && 'The `Idempotency-Key` was used with another body'],
    [429, 'Too many requests; try again after `Retry-After`'],
    [429, refusals[429]],
    [429, namesIdentifiers && 'Too many unknown identifiers; try again after `Retry-After`'],
    [500, 'Internal error; the message has the request id'],
    [
      503,
      'Temporarily unavailable: nothing was accepted, unless the message says otherwise. Try again after `Retry-After`',
    ],
  ];
  const reasons = new Map<RefusalStatus, Refusal[]>();
  for (const [status, reason] of given) {
    if (reason) reasons.set(status, [...(reasons.get(status) ?? []), reason]);
  }
  return reasons;
}
