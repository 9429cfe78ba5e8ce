/* Anybody may open the sandbox's page, so the page gets no credentials. */

const SECRET_FIELDS = new Set([
  'access_token',
  'client_secret',
  'clientSecret',
  'webhookSecret',
  'previousSecret',
]);
/** Headers that belong to the network's contract. */
const SHOWN = new Set(['accept', 'authorization', 'content-type', 'idempotency-key', 'x-request-id']);
const SHOWN_BEGIN = ['x-service-', 'webhook-'];
/** The network sends far fewer headers. Others may send any number. */
const HEADERS_MAX = 20;
const HEADER_MAX = 500;
/** A single item is far shorter; a body of a hundred items is cut. */
const BODY_MAX = 8_000;
/** Characters. A body of a hundred items has fewer, and a longer body is not worth parsing. */
const JSON_MAX = 128 * 1024;
/** Each level of nesting indents its lines further, so deep JSON would grow far. */
const DEPTH_MAX = 32;

export function maskedHeaders(headers: Iterable<[string, string]>): [string, string][] {
  return [...headers]
    .map(([name, value]): [string, string] => [name.toLowerCase(), value])
    .filter(([name]) => SHOWN.has(name) || SHOWN_BEGIN.some((beginning) => name.startsWith(beginning)))
    .slice(0, HEADERS_MAX)
    .map(([name, value]) => [
      name,
      name === 'authorization' ? maskedCredentials(value) : value.slice(0, HEADER_MAX),
    ]);
}

function maskedCredentials(value: string): string {
  return value.startsWith('Bearer ') ? 'Bearer $TOKEN' : 'Basic $CREDENTIALS';
}

/** JSON is indented for reading; other text stays as it is. */
export function maskedBody(text: string, contentType: string): string {
  return cut(contentType.includes('form-urlencoded') ? maskedForm(text) : maskedJson(text));
}

function maskedForm(text: string): string {
  return text
    .split('&')
    .map((pair) => {
      const [name = ''] = pair.split('=');
      return SECRET_FIELDS.has(name) ? `${name}=$CLIENT_SECRET` : pair;
    })
    .join('&');
}

function maskedJson(text: string): string {
  if (text.length > JSON_MAX || depthOf(text) > DEPTH_MAX)
    return `(${text.length} characters: too many to show)`;
  try {
    const value: unknown = JSON.parse(text, (name, inner: unknown) =>
      SECRET_FIELDS.has(name) && typeof inner === 'string' ? '••••' : inner,
    );
    return JSON.stringify(value, undefined, 2);
  } catch {
    return text;
  }
}

/** Counts brackets in strings too: a wrong depth does no harm to text that is no JSON. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of text) {
    if (character === '[' || character === '{') deepest = Math.max(deepest, (depth += 1));
    else if (character === ']' || character === '}') depth -= 1;
  }
  return deepest;
}

/** Shortens a body without parsing it, which is safe for a body from anybody. */
export function cut(text: string): string {
  return text.length <= BODY_MAX ? text : `${text.slice(0, BODY_MAX)}\n… ${text.length - BODY_MAX} more`;
}

/** The command expects a token in `$TOKEN`. The rest is quoted, so that a shell runs none of it. */
export function curlOf(
  method: string,
  url: string,
  headers: readonly [string, string][],
  body: string,
): string {
  const lines = [
    `curl -X ${method} ${quoted(url)}`,
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === '' ? [] : [`-d ${quoted(body)}`]),
  ];
  return lines.join(' \\\n  ');
}

/** Single quotes, except around the variables that stand for masked credentials. */
function quoted(text: string): string {
  const safe = `'${text.replaceAll("'", `'\\''`)}'`;
  return safe.replaceAll(/\$(TOKEN|CREDENTIALS|CLIENT_SECRET)\b/g, `'"$$$1"'`).replace(/(?<=")''$/, '');
}
