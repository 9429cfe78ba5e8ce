import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { routes } from '../../../src/api/app';
import { openApiDocument } from '../../../src/api/openapi/document';
import { OPERATIONS } from '../../../src/api/openapi/operations';
import { readConfig, type Config } from '../../../src/config';

const config = readConfig({});
const document = openApiDocument(routes({ config }), OPERATIONS);

describe('the document', () => {
  it('has every route of the table, and nothing that is none', () => {
    const table = routes({ config }).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(Object.keys(OPERATIONS).toSorted()).toEqual(table.toSorted());

    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(described.toSorted()).toEqual(
      [
        ...table,
        'POST /v1/oauth/token',
        'GET /healthz',
        'GET /readyz',
        'GET /.well-known/jwks.json',
        'GET /openapi.json',
      ].toSorted(),
    );
  });

  const elsewhere: Config = { ...config, ASSENT_MODE: 'production', ACCEPTED_CURRENCIES: ['JPY', 'KES'] };

  it.each([
    ['by default', config],
    ['in production, with currencies of its own', elsewhere],
  ])('has an example of every body, which its schema takes, %s', (_, settings) => {
    const served = openApiDocument(routes({ config: settings }), OPERATIONS);
    const ajv = addFormats(new Ajv2020({ strict: false }));
    ajv.addSchema(served, 'openapi');
    const wrong: string[] = [];
    let seen = 0;
    JSON.stringify(served, (_key, value: unknown) => {
      const { schema, example } = (value ?? {}) as { schema?: object; example?: unknown };
      if (schema === undefined || example === undefined) return value;
      seen += 1;
      const local = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi#/');
      const validate = ajv.compile(JSON.parse(local) as object);
      if (!validate(example)) wrong.push(`${JSON.stringify(example)}: ${ajv.errorsText(validate.errors)}`);
      return value;
    });
    expect(wrong).toEqual([]);
    expect(seen).toBeGreaterThan(300);
  });

  it('says of every field that we send what it is, and that there are no others', () => {
    const loose: string[] = [];
    const look = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null || path.endsWith('.metadata')) return;
      const schema = value as Record<string, unknown>;
      if (!Array.isArray(value)) {
        const says = ['type', 'enum', 'const', '$ref', 'anyOf'].some((key) => key in schema);
        if (!says || (schema['type'] === 'object' && schema['additionalProperties'] !== false)) {
          loose.push(path);
        }
      }
      for (const key of ['properties', 'anyOf'] as const) {
        for (const [name, inner] of Object.entries(schema[key] ?? {})) look(inner, `${path}.${name}`);
      }
      if ('items' in schema) look(schema['items'], `${path}[]`);
    };
    const { schemas } = document['components'] as {
      schemas: Record<string, { additionalProperties?: unknown }>;
    };
    for (const [name, schema] of Object.entries(schemas)) look(schema, name);
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        for (const [status, { content = {} }] of Object.entries(responses)) {
          for (const { schema } of Object.values(content)) look(schema, `${method} ${path} ${status}`);
        }
      }
    }
    // What a client sends beyond RFC 6749 is ignored; and the document has a form of its own.
    expect(loose).toEqual(['TokenRequest', 'get /openapi.json 200']);
  });
});
