/** What is shown of a request to anybody who opens the page: all but what opens doors. */

const SECRET_FIELDS = new Set([
  'access_token',
  'client_secret',
  'clientSecret',
  'webhookSecret',
  'previousSecret',
]);
/** Headers that say something of the network; the rest is the transport's. */
const SHOWN = /^(accept|authorization|content-type|idempotency-key|x-service-|webhook-|x-request-id)/;
/** A hundred items are cut; one is never near it. */
const BODY_MAX = 8_000;

export function maskedHeaders(headers: Iterable<[string, string]>): [string, string][] {
  return [...headers]
    .map(([name, value]): [string, string] => [name.toLowerCase(), value])
    .filter(([name]) => SHOWN.test(name))
    .map(([name, value]) => [name, name === 'authorization' ? maskedCredentials(value) : value]);
}

function maskedCredentials(value: string): string {
  return value.startsWith('Bearer ') ? 'Bearer $TOKEN' : `${value.split(' ')[0] ?? ''} $CREDENTIALS`;
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
  try {
    const value: unknown = JSON.parse(text, (name, inner: unknown) =>
      SECRET_FIELDS.has(name) && typeof inner === 'string' ? '••••' : inner,
    );
    return JSON.stringify(value, undefined, 2);
  } catch {
    return text;
  }
}

function cut(text: string): string {
  return text.length <= BODY_MAX ? text : `${text.slice(0, BODY_MAX)}\n… ${text.length - BODY_MAX} more`;
}

/** For a shell that has the token in `$TOKEN`. */
export function curlOf(
  method: string,
  url: string,
  headers: readonly [string, string][],
  body: string,
): string {
  const lines = [
    `curl -X ${method} ${quoted(url)}`,
    ...headers.map(([name, value]) =>
      // In double quotes, so that the shell puts the token in.
      value.includes('$') ? `-H "${name}: ${value}"` : `-H ${quoted(`${name}: ${value}`)}`,
    ),
    ...(body === '' ? [] : [body.includes('$CLIENT_SECRET') ? `-d "${body}"` : `-d ${quoted(body)}`]),
  ];
  return lines.join(' \\\n  ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
