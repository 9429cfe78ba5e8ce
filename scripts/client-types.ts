import type { JsonSchema, OpenApiOperation } from '../src/api/openapi/schema';
import type { OpenApiDocument } from '../src/api/openapi/document';

/**
 * The client's knowledge of the API, made from the document that the API serves: a type of each
 * schema, request, answer and webhook, and a table of what cannot be told from types.
 *
 * Only what JSON Schemas of this document say is understood. Anything else is an error, so that a
 * new form is looked at by somebody before a type says less than the document.
 */

/** Any other keyword than these stops the making. */
const KEYWORDS = new Set(
  `$ref type const enum anyOf properties required additionalProperties items title description
  default example examples format pattern minLength maxLength minimum maximum exclusiveMinimum
  exclusiveMaximum minItems maxItems uniqueItems maxProperties propertyNames minProperties x-roles x-go-type`.split(
    /\s+/,
  ),
);

/** Which way a type goes: a caller may leave out, or say that it leaves out. */
type Way = 'request' | 'answer';

const METHODS = ['get', 'post', 'put', 'patch'] as const;
const JSON_BODY = 'application/json';
const COMMENT_COLUMNS = 96;

export function clientTypes(document: OpenApiDocument): string {
  const schemas = schemasOf(document);
  const sent = sentIn(document);
  const operations = operationsOf(document);
  return (
    [
      '// Made by `npm run generate:client` from the OpenAPI document. Do not edit.',
      '/* eslint-disable */',
      ...Object.entries(schemas).map(
        ([name, schema]) =>
          `${comment(schema, '')}export type ${nameOf(name)} = ${typeOf(schema, sent.has(name) ? 'request' : 'answer', '')};`,
      ),
      ['/** What each webhook carries: one or more of these. */', 'export interface WebhookItems {']
        .concat(webhookItems(document))
        .concat('}')
        .join('\n'),
      [
        '/** Each operation of the API: what it takes, and what it answers. */',
        'export interface Operations {',
      ]
        .concat(operations.map(operationType))
        .concat('}')
        .join('\n'),
      ['/** How each operation is called. */', 'export const OPERATIONS = {']
        .concat(operations.map(({ id, facts }) => `  ${id}: ${JSON.stringify(facts).replaceAll('"', "'")},`))
        .concat('} as const;')
        .join('\n'),
    ].join('\n\n') + '\n'
  );
}

interface Facts {
  method: string;
  path: string;
  /** Takes an `Idempotency-Key`. */
  keyed?: true;
  /** The array in `data`, and how to come to the next of it. */
  list?: { items: string; next: 'page' | 'after' | 'none' };
}

interface Described {
  id: string;
  operation: OpenApiOperation;
  parameters: Parameter[];
  facts: Facts;
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

type Content = Record<string, { schema: JsonSchema }>;

/** The client fetches access tokens by itself. */
function operationsOf(document: OpenApiDocument): Described[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      if (!operation?.security.some((one) => 'accessToken' in one)) return [];
      const all = (operation['parameters'] ?? []) as (Parameter | { $ref: string })[];
      // The form of the answer is for `call` and `download` to say.
      const parameters = all.filter(
        (one): one is Parameter => 'schema' in one && !(one.in === 'query' && one.name === 'format'),
      );
      const keyed = all.some((one) => '$ref' in one && one.$ref.endsWith('/IdempotencyKey'));
      const list = method === 'get' ? listOf(document, operation, parameters) : undefined;
      const id = operation['operationId'];
      return {
        id,
        operation,
        parameters,
        facts: { method: method.toUpperCase(), path, ...(keyed && { keyed }), ...(list && { list }) },
      };
    }),
  );
}

/** A list has one array in `data`, and is not one thing that has an array among its fields. */
function listOf(
  document: OpenApiDocument,
  operation: OpenApiOperation,
  parameters: Parameter[],
): Facts['list'] {
  const within = (schema: JsonSchema | undefined) => fieldsOf(resolved(schema, document));
  const [answer] = jsonAnswers(operation);
  const fields = Object.entries(within(within(answer)['data']));
  const arrays = fields.filter(([, field]) => field['type'] === 'array').map(([name]) => name);
  const names = new Set(parameters.map(({ name }) => name));
  const next = names.has('page') ? 'page' : names.has('after') ? 'after' : 'none';
  const [items] = arrays;
  const isList = next !== 'none' || fields.length === 1 || operation['operationId'].startsWith('list');
  if (items === undefined || !isList) return undefined;
  if (arrays.length > 1) throw new Error(`${operation['operationId']} has several lists`);
  return { items, next };
}

function successes({ responses }: OpenApiOperation): Content[] {
  return Object.entries(responses)
    .filter(([status]) => Number(status) < 300)
    .map(([, { content = {} }]) => content);
}

function jsonAnswers(operation: OpenApiOperation): JsonSchema[] {
  return successes(operation).flatMap(({ [JSON_BODY]: json }) => (json ? [json.schema] : []));
}

function schemasOf(document: OpenApiDocument): Record<string, JsonSchema> {
  return (document['components'] as { schemas: Record<string, JsonSchema> }).schemas;
}

function resolved(schema: JsonSchema | undefined, document: OpenApiDocument): JsonSchema | undefined {
  const [name] = referencesIn(schema);
  return schema?.['$ref'] === undefined ? schema : schemasOf(document)[name ?? ''];
}

function referencesIn(schema: unknown): string[] {
  const found = (JSON.stringify(schema) ?? '').matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g);
  return [...found].map(([, name = '']) => name);
}

