import type { OpenApiDocument } from '../src/api/openapi/document';
import type { JsonSchema } from '../src/api/openapi/schema';
import { anchorOf, codeBlock, escaped, render } from './markdown';
import { all, bodyOf, parametersOf, requestBodyOf, resolved, type Body, type Described } from './operation';
import { samplesOf } from './samples';

/** The reference: each operation of the OpenAPI document, with its call in each language. */

/** A section of the reference, as its page. */
export interface ReferencePage {
  slug: string;
  title: string;
  operations: { id: string; title: string; text: string }[];
  html: string;
}

/** The build knows no engine's settings. */
const DEFAULTS = `<p class="small quiet">Currencies and limits are the defaults here, and the test clock is the
  sandbox's. <a href="/openapi.json">/openapi.json</a> has the currencies and operations of this engine, the header
  <code>RateLimit-Policy</code> of each response its limits.</p>`;

export function referencePages(document: OpenApiDocument): ReferencePage[] {
  const described = [...all(document, document.paths), ...all(document, document.webhooks)];
  return (document['tags'] as { name: string; description: string }[]).map(({ name, description }) => {
    const own = described.filter(({ operation }) => operation.tags.includes(name));
    return {
      slug: anchorOf(name),
      title: name,
      operations: own.map(({ id, operation, path }) => ({
        id,
        title: String(operation['summary']),
        text: `${path} ${id}`,
      })),
      html: `<h1>${name}</h1>${render(description).html}${DEFAULTS}${own.map(drawn).join('')}`,
    };
  });
}

function drawn(one: Described): string {
  const { id, method, path, operation, document } = one;
  const isWebhook = path in document.webhooks;
  const body = requestBodyOf(one);
  const [[status, answer] = []] = Object.entries(operation.responses);
  const answered = bodyOf(answer?.content);
  const parameters = parametersOf(one);
  const refusals = Object.entries(operation.responses).filter(([code]) => Number(code) >= 400);
  const draw = (schema: JsonSchema) => fields(schema, document);
  return [
    `<section class="operation" id="${id}"><div>`,
    `<h2><a href="#${id}">${escaped(String(operation['summary']))}</a></h2>`,
    `<p class="call"><span class="method ${method}">${isWebhook ? 'webhook' : method.toUpperCase()}</span> <code>${escaped(path)}</code></p>`,
    operation['deprecated']
      ? `<p class="notice">Deprecated: answers until ${operation['x-sunset'] as string}.</p>`
      : '',
    render(String(operation['description'])).html,
    parameters.length > 0
      ? `<h3>Parameters</h3><ul class="fields">${parameters.map((each) => field(each.name, each.schema, each.required ?? false, document, 0, each.description)).join('')}</ul>`
      : '',
    body ? `<h3>${isWebhook ? 'What it carries' : 'Body'}</h3>${draw(body.schema)}` : '',
    answered && !isWebhook ? `<h3>Response ${status}</h3>${draw(answered.schema)}` : '',
    !isWebhook && refusals.length > 0
      ? `<details><summary>Refusals</summary><ul>${refusals.map(([code, { description }]) => `<li><strong>${code}</strong> ${render(description).html}</li>`).join('')}</ul></details>`
      : '',
    '</div><div class="examples">',
    isWebhook ? '' : tabs(id, samplesOf(one)),
    example(isWebhook ? 'Body' : `Response ${status}`, isWebhook ? body : answered),
    '</div></section>',
  ].join('');
}

function tabs(id: string, shown: Record<string, [language: string, text: string]>): string {
  const names = Object.keys(shown);
  const button = (name: string, n: number) =>
    `<button type="button" role="tab" id="${id}-${name}-tab" aria-controls="${id}-${name}" aria-selected="${n === 0}" data-language="${name}">${name}</button>`;
  const panel = (name: string, n: number) =>
    `<div role="tabpanel" id="${id}-${name}" aria-labelledby="${id}-${name}-tab"${n > 0 ? ' hidden' : ''}>${codeBlock(shown[name]?.[1] ?? '', shown[name]?.[0] ?? '')}</div>`;
  return `<div class="tabs"><div role="tablist" aria-label="Language">${names.map(button).join('')}</div>${names.map(panel).join('')}</div>`;
}

