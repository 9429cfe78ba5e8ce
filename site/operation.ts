import type { OpenApiDocument } from '../src/api/openapi/document';
import type { JsonSchema, OpenApiOperation } from '../src/api/openapi/schema';

/** An operation of the OpenAPI document, and what a call of it has. */

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

export interface Body {
  type: string;
  schema: JsonSchema;
  example: unknown;
}

/** An operation or a webhook, and all that its drawing needs. */
export interface Described {
  id: string;
  method: string;
  path: string;
  operation: OpenApiOperation;
  document: OpenApiDocument;
}

const METHODS = ['get', 'post', 'put', 'patch'] as const;

export function all(document: OpenApiDocument, paths: OpenApiDocument['paths']): Described[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation ? [{ id: operation.operationId, method, path, operation, document }] : [];
    }),
  );
}

export function parametersOf({ operation }: Described): Parameter[] {
  return ((operation['parameters'] ?? []) as (Parameter | { $ref: string })[]).filter(
    (one): one is Parameter => 'schema' in one && one.in !== 'header',
  );
}

export const isKeyed = ({ operation }: Described) =>
  JSON.stringify(operation['parameters'] ?? []).includes('/IdempotencyKey');

export const needsToken = ({ operation }: Described) =>
  operation.security.some((one) => 'accessToken' in one);

export function bodyOf(content: unknown): Body | undefined {
  const [first] = Object.entries((content ?? {}) as Record<string, { schema: JsonSchema; example: unknown }>);
  return first && { type: first[0], ...first[1] };
}

export const requestBodyOf = ({ operation }: Described) =>
  bodyOf((operation['requestBody'] as { content?: unknown } | undefined)?.content);

export function resolved(schema: JsonSchema, document: OpenApiDocument): JsonSchema {
  const name = typeof schema['$ref'] === 'string' ? (schema['$ref'].split('/').at(-1) ?? '') : undefined;
  if (name === undefined) return schema;
  const { schemas } = document['components'] as { schemas: Record<string, JsonSchema> };
  return { ...schemas[name], ...schema };
}

export function exampleOf(given: JsonSchema, document: OpenApiDocument): unknown {
  const { examples, example: one, enum: words, anyOf, minimum } = resolved(given, document);
  const [first] = (examples ?? words ?? []) as unknown[];
  const [kind] = anyOf ?? [];
  return first ?? one ?? (kind ? exampleOf(kind, document) : (minimum ?? 'x'));
}

/** Names that a call cannot do without. */
export function needed(one: Described, where: Parameter['in']): [name: string, value: string][] {
  return parametersOf(one)
    .filter((each) => each.in === where && each.required)
    .map(({ name, schema }) => [name, String(exampleOf(schema, one.document))]);
}
