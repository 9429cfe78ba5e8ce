import { OPERATIONS } from '../packages/client/src/api.generated';
import { bodyOf, isKeyed, needsToken, needed, requestBodyOf, type Body, type Described } from './operation';

/** The call of an operation in each language, with the examples of its document. */

export const samplesOf = (one: Described): Record<string, [language: string, text: string]> => ({
  curl: ['sh', curl(one)],
  TypeScript: ['ts', typeScript(one)],
  Python: ['python', python(one)],
});

/** The example of a call that is sent again. */
const KEY = 'order-4711';
const TOKEN_PATH = '/v1/oauth/token';

const addressOf = (one: Described) => {
  const values = new Map(needed(one, 'path'));
  return one.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values.get(name) ?? ''));
};

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function curl(one: Described): string {
  const query = new URLSearchParams(needed(one, 'query')).toString();
  const body = requestBodyOf(one);
  // curl makes a GET of a call without a body, and a POST of another.
  const verb = one.method === (body ? 'post' : 'get') ? '' : `-X ${one.method.toUpperCase()} `;
  return [
    `curl ${verb}"$ASSENT${addressOf(one)}${query && `?${query}`}"`,
    ...(needsToken(one) ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...(isKeyed(one) ? [`-H 'Idempotency-Key: ${KEY}'`] : []),
    ...(body ? dataOf(body) : []),
  ].join(' \\\n  ');
}

/** The client's own take the place of the examples. */
const OWN: Record<string, string> = { client_id: 'CLIENT_ID', client_secret: 'CLIENT_SECRET' };

function dataOf({ type, example: shown }: Body): string[] {
  if (type.endsWith('urlencoded'))
    return Object.entries(shown as Record<string, string>).map(
      ([name, value]) => `--data-urlencode ${name}=${name in OWN ? `"$${OWN[name]}"` : quoted(value)}`,
    );
  const data =
    type === 'application/json'
      ? `-d ${quoted(JSON.stringify(shown, undefined, 2))}`
      : '--data-binary @statement.csv';
  return [`-H 'Content-Type: ${type}'`, data];
}

const CLIENT = `// Fetches a token, keeps it, and renews it in time.
const assent = new AssentClient({
  baseUrl: process.env.ASSENT_URL ?? '',
  clientId: process.env.CLIENT_ID ?? '',
  clientSecret: process.env.CLIENT_SECRET ?? '',
});`;

function typeScript(one: Described): string {
  const { id, path, operation } = one;
  if (path === TOKEN_PATH) return CLIENT;
  if (!(id in OPERATIONS))
    return `const response = await fetch(\`\${process.env.ASSENT_URL}${path}\`);\nconsole.log(await response.text());`;
  const { list } = OPERATIONS[id as keyof typeof OPERATIONS] as { list?: object };
  const [paths, queries] = [needed(one, 'path'), needed(one, 'query')];
  const body = requestBodyOf(one);
  const request = {
    ...(paths.length > 0 && { path: Object.fromEntries(paths) }),
    ...(queries.length > 0 && { query: Object.fromEntries(queries) }),
    ...(body && { body: body.example, ...(body.type !== 'application/json' && { contentType: body.type }) }),
    ...(isKeyed(one) && { idempotencyKey: KEY }),
  };
  const told = Object.keys(request).length > 0 ? `, ${literal(request)}` : '';
  const [[, answer] = []] = Object.entries(operation.responses);
  if (bodyOf(answer?.content)?.type === 'text/csv')
    return `for await (const chunk of await assent.download('${id}'${told})) {\n  process.stdout.write(chunk);\n}`;
  if (list) return `for await (const item of assent.each('${id}'${told})) {\n  console.log(item);\n}`;
  return `const answer = await assent.call('${id}'${told});`;
}

const SESSION = (client: string) => `import os
import requests

ASSENT = os.environ["ASSENT_URL"]
client = ${client}
answer = requests.post(f"{ASSENT}${TOKEN_PATH}", data=client, timeout=15)
# Good for an hour: keep the session, and ask for the next token in time.
assent = requests.Session()
assent.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"`;

function python(one: Described): string {
  const { type, example } = requestBodyOf(one) ?? {};
  if (one.path === TOKEN_PATH)
    return SESSION(
      inPython(example).replaceAll(/"(\w+)": ".*"/g, (row, name: string) =>
        name in OWN ? `"${name}": os.environ["${OWN[name]}"]` : row,
      ),
    );
  const isJson = type === 'application/json';
  const headers = {
    ...(isKeyed(one) && { 'Idempotency-Key': KEY }),
    ...(type !== undefined && !isJson && { 'Content-Type': type }),
  };
  const args = Object.entries({ params: Object.fromEntries(needed(one, 'query')), headers }).flatMap(
    ([name, given]) => {
      const rows = Object.entries(given).map(([key, value]) => `"${key}": ${JSON.stringify(value)}`);
      return rows.length > 0 ? [`, ${name}={${rows.join(', ')}}`] : [];
    },
  );
  if (isJson) args.push(`, json=${inPython(example)}`);
  else if (type !== undefined) args.push(', data=open("statement.csv", "rb")');
  const call = `${needsToken(one) ? 'assent' : 'requests'}.${one.method}(f"{ASSENT}${addressOf(one)}"`;
  const [[, answer] = []] = Object.entries(one.operation.responses);
  const shown = bodyOf(answer?.content)?.type === 'application/json' ? 'json()' : 'text';
  return `answer = ${call}${args.join('')}, timeout=15)\nprint(answer.status_code, answer.${shown})`;
}

/** JSON is Python, but for three words. */
const inPython = (value: unknown) =>
  JSON.stringify(value, undefined, 4).replaceAll(
    /("(?:\\.|[^"\\])*")|true|false|null/g,
    (word, text?: string) => text ?? WORDS[word] ?? '',
  );
const WORDS: Record<string, string> = { true: 'True', false: 'False', null: 'None' };

/** As prettier would write it. */
function literal(value: unknown, indent = ''): string {
  const inner = `${indent}  `;
  if (typeof value === 'string')
    return value.includes("'") || value.includes('\n') ? JSON.stringify(value) : `'${value}'`;
  if (typeof value !== 'object' || value === null) return String(value);
  const rows = Array.isArray(value)
    ? value.map((one) => literal(one, inner))
    : Object.entries(value).map(
        ([name, one]) => `${/^\w+$/.test(name) ? name : `'${name}'`}: ${literal(one, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{ ', ' }'];
  const line = `${open}${rows.join(', ')}${close}`;
  if (line.length < 60 && !line.includes('\n')) return line;
  return `${open.trim()}\n${rows.map((row) => `${inner}${row},\n`).join('')}${indent}${close.trim()}`;
}
