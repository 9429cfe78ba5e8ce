/** What is shown of a request to anybody who opens the page: all but what opens doors. */

const SECRET_FIELDS = new Set([
  'access_token',
  'client_secret',
  'clientSecret',
  'webhookSecret',
  'previousSecret',
]);
/** Headers that say something of the network; the rest is the transport's. */
const SHOWN = new Set(['accept', 'authorization', 'content-type', 'idempotency-key', 'x-request-id']);
const SHOWN_BEGIN = ['x-service-', 'webhook-'];
/** Those of the network are far below. Anybody may send others. */
const HEADERS_MAX = 20;
const HEADER_MAX = 500;
/** A hundred items are cut; one is never near it. */
const BODY_MAX = 8_000;
/** What is laid out: a hundred items have less. Each level of nesting makes a line longer. */
const JSON_MAX = 128 * 1024;
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

/** JSON laid out for reading; a form, and whatever is neither, as it is. */
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

/** Of a text that is no JSON any number will do. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of text) {
    if (character === '[' || character === '{') deepest = Math.max(deepest, (depth += 1));
    else if (character === ']' || character === '}') depth -= 1;
  }
  return deepest;
}

/** What is shown of a body that is nobody's business: as it came, and read by nothing. */
export function cut(text: string): string {
  return text.length <= BODY_MAX ? text : `${text.slice(0, BODY_MAX)}\n… ${text.length - BODY_MAX} more`;
}

/** For a shell that has the token in `$TOKEN`. Nothing else of it is a shell's to read. */
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

/** In single quotes, but for the places of what was masked. */
function quoted(text: string): string {
  const safe = `'${text.replaceAll("'", `'\\''`)}'`;
  return safe.replaceAll(/\$(TOKEN|CREDENTIALS|CLIENT_SECRET)\b/g, `'"$$$1"'`).replace(/(?<=")''$/, '');
}