/** The schemas that requests are made of. */
function sentIn(document: OpenApiDocument): Set<string> {
  const schemas = schemasOf(document);
  const bodies = Object.values(document.paths).flatMap((item) =>
    Object.values(item).map((operation) => operation['requestBody']),
  );
  const sent = new Set(referencesIn(bodies));
  // A set goes on to what is added meanwhile.
  for (const name of sent) for (const inner of referencesIn(schemas[name])) sent.add(inner);
  return sent;
}

function fieldsOf(schema: JsonSchema | undefined): Record<string, JsonSchema> {
  return schema?.['properties'] ?? {};
}

function operationType({ id, operation, parameters }: Described): string {
  const { content = {} } = (operation['requestBody'] ?? {}) as { content?: Content };
  const json = jsonAnswers(operation);
  const members = [
    ...parameterMember('path', parameters),
    ...parameterMember('query', parameters),
    ...Object.entries(content)
      .filter(([type]) => type === JSON_BODY)
      .map(([, { schema }]) => `body: ${typeOf(schema, 'request', '    ')};`),
    ...filesTaken(content),
    ...(json.length > 0 ? [`answer: ${union(json.map((schema) => typeOf(schema, 'answer', '    ')))};`] : []),
    ...(successes(operation).some((one) => 'text/csv' in one) ? ["file: 'text/csv';"] : []),
  ];
  const summary = comment({ description: operation['summary'] }, '  ');
  return `${summary}  ${id}: {\n${members.map((member) => `    ${member}`).join('\n')}\n  };`;
}

function filesTaken(content: Content): string[] {
  const types = Object.keys(content).filter((type) => type !== JSON_BODY);
  if (types.length === 0) return [];
  const named = types.map((type) => `'${type}'`).join(' | ');
  return ['body: string | Uint8Array | Blob;', `contentType: ${named};`];
}

function parameterMember(where: 'path' | 'query', parameters: Parameter[]): string[] {
  // The names of an object's fields are parameters themselves: all of them begin with its own.
  const open = parameters.filter((one) => one.in === where && one.schema['type'] === 'object');
  const mine = parameters.filter((one) => one.in === where && !open.includes(one));
  if (mine.length + open.length === 0) return [];
  const optional = mine.every(({ required }) => required !== true) ? '?' : '';
  const properties = Object.fromEntries(
    mine.map(({ name, schema, description }) => [
      name,
      { ...schema, ...(description !== undefined && { description }) },
    ]),
  );
  const required = mine.filter((one) => one.required).map(({ name }) => name);
  const members = typeOf({ type: 'object', properties, required }, 'request', '    ');
  const more = open.map(
    ({ name, description }) =>
      `${comment({ description }, '      ')}      [name: \`${name}.\${string}\`]: string | undefined;\n`,
  );
  return [`${where}${optional}: ${members.replace(/ {4}\}$/, `${more.join('')}    }`)};`];
}

function webhookItems(document: OpenApiDocument): string[] {
  return Object.entries(document.webhooks).map(([type, item]) => {
    const { content } = (item['post']?.['requestBody'] ?? {}) as { content?: Content };
    const { data } = fieldsOf(resolved(content?.[JSON_BODY]?.schema, document));
    return `  '${type}': ${typeOf(data?.['items'] ?? {}, 'answer', '  ')};`;
  });
}

function typeOf(schema: JsonSchema, way: Way, indent: string): string {
  const unknown = Object.keys(schema).filter((keyword) => !KEYWORDS.has(keyword));
  if (unknown.length > 0) throw new Error(`no type is known for ${unknown.join(', ')}`);
  if (schema['$ref'] !== undefined) return nameOf(schema['$ref'].replace(/^.*\//, ''));
  if ('const' in schema) return literal(schema['const']);
  if (schema['enum']) return union((schema['enum'] as unknown[]).map(literal));
  const type = schema['type'];
  if (Array.isArray(type))
    return union(type.map((one) => typeOf({ ...schema, type: one as string }, way, indent)));
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return type;
    case 'integer':
      return 'number';
    case 'array':
      return `Array<${typeOf(schema['items'] ?? {}, way, indent)}>`;
    case 'object':
      return objectType(schema, way, indent);
  }
  if (schema.anyOf) return union(schema.anyOf.map((one) => typeOf(one, way, indent)));
  throw new Error(`no type is known for ${JSON.stringify(schema)}`);
}

function objectType(schema: JsonSchema, way: Way, indent: string): string {
  const required = new Set((schema['required'] ?? []) as string[]);
  const properties = Object.entries(fieldsOf(schema));
  const more = schema['additionalProperties'] as JsonSchema | boolean | undefined;
  if (properties.length === 0) {
    const values = typeof more === 'object' ? typeOf(more, way, indent) : 'unknown';
    return `Record<string, ${values}>`;
  }
  const inner = `${indent}  `;
  const members = properties.map(([name, property]) => {
    const optional = required.has(name) ? '' : '?';
    const absent = optional && way === 'request' ? ' | undefined' : '';
    const type = isCurrency(name, property) ? 'string' : typeOf(property, way, inner);
    return `${comment(property, inner)}${inner}${/^\w+$/.test(name) ? name : `'${name}'`}${optional}: ${type}${absent};`;
  });
  return `{\n${members.join('\n')}\n${indent}}`;
}

/** Which currencies it takes is a setting of an installation, and no matter of the API. */
function isCurrency(name: string, schema: JsonSchema): boolean {
  return name === 'currency' && schema['type'] === 'string';
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}

function nameOf(schema: string): string {
  return schema.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function comment(schema: JsonSchema, indent: string): string {
  const text = schema['description'];
  if (typeof text !== 'string') return '';
  const lines = wrapped(
    text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' '),
    COMMENT_COLUMNS - indent.length,
  );
  return lines.length === 1
    ? `${indent}/** ${lines[0]} */\n`
    : `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= columns - 8)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
