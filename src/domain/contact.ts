import { accept, refuse, type Parsed } from './parsed';
import { parseText } from './plain-text';

/** Addresses of a party. The code that connects to an address checks its host. */

/** Longest address that a mail server takes (RFC 5321). */
export const EMAIL_MAX = 254;
/**
 * A mailbox of up to 64 characters, at a domain whose labels have up to 63 and begin and end with
 * no hyphen.
 */
export const EMAIL =
  /^(?=[^@]{1,64}@)[A-Za-z0-9_'+-]+(\.[A-Za-z0-9_'+-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]$/;

export function parseEmail(given: string): Parsed<string> {
  const text = parseText(given, EMAIL_MAX);
  return !text.ok || EMAIL.test(text.value) ? text : refuse('must be an e-mail address');
}

export type WebScheme = 'http' | 'https';

/** Schemes that a webhook may be sent by. */
export const webhookSchemes = (allowPrivate: boolean): WebScheme[] =>
  allowPrivate ? ['https', 'http'] : ['https'];

/**
 * The rest of an address after the scheme, by RFC 3986, without a user. A port is at most 65535.
 */
const HOST = String.raw`([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])`;
const PORT = '(:([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?';
const PATH = "(/([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?";
const QUERY = String.raw`(\?([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?`;
const FRAGMENT = QUERY.replace(String.raw`\?`, '#');

export const WEB_URL_MAX = 2048;

export const webUrlPattern = (schemes: readonly WebScheme[]) =>
  `^(${schemes.join('|')})://${HOST}${PORT}${PATH}${QUERY}${FRAGMENT}$`;

export function parseWebUrl(schemes: readonly WebScheme[], given: string): Parsed<string> {
  const text = parseText(given, WEB_URL_MAX);
  if (!text.ok) return text;
  const { value } = text;
  if (new RegExp(webUrlPattern(schemes)).test(value) && URL.canParse(value)) return accept(value);
  const begins = schemes.map((scheme) => `${scheme}://`).join(' or ');
  return refuse(`must be an address that starts with ${begins}, without user or password, in ASCII`);
}
