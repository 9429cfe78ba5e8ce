import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '../../src/api/openapi/document';
import type { OpenApiOperation, OpenApiResponse } from '../../src/api/openapi/schema';
import { readConfig, type Config } from '../../src/settings/config';
import { runFolder } from './once-per-run';
import type * as Served from './served-document';

/*
 * Holds the API to its own document: every answer that a test gets must be one that the document
 * has for that operation, in status, headers, media type and body. `conformance-setup.ts` puts it
 * under `fetch`, so no test asks for it.
 */

/** A body of one of several forms has the problems of each. */
const MOST_PROBLEMS = 30;

/** One answer, as it came. */
export interface Seen {
  method: string;
  url: URL;
  status: number;
  headers: Headers;
  text: string;
}

class Contract {
  private readonly paths: { pattern: RegExp; template: string }[];
  private readonly validators = new Map<object, ValidateFunction>();
  private readonly compiled = new Map<string, ValidateFunction>();
  private readonly ajv = addFormats(
    // A process of jest has few answers for each schema: what counts is the time that a validator
    // takes to be made.
    new Ajv2020({ strict: false, allErrors: true, code: { optimize: false }, inlineRefs: false }),
  );

  constructor(private readonly document: OpenApiDocument) {
    this.ajv.addSchema(this.document, 'openapi');
    this.paths = Object.keys(this.document.paths)
      // A path that is spelled out comes before one that a parameter would take as well.
      .sort((a, b) => a.split('{').length - b.split('{').length)
      .map((template) => ({
        template,
        pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      }));
  }

  /** Differences from the document; empty if there are none. */
  problemsOf(seen: Seen): string[] {
    const { status, headers, text } = seen;
    const operation = this.operationOf(seen);
    if (!operation) {
      const without = this.templateOf(seen.url) === undefined ? 404 : 405;
      return status === without ? [] : [`${status}, but the document has no such operation`];
    }

    const response = operation.responses[String(status)];
    if (!response) return [`${status} is not among its ${Object.keys(operation.responses).join(', ')}`];
    return [...this.headerProblems(response, headers), ...this.bodyProblems(response, headers, text)];
  }

  /** The operation that was called, if the document has it. */
  operationOf({ method, url }: Pick<Seen, 'method' | 'url'>): OpenApiOperation | undefined {
    const template = this.templateOf(url);
    return template === undefined ? undefined : this.document.paths[template]?.[method.toLowerCase()];
  }

  private templateOf(url: URL): string | undefined {
    return this.paths.find(({ pattern }) => pattern.test(url.pathname))?.template;
  }

  /** The same of a webhook's body, as it came. */
  webhookProblemsOf(type: string, text: string): string[] {
    const schema = (
      this.document.webhooks[type]?.['post']?.['requestBody'] as
        { content: { 'application/json': { schema: object } } } | undefined
    )?.content['application/json'].schema;
    return schema ? this.mismatches(schema, text) : [`the document has no webhook ${type}`];
  }

  private headerProblems(response: OpenApiResponse, headers: Headers): string[] {
    const documented = Object.keys(response.headers ?? {});
    const missing = ALWAYS_THERE.filter((name) => documented.includes(name) && !headers.has(name));
    const unsaid = CONTRACT_HEADERS.filter((name) => headers.has(name) && !documented.includes(name));
    return [
      ...missing.map((name) => `the header ${name} is missing`),
      ...unsaid.map((name) => `the header ${name} is not documented`),
    ];
  }

  private bodyProblems(response: OpenApiResponse, headers: Headers, text: string): string[] {
    const type = (headers.get('content-type') ?? '').split(';')[0] ?? '';
    const { content = {} } = response;
    const media = content[type];
    if (!media) return [`${type} is not among its ${Object.keys(content).join(', ')}`];
    return type === 'application/json'
      ? [...this.mismatches(media.schema, text), ...codeProblems(response, text)]
      : [];
  }

  private mismatches(schema: object, text: string): string[] {
    const validate = this.validatorOf(schema);
    return validate(JSON.parse(text))
      ? []
      : (validate.errors ?? [])
          .slice(0, MOST_PROBLEMS)
          .map(
            ({ instancePath, message, params }) =>
              `${instancePath || 'body'} ${message} ${JSON.stringify(params)}`,
          );
  }

  private validatorOf(schema: object): ValidateFunction {
    let validate = this.validators.get(schema);
    if (!validate) {
      // References are to components of the whole document.
      const local = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi#/');
      // Many operations answer alike, and compiling a schema takes long.
      validate = this.compiled.get(local) ?? this.ajv.compile(JSON.parse(local) as object);
      this.compiled.set(local, validate);
      this.validators.set(schema, validate);
    }
    return validate;
  }
}

/** A refusal's code is one that the document names for this operation and this status. */
function codeProblems({ description }: OpenApiResponse, text: string): string[] {
  const { code } = JSON.parse(text) as { code?: string };
  return code === undefined || description.includes(`\`${code}\``)
    ? []
    : [`the code ${code} is not documented`];
}

/** Headers that every answer has for which they are documented. */
const ALWAYS_THERE = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit'];

/**
 * Headers that clients act on: an answer that has one without the document saying so is a surprise.
 */
const CONTRACT_HEADERS = [
  'Retry-After',
  'Idempotent-Replayed',
  'RateLimit',
  'WWW-Authenticate',
  'Content-Disposition',
];

/**
 * The settings of each API that a test serves itself; those of others are taken to be the defaults.
 */
const settings = new Map<string, Config>();

export function knowApi(url: string, config: Config): void {
  settings.set(url, config);
}

/** All files of a process have the same ones: to compile their schemas takes long. */
const shared = globalThis as { assentContracts?: Map<string, Contract> };
const contracts = (shared.assentContracts ??= new Map<string, Contract>());

export function contractAt(origin: string): Contract {
  const config = settings.get(origin);
  // The document follows the routes that there are, and their bodies.
  const key = JSON.stringify([
    config?.ASSENT_MODE,
    config?.ACCEPTED_CURRENCIES,
    config?.ALLOW_PRIVATE_WEBHOOKS,
  ]);
  let contract = contracts.get(key);
  if (!contract) contracts.set(key, (contract = new Contract(documentOf(key, config ?? readConfig({})))));
  return contract;
}

/** Made once for all test files of a run: it takes a second, and loads the whole API. */
function documentOf(key: string, config: Config): OpenApiDocument {
  const file = path.join(runFolder(), `openapi-${createHash('sha256').update(key).digest('hex')}.json`);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as OpenApiDocument;
  } catch {
    const { servedDocument } = require('./served-document') as typeof Served;
    const document = servedDocument(config);
    mkdirSync(runFolder(), { recursive: true });
    // In one step, so that nobody reads half of it.
    writeFileSync(`${file}.${process.pid}`, JSON.stringify(document));
    renameSync(`${file}.${process.pid}`, file);
    return document;
  }
}

export function defaultContract(): Contract {
  return contractAt('');
}
