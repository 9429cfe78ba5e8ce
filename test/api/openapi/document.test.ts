import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { z } from 'zod';
import { routes } from '../../../src/api/app';
import { openApiDocument } from '../../../src/api/openapi/document';
import { nameSchemas } from '../../../src/api/openapi/names';
import { bodyFor, type Route } from '../../../src/api/http/route';
import { check } from '../../../src/api/http/validation';
import { readConfig, type Config } from '../../../src/settings/config';
import { blocksRunBy } from '../../support/code-blocks';

const config = readConfig({});
const document = openApiDocument(routes({ config }));

/** Takes what its schemas take; each is made for few values. */
const ajvOf = (described: typeof document) =>
  addFormats(new Ajv2020({ strict: false, code: { optimize: false }, inlineRefs: false })).addSchema(
    described,
    'openapi',
  );

/** All combinations of what each field may be; undefined for left out. */
const combinations = (fields: Record<string, unknown[]>): object[] =>
  Object.entries(fields).reduce<object[]>(
    (bodies, [name, values]) =>
      bodies.flatMap((body) =>
        values.map((value) => (value === undefined ? body : { ...body, [name]: value })),
      ),
    [{}],
  );

const id = (prefix: string) => [`${prefix}_${'0'.repeat(26)}`];

/** Requests to operations where a rule is about several fields, or about what a text says. */
const REQUESTS: Record<string, object[]> = {
  'post /v1/billing/bank-response': combinations({
    billingRequestId: id('brq'),
    action: [undefined, 'approve_once', 'approve_recurring', 'deny', 'suspended', 'x'],
    bankTransactionId: ['debit-1'],
  }),
  'post /v1/bank/refund-response': combinations({
    refundId: id('rfd'),
    action: [undefined, 'completed', 'rejected'],
    bankTransactionId: ['credit-1'],
    reason: [undefined, 'account closed'],
  }),
  'post /v1/customer/bill': combinations({
    paymentIDs: [['a']],
    amount: [0, 10, 10_000_000_000, 10_000_000_001],
    currency: ['NGN'],
    description: ['x'],
  }),
  'post /v1/billing/recurring/create': combinations({
    customerId: id('cus'),
    paymentID: ['a'],
    amount: [10],
    currency: ['NGN'],
    frequency: ['daily', 'x'],
    interval: [undefined, 0, 1, 1095, 1096, 1.5],
  }),
  'post /v1/billing/intent': combinations({
    lookupIDs: [['a']],
    currency: ['NGN'],
    description: ['x'],
    intentSettings: [
      '1970-01-01T00:00:00Z',
      '1969-12-31T23:59:59Z',
      '9999-12-31T23:59:59.999999999+00:00',
      '2026-03-01t09:00:00.5-01:00',
      '2026-03-01T09:00:00',
      '2026-03-01T23:59:60Z',
      '2026-03-01',
    ].map((dueDate) => ({ dueDate })),
  }),
  'post /v1/devices': combinations({
    fingerprint: [
      'x'.repeat(15),
      'x'.repeat(16),
      ` ${'x'.repeat(16)} `,
      ` ${'x'.repeat(14)} `,
      `x${' '.repeat(15)}`,
      'x'.repeat(513),
    ],
  }),
  'put /v1/webhooks/endpoint': combinations({
    url: [
      null,
      'http://127.0.0.1:65535/a',
      'https://a.example?x=%20',
      'https://a.example:65536/',
      'https://ñ.example/',
      'https://a.example/a b',
      'https://user@a.example/',
      'ftp://a.example/',
    ],
  }),
  'post /v1/provider/merchants': combinations({
    email: [
      "o'neil+shop@mail.example.com",
      `${'x'.repeat(64)}@${'y'.repeat(63)}.example`,
      `${'x'.repeat(65)}@a.example`,
      `x@${'y'.repeat(64)}.example`,
      'x@a.xn--p1ai',
      'x@a-.example',
      'x@-a.example',
      'x@a.example-',
      'x..y@a.example',
      'x@localhost',
    ],
  }).map((one) => ({ merchants: [{ ...one, name: 'Shop', clientRef: 'a' }] })),
};