function example(title: string, body: Body | undefined): string {
  if (body?.example === undefined) return '';
  const text = typeof body.example === 'string' ? body.example : JSON.stringify(body.example, undefined, 2);
  return `<p class="over">${title}</p>${codeBlock(text, 'json')}`;
}

/** Deeper than any field that the pages tell of. */
const DEPTH_MAX = 6;

/** The fields of an object, of each kind of object, or of an array's items. */
function fields(given: JsonSchema, document: OpenApiDocument, depth = 0): string {
  const schema = resolved(given, document);
  const kinds = kindsOf(schema, document);
  if (depth > DEPTH_MAX) return '';
  if (kinds.length > 1)
    return kinds
      .map(
        (kind, n) =>
          `<details${n === 0 ? ' open' : ''}><summary>${kindName(kind)}</summary>${fields(kind, document, depth + 1)}</details>`,
      )
      .join('');
  const [only] = kinds;
  if (!only) return '';
  if (only['items']) return fields(only['items'], document, depth);
  const required = (only['required'] ?? []) as string[];
  const rows = Object.entries(only['properties'] ?? {}).map(([name, inner]) =>
    field(name, inner, required.includes(name), document, depth),
  );
  return rows.length > 0 ? `<ul class="fields">${rows.join('')}</ul>` : '';
}

/** Schemas worth drawing: objects, and arrays of them. */
function kindsOf(schema: JsonSchema, document: OpenApiDocument): JsonSchema[] {
  const several = (schema['anyOf'] ?? schema['oneOf']) as JsonSchema[] | undefined;
  if (several) return several.flatMap((one) => kindsOf(resolved(one, document), document));
  const items = schema['items'];
  if (items) return kindsOf(resolved(items, document), document).length > 0 ? [schema] : [];
  return schema['properties'] ? [schema] : [];
}

function kindName(kind: JsonSchema): string {
  const roles = kind['x-roles'] as string[] | undefined;
  return escaped(roles ? `A ${roles.join(' or a ')} sends this` : String(kind['description']));
}

function field(
  name: string,
  given: JsonSchema,
  isRequired: boolean,
  document: OpenApiDocument,
  depth: number,
  about = aboutOf(resolved(given, document), document),
): string {
  const schema = resolved(given, document);
  const inner = fields(schema, document, depth + 1);
  return [
    `<li><code>${escaped(name)}</code> <span class="quiet">${escaped(typeOf(schema, document))}${isRequired ? '' : ', optional'}</span>`,
    about ? render(about).html : '',
    inner && `<details><summary>Fields</summary>${inner}</details>`,
    '</li>',
  ].join('');
}

/** The schema of one item describes a list of them. */
function aboutOf({ description, items }: JsonSchema, document: OpenApiDocument): string | undefined {
  if (description !== undefined || items === undefined) return description as string | undefined;
  return aboutOf(resolved(items, document), document);
}

function typeOf(given: JsonSchema, document: OpenApiDocument): string {
  const schema = resolved(given, document);
  if (schema['const'] !== undefined) return JSON.stringify(schema['const']);
  if (schema['enum']) {
    const words = schema['enum'] as unknown[];
    return words.length > 12 ? 'one of many words' : words.map((word) => String(word)).join(' | ');
  }
  const several = (schema['anyOf'] ?? schema['oneOf']) as JsonSchema[] | undefined;
  if (several) return [...new Set(several.map((one) => typeOf(one, document)))].join(' | ');
  if (schema['type'] === 'array') return `array of ${typeOf(schema['items'] as JsonSchema, document)}`;
  const { format, type = 'any' } = schema as { format?: string; type?: string | string[] };
  return format ?? [type].flat().join(' | ');
}
