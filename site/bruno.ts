import { strToU8, zipSync } from 'fflate';
import type { OpenApiDocument } from '../src/api/openapi/document';
import { all, exampleOf, isKeyed, needed, needsToken, parametersOf, requestBodyOf } from './operation';
import type { Described } from './operation';

/** The operations as a collection for Bruno (usebruno.com), in the folders of the reference. */

/** Bruno's own writer, without types. */
const bru = require('@usebruno/lang') as Record<
  'jsonToBruV2' | 'jsonToCollectionBru' | 'envJsonToBruV2',
  (json: object) => string
>;

/** Bruno fetches a token, keeps it while it is good, and fetches the next. */
const TOKEN = {
  grantType: 'client_credentials',
  accessTokenUrl: '{{baseUrl}}/v1/oauth/token',
  clientId: '{{client_id}}',
  clientSecret: '{{client_secret}}',
  scope: '{{scope}}',
  credentialsPlacement: 'body',
  credentialsId: 'credentials',
  tokenPlacement: 'header',
  tokenHeaderPrefix: 'Bearer',
};
const VARIABLES = { baseUrl: 'http://localhost:3000', client_id: '', client_secret: '', scope: '' };
/** The body of a file stands beside the requests. */
const FILE = 'statement.csv';

/** @returns a zip, which Bruno imports, or opens once it is unpacked */
export function brunoCollection(document: OpenApiDocument): Uint8Array {
  const described = all(document, document.paths);
  const folders = new Set(described.map(folderOf));
  // Bruno keeps a secret on the machine, out of the collection's files.
  const variables = Object.entries(VARIABLES).map(([name, value]) => {
    return { name, value, enabled: true, secret: name === 'client_secret' };
  });
  const file = described.map(requestBodyOf).find((body) => body?.type === 'text/csv');
  const files: [name: string, text: string][] = [
    ['bruno.json', JSON.stringify({ version: '1', name: 'Assent', type: 'collection' })],
    ['collection.bru', bru.jsonToCollectionBru({ auth: { mode: 'oauth2', oauth2: TOKEN } })],
    ['environments/Sandbox.bru', bru.envJsonToBruV2({ variables })],
    [FILE, String(file?.example)],
    ...(document['tags'] as { name: string }[]).flatMap(({ name }, n): [string, string][] =>
      folders.has(name)
        ? [[`${name}/folder.bru`, bru.jsonToCollectionBru({ meta: { name, seq: n + 1 } })]]
        : [],
    ),
    ...described.map((one, n): [string, string] => [`${folderOf(one)}/${one.id}.bru`, requestOf(one, n + 1)]),
  ];
  return zipSync(Object.fromEntries(files.map(([name, text]) => [`Assent/${name}`, strToU8(text)])));
}

const folderOf = ({ operation }: Described) => operation.tags[0] ?? '';

function requestOf(one: Described, seq: number): string {
  const { method, path, operation, document } = one;
  const query = decodeURIComponent(new URLSearchParams(needed(one, 'query')).toString());
  const { mode = 'none', ...body } = bodyOfRequest(one);
  return bru.jsonToBruV2({
    meta: { name: String(operation['summary']), type: 'http', seq },
    http: {
      method,
      url: `{{baseUrl}}${path.replaceAll(/\{(\w+)\}/g, ':$1')}${query && `?${query}`}`,
      body: mode,
      auth: needsToken(one) ? 'inherit' : 'none',
    },
    params: parametersOf(one).map(({ name, in: type, required: enabled = false, schema }) => {
      return { name, type, enabled, value: String(exampleOf(schema, document)) };
    }),
    headers: isKeyed(one) ? [{ name: 'Idempotency-Key', value: '{{$guid}}', enabled: true }] : [],
    body,
    settings: { encodeUrl: true },
    docs: String(operation['description']),
  });
}

/** A body, and what Bruno calls its kind. */
function bodyOfRequest(one: Described) {
  const { type, example } = requestBodyOf(one) ?? {};
  if (type === undefined) return {};
  if (type === 'application/json') return { mode: 'json', json: JSON.stringify(example, undefined, 2) };
  if (type === 'text/csv')
    return { mode: 'file', file: [{ filePath: FILE, contentType: type, selected: true }] };
  const fields = Object.entries(example as Record<string, string>).map(([name, value]) => {
    return { name, value: name in VARIABLES ? `{{${name}}}` : value, enabled: true };
  });
  return { mode: 'formUrlEncoded', formUrlEncoded: fields };
}