/** The requests whose answers the blocks of the pages are, in their order. */
const SHOWN: { method: string; path: string; status: number; dataAlone?: true }[] = [
  { method: 'get', path: '/v1/webhooks/endpoint', status: 200 },
  { method: 'get', path: '/v1/transaction-history', status: 400 },
  { method: 'post', path: '/v1/customer/bill', status: 201 },
  { method: 'get', path: '/v1/bank/statements/{statementId}', status: 200, dataAlone: true },
];

describe('the document', () => {
  it('takes the answers that the pages show', () => {
    const answers = [
      ...blocksRunBy('test/api/openapi/document.test.ts', 'docs/api.md'),
      ...blocksRunBy('test/api/openapi/document.test.ts', 'docs/bank-files.md'),
    ];
    expect(answers).toHaveLength(SHOWN.length);
    const ajv = ajvOf(document);
    const problems = SHOWN.map(({ method, path, status, dataAlone }, n) => {
      const media = document.paths[path]?.[method]?.responses[status]?.content?.['application/json'];
      if (!media) throw new Error(`the document has no such answer: ${method} ${path} ${status}`);
      const local = JSON.stringify(media.schema).replaceAll('"$ref":"#/', '"$ref":"openapi#/');
      const validate = ajv.compile(JSON.parse(local) as object);
      const shown = JSON.parse(answers[n]?.text ?? '') as object;
      validate(dataAlone ? { statusCode: status, success: true, message: 'Found', data: shown } : shown);
      return { path, problems: (validate.errors ?? []).map((one) => `${one.instancePath} ${one.message}`) };
    });
    expect(problems).toEqual(SHOWN.map(({ path }) => ({ path, problems: [] })));
  });

  it('has every route of the table, and nothing that is none', () => {
    const table = routes({ config }).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
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
    const served = openApiDocument(routes({ config: settings }));
    const ajv = ajvOf(served);
    // Many bodies have the same schema, and compiling one takes long.
    const validators = new Map<string, ValidateFunction>();
    const wrong: string[] = [];
    let seen = 0;
    JSON.stringify(served, (_key, value: unknown) => {
      const { schema, example } = (value ?? {}) as { schema?: object; example?: unknown };
      if (schema === undefined || example === undefined) return value;
      seen += 1;
      const local = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi#/');
      const validate = validators.get(local) ?? ajv.compile(JSON.parse(local) as object);
      validators.set(local, validate);
      if (!validate(example)) wrong.push(`${JSON.stringify(example)}: ${ajv.errorsText(validate.errors)}`);
      return value;
    });
    expect(wrong).toEqual([]);
    expect(seen).toBeGreaterThan(300);
  });

  it('asks of a request what the API asks of it', () => {
    const ajv = ajvOf(document);
    const table: Route[] = routes({ config });
    const disagreed: string[] = [];
    const judged = new Set<string>();
    for (const [key, bodies] of Object.entries(REQUESTS)) {
      const [method = '', path = ''] = key.split(' ');
      const one = table.find((entry) => entry.path === path && entry.method === method);
      const operation = document.paths[path]?.[method] as unknown as {
        requestBody: { content: { 'application/json': { schema: object } } };
      };
      const { schema } = operation.requestBody.content['application/json'];
      const documented = ajv.compile(
        JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi#/')) as object,
      );
      for (const body of bodies) {
        const takes =
          check((one && bodyFor(one.options, 'merchant')) ?? z.never(), body, '').problems === undefined;
        if (documented(body) !== takes)
          disagreed.push(`${key} ${takes ? 'takes' : 'refuses'} ${JSON.stringify(body)}`);
        judged.add(`${key} ${takes}`);
      }
    }
    expect(disagreed).toEqual([]);
    // Neither side agrees by refusing, or taking, whatever comes.
    expect(judged.size).toBe(2 * Object.keys(REQUESTS).length);
  });

  it('has one form for each object, of which code generators make one class', () => {
    const several: string[] = [];
    const inspect = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { properties, anyOf, oneOf } = value as Record<string, unknown>;
      if (properties && (anyOf ?? oneOf)) several.push(path);
      for (const [name, property] of Object.entries(properties ?? {})) {
        if (typeof property === 'boolean') several.push(`${path}.${name}`);
      }
      for (const [name, inner] of Object.entries(value)) inspect(inner, `${path}/${name}`);
    };
    inspect(document, '');
    expect(several).toEqual([]);
    const token = document.paths['/v1/oauth/token']?.['post'] as unknown as {
      requestBody: { content: object };
    };
    expect(Object.keys(token.requestBody.content)).toEqual(['application/x-www-form-urlencoded']);
  });

  it('names each object, and each choice of objects, once: generators call their classes so', () => {
    const { schemas } = document['components'] as { schemas: Record<string, object> };
    const unnamed: string[] = [];
    const inspect = (value: unknown, path: string, isNamed = false): void => {
      if (typeof value !== 'object' || value === null) return;
      const { type, properties, anyOf } = value as Record<string, unknown>;
      const choices = Array.isArray(anyOf) ? (anyOf as Record<string, unknown>[]) : [];
      const isChoice = choices.filter((one) => '$ref' in one || 'properties' in one).length > 1;
      if (!isNamed && (isChoice || (properties !== undefined && type === 'object'))) unnamed.push(path);
      // Generators take several types for none.
      if (Array.isArray(type) && !(type.length === 2 && type.includes('null'))) unnamed.push(`${path}.type`);
      for (const [name, inner] of Object.entries(value)) {
        if (name !== 'example' && name !== 'examples') inspect(inner, `${path}/${name}`);
      }
    };
    inspect(document.paths, 'paths');
    for (const [type, { post }] of Object.entries(document.webhooks))
      inspect(post?.requestBody?.content?.['application/json']?.schema, type, true);
    for (const [name, schema] of Object.entries(schemas)) {
      inspect(schema, name, true);
      expect(schema).toMatchObject({ title: name });
      expect(name).toMatch(/^[A-Z][A-Za-z0-9]*$/);
    }
    expect(unnamed).toEqual([]);
    const lower = Object.keys(schemas).map((name) => name.toLowerCase());
    expect(new Set(lower).size).toBe(lower.length);
    // As the generated clients of `npm run fuzz:client` write them.
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining([
        'BillCustomersBody',
        'BillCustomersBodyByMerchant',
        'BillCustomersResultItemAccepted',
        'BillCustomersRefusal403',
        'BillingRequestEvent',
      ]),
    );
  });

  it('is not made where two schemas have one name: generators would make one class of them', () => {
    const schema = { type: 'object', properties: { reason: { type: 'string' } } };
    const responses = { 200: { description: 'Found', content: { 'application/json': { schema } } } };
    const paths = { '/refund': { get: { operationId: 'getRefund', tags: [], security: [], responses } } };
    expect(() => nameSchemas(paths, {}, { GetRefundResult: { type: 'object' } })).toThrow(
      'two schemas are named GetRefundResult',
    );
  });

  it('says of every field that we send what it is, and that there are no others', () => {
    const loose: string[] = [];
    const inspect = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null || path.endsWith('.metadata')) return;
      const schema = value as Record<string, unknown>;
      if (!Array.isArray(value)) {
        const says = ['type', 'enum', 'const', '$ref', 'anyOf'].some((key) => key in schema);
        if (!says || (schema['type'] === 'object' && schema['additionalProperties'] !== false)) {
          loose.push(path);
        }
      }
      for (const key of ['properties', 'anyOf'] as const) {
        for (const [name, inner] of Object.entries(schema[key] ?? {})) inspect(inner, `${path}.${name}`);
      }
      if ('items' in schema) inspect(schema['items'], `${path}[]`);
    };
    const { schemas } = document['components'] as {
      schemas: Record<string, { additionalProperties?: unknown }>;
    };
    for (const [name, schema] of Object.entries(schemas)) {
      // What callers send is theirs, and so is what metadata has.
      if (!/Body|Metadata$/.test(name)) inspect(schema, name);
    }
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        for (const [status, { content = {} }] of Object.entries(responses)) {
          for (const { schema } of Object.values(content)) inspect(schema, `${method} ${path} ${status}`);
        }
      }
    }
    // The token endpoint ignores fields beyond RFC 6749; a bank's files reach days by currency; the
    // document has a form of its own.
    expect(loose).toEqual(['TokenRequest', 'ListBankStatementsResultData.reached', 'get /openapi.json 200']);
  });
});
