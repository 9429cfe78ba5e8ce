import { strToU8, zipSync } from 'fflate';
import type { OpenApiDocument } from '../src/api/openapi/document';
import {
  all,
  exampleOf,
  isKeyed,
  needed,
  needsToken,
  parametersOf,
  requestBodyOf,
  type Body,
  type Described,
} from './operation';

/** The operations as a collection for Bruno (usebruno.com), in the folders of the reference. */

/** Bruno's own writer, without types. */
const bru = require('@usebruno/lang') as Record<
  'jsonToBruV2' | 'jsonToCollectionBru' | 'envJsonToBruV2',
  (json: object) => string
>;

const NAME = 'Assent';
/** The one body of a file, which stands beside the requests. */
const [FILE, FILE_TYPE] = ['statement.csv', 'text/csv'];

/** @returns a zip, which Bruno imports, or opens once it is unpacked */
export function brunoCollection(document: OpenApiDocument): Uint8Array {
  const described = all(document, document.paths);
  const folders = (document['tags'] as { name: string }[]).map(({ name }) => ({
    name,
    own: described.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const files = new Map([
    ['bruno.json', JSON.stringify({ version: '1', name: NAME, type: 'collection' })],
    ['collection.bru', bru.jsonToCollectionBru({ auth: { mode: 'oauth2', oauth2: TOKEN } })],
    ['environments/Sandbox.bru', bru.envJsonToBruV2({ variables: VARIABLES })],
    [FILE, String(described.map(requestBodyOf).find((body) => body?.type === FILE_TYPE)?.example)],
    ...folders
      .filter(({ own }) => own.length > 0)
      .flatMap(({ name, own }, n) => [
        [`${name}/folder.bru`, bru.jsonToCollectionBru({ meta: { name, seq: n + 1 } })] as const,
        ...own.map((one, at) => [`${name}/${one.id}.bru`, requestOf(one, at + 1)] as const),
      ]),
  ]);
  // The same bytes from each build.
  const options = { mtime: '1980-01-01' };
  return zipSync(
    Object.fromEntries([...files].map(([name, text]) => [`${NAME}/${name}`, [strToU8(text), options]])),
  );
}

/** Bruno fetches a token, keeps it while it is good, and fetches the next. */
const TOKEN = {
  grantType: 'client_credentials',
  accessTokenUrl: '{{baseUrl}}/v1/oauth/token',
  clientId: '{{clientId}}',
  clientSecret: '{{clientSecret}}',
  scope: '{{scope}}',
  credentialsPlacement: 'body',
  credentialsId: 'credentials',
  tokenPlacement: 'header',
  tokenHeaderPrefix: 'Bearer',
  autoFetchToken: true,
  autoRefreshToken: false,
};

/** A secret stays on the machine, out of the collection's files. */
const VARIABLES = [
  { name: 'baseUrl', value: 'http://localhost:3000', enabled: true },
  { name: 'clientId', value: '', enabled: true },
  { name: 'scope', value: '', enabled: true },
  { name: 'clientSecret', value: '', enabled: true, secret: true },
];

const OWN: Record<string, string> = {
  client_id: TOKEN.clientId,
  client_secret: TOKEN.clientSecret,
  scope: TOKEN.scope,
};

function requestOf(one: Described, seq: number): string {
  const { method, path, operation, document } = one;
  const params = parametersOf(one).map(({ name, in: type, required: enabled = false, schema }) => ({
    name,
    value: String(exampleOf(schema, document)),
    type,
    enabled,
  }));
  const query = new URLSearchParams(needed(one, 'query')).toString();
  const { mode = 'none', ...body } = bodyIn(requestBodyOf(one));
  return bru.jsonToBruV2({
    meta: { name: String(operation['summary']), type: 'http', seq },
    http: {
      method,
      url: `{{baseUrl}}${path.replaceAll(/\{(\w+)\}/g, ':$1')}${query && `?${decodeURIComponent(query)}`}`,
      body: mode,
      auth: needsToken(one) ? 'inherit' : 'none',
    },
    params,
    headers: isKeyed(one) ? [{ name: 'Idempotency-Key', value: '{{$guid}}', enabled: true }] : [],
    body,
    settings: { encodeUrl: true },
    docs: String(operation['description']),
  });
}

/** A body, and what Bruno calls its kind. */
function bodyIn(body: Body | undefined) {
  if (!body) return {};
  const { type, example } = body;
  if (type === 'application/json') return { mode: 'json', json: JSON.stringify(example, undefined, 2) };
  if (type === FILE_TYPE)
    return { mode: 'file', file: [{ filePath: FILE, contentType: type, selected: true }] };
  const fields = Object.entries(example as Record<string, string>);
  return {
    mode: 'formUrlEncoded',
    formUrlEncoded: fields.map(([name, value]) => ({ name, value: OWN[name] ?? value, enabled: true })),
  };
}
