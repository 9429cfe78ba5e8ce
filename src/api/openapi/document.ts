import { z } from 'zod';
import { ROLES } from '../../domain/entity';
import { FAILURES, type FailureCode } from '../../domain/failures';
import { BODY_LIMIT_BYTES, JSON_TYPE } from '../http/body';
import { mayBeLeftOut, type Route } from '../http/route';
import {
  answerSchema,
  HEADERS,
  headers,
  parameterRef,
  PARAMETERS,
  plainRefusal,
  refusalWith,
  SECURITY_SCHEMES,
  type RefusalStatus,
} from './frame';
import { INTRODUCTION } from './introduction';
import { TAGS, type Success } from '../http/operation';
import { nameSchemas } from './names';
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
  nameSchemas(paths, webhooks, schemas.components);
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
  const content = contentOf(options, schemas);
  const roles = options.roles.length === ROLES.length ? 'all roles' : options.roles.join(', ');
  return {
    operationId: id,
    tags: [tag],
    summary,
    // oasdiff refuses that an operation goes earlier.
    ...(operation.deprecated && { deprecated: true, 'x-sunset': operation.deprecated.sunset }),
    [ROLES_KEY]: options.roles,
    security: [{ accessToken: [options.scope] }],
    description: `${description}\n\nCallers: ${roles}. Scope: \`${options.scope}\`. Rate limit: \`${options.limit}\`.${options.namesIdentifiers ? NAMES_IDENTIFIERS : ''}`,
    parameters: [
      ...(options.params ? parametersOf('path', options.params, schemas) : []),
      ...(options.query ? parametersOf('query', options.query, schemas) : []),
      ...(options.idempotent ? [parameterRef('IdempotencyKey')] : []),
      parameterRef('RequestId'),
      parameterRef('Traceparent'),
    ],
    ...(content && { requestBody: { required: !mayBeLeftOut(options.body), content } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [
          status,
          successOf(Number(status), answer, options.idempotent, schemas),
        ]),
      ),
      ...Object.fromEntries(
        [...reasonsOf(one)].map(([status, reasons]) => [status, refusalOf(status, reasons, one, schemas)]),
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

/** The request's body by media type, if it has any. */
function contentOf(options: Route['options'], schemas: Schemas) {
  const forms = options.longBody?.types ?? jsonForm(options);
  return (
    forms &&
    Object.fromEntries(
      Object.entries(forms).map(([type, form]) => [
        type,
        form instanceof z.ZodType ? schemas.media(form, 'input') : fileOf(type, form),
      ]),
    )
  );
}

/** If roles send different ones, either of them, with the role that sends it. */
function jsonForm({ body }: Route['options']): Record<string, z.ZodType> | undefined {
  if (!body || body instanceof z.ZodType) return body && { [JSON_TYPE]: body };
  const forms = Object.entries(body).map(([role, form]) =>
    form.meta({ [ROLES_KEY]: [role], title: `by ${role}` }),
  );
  return { [JSON_TYPE]: z.union(forms) };
}

function fileOf(type: string, { description, example }: { description: string; example: string }) {
  const format = type === 'application/octet-stream' ? { format: 'binary' } : {};
  return { schema: { type: 'string', ...format, description }, example };
}

/** For tools: the roles that an operation, or one form of its body, is for. */
const ROLES_KEY = 'x-roles';

const NAMES_IDENTIFIERS =
  ' Identifiers that name nothing are counted (`unknown`): after too many of them, every call that names any is a 429 for a while.';

const wordsOf = (types: string[]) => types.map((type) => `\`${type}\``).join(' or ');

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

/** One way to be refused, and when that is. */
type Reason = [code: FailureCode, when: string];

function refusalOf(
  status: RefusalStatus,
  reasons: readonly Reason[],
  { operation: { refusals = {}, refusedWith = {} }, options: { idempotent } }: Route,
  schemas: Schemas,
): OpenApiResponse {
  const more = status in refusedWith ? refusedWith[status as keyof typeof refusedWith] : undefined;
  const [code, when] = reasons.find(([one]) => one in refusals) ?? [];
  const schema = more && code && when ? refusalWith(more.data, code, when) : plainRefusal(status);
  return {
    description: reasons.map((reason) => `\`${reason[0]}\`: ${reason[1]}`).join('; or '),
    headers: headers(
      'X-Request-Id',
      ...METERED,
      ...(status === 401 || status === 403 ? ['WWW-Authenticate'] : []),
      ...(status === 429 || status === 503 || (status === 409 && idempotent) ? ['Retry-After'] : []),
      ...(idempotent && [403, 404, 409].includes(status) ? ['Idempotent-Replayed'] : []),
    ),
    content: { 'application/json': withData(schemas.media(schema, 'output'), more?.example) },
  };
}

/** The operation's refusals by status: the refusals of its row, and its own. */
function reasonsOf({ method, options, operation: { refusals = {} } }: Route): Map<RefusalStatus, Reason[]> {
  const { roles, params, idempotent, namesIdentifiers, body, longBody } = options;
  // A body that comes unasked is read, too.
  const reads = method !== 'get';
  const { limitBytes, types } = longBody ?? { limitBytes: BODY_LIMIT_BYTES, types: { [JSON_TYPE]: true } };
  const given: [FailureCode, string | undefined | false][] = [
    ['invalid_request', 'The request is not valid; `errors` lists every problem'],
    ['unauthenticated', 'The access token is missing, invalid or expired'],
    ['forbidden', roles.length < ROLES.length && 'Your role may not call this operation'],
    ['insufficient_scope', 'The access token lacks the scope of this operation'],
    ['not_found', params && !refusals.not_found && 'Not found, or not yours'],
    ['request_too_slow', reads && 'The body arrived too slowly; the connection is closed'],
    ...(Object.entries(refusals) as Reason[]),
    [
      'idempotency_key_in_use',
      idempotent && 'An earlier request with this `Idempotency-Key` is still being processed',
    ],
    ['body_too_large', reads && `The body is larger than ${limitBytes / 1024} KiB`],
    ['unsupported_media_type', reads && `The body is not ${wordsOf(Object.keys(types))} in UTF-8`],
    [
      'idempotency_key_reused',
      idempotent && (body ?? longBody) && 'The `Idempotency-Key` was used with another body',
    ],
    ['rate_limited', 'Too many requests, or too much under way; try again after `Retry-After`'],
    ['rate_limited', namesIdentifiers && 'Too many unknown identifiers; try again after `Retry-After`'],
    ['headers_too_large', 'Request line and headers are too long or too many'],
    ['internal', 'Internal error; the message has the request id'],
    ['unavailable', 'Nothing was accepted; try again after `Retry-After`'],
    ['outcome_unknown', reads && 'The request may have been accepted; the message says how to learn that'],
  ];
  const reasons = new Map<RefusalStatus, Reason[]>();
  for (const [code, when] of given) {
    const status = FAILURES[code].status as RefusalStatus;
    if (when) reasons.set(status, [...(reasons.get(status) ?? []), [code, when]]);
  }
  return new Map([...reasons].toSorted(([a], [b]) => a - b));
}
