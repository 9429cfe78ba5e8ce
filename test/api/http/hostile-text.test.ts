import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { CREDENTIALS_LIMIT_BYTES } from '../../../src/api/http/body';
import {
  COLONS,
  FORM_GRAMMAR,
  HEADER_GRAMMAR,
  JSON_GRAMMAR,
  QUERY_GRAMMAR,
  shapesOf,
  textOf,
  type Grammar,
} from '../../hostile/grammar';
import { apiOfFile, enter, type Party } from '../../support/api';
import { excessOf, suspectsAmong } from '../../support/growth';

/**
 * What a text costs the API through all that reads it on its way, most of it sent without a token.
 * `test/readers.test.ts` has the readers each by itself, with longer texts.
 */

const LOOSE = '100000/100000';
const { api } = apiOfFile({
  settings: {
    TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8',
    RATE_LIMIT_CALLER: LOOSE,
    RATE_LIMIT_FAILED_AUTH: LOOSE,
    RATE_LIMIT_TOKEN: LOOSE,
    RATE_LIMIT_TOKEN_ADDRESS: LOOSE,
  },
});
let merchant: Party;
beforeAll(async () => {
  merchant = await enter(api, 'merchant');
});

const [TOKEN, SESSION, BILL] = ['/v1/oauth/token', '/console/session', '/v1/customer/bill'];
/** A body of a known caller that needs no place, and nearly the longest headers. */
const BODY_BYTES = 16 * 1024;
const HEADER_BYTES = 15 * 1024;
/** Every n-th of them. */
const PART = 50;

/** @returns the answer's status */
async function send(head: readonly string[], body: Buffer = Buffer.alloc(0)): Promise<number> {
  const { hostname, port } = new URL(api.url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const lines = [...head, 'Host: a', 'Connection: close', `Content-Length: ${body.length}`, '', ''];
  socket.write(Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), body]));
  return Number((await readText(socket)).split(' ', 2)[1]);
}

const post = (path: string, type: string, credentials: string[] = []) => {
  const head = [`POST ${path} HTTP/1.1`, `Origin: http://a`, `Content-Type: ${type}`, ...credentials];
  return (body: Buffer) => send(head, body);
};
const JSON_TYPE = 'application/json';

const header = (name: string) => (text: Buffer) =>
  send(['GET /console/session HTTP/1.1', `${name}: ${text.toString('latin1')}`]);

const inAscii = (text: Buffer) => text.toString().replaceAll(/[^!-~]/gu, encodeURIComponent);

interface Way {
  name: string;
  texts: Grammar;
  bytes: number;
  /** Many of it are a text that means no harm; `a` where there is none. */
  piece?: string;
  send: (text: Buffer) => Promise<number>;
}

const WAYS: Way[] = [
  {
    name: `JSON for ${BILL}`,
    texts: JSON_GRAMMAR,
    bytes: BODY_BYTES,
    send: (body) => post(BILL, JSON_TYPE, [`Authorization: Bearer ${merchant.token}`])(body),
  },
  ...[TOKEN, SESSION].map((path) => ({
    name: `JSON for ${path}`,
    texts: JSON_GRAMMAR,
    bytes: CREDENTIALS_LIMIT_BYTES,
    send: post(path, JSON_TYPE),
  })),
  {
    name: `a form for ${TOKEN}`,
    texts: FORM_GRAMMAR,
    bytes: CREDENTIALS_LIMIT_BYTES,
    send: post(TOKEN, 'application/x-www-form-urlencoded'),
  },
  ...['Authorization', 'Cookie', 'X-Forwarded-For', 'Accept', 'traceparent'].map((name) => ({
    name,
    texts: HEADER_GRAMMAR,
    bytes: HEADER_BYTES,
    // Each address of a trusted proxy is read.
    piece: name === 'X-Forwarded-For' ? '10.0.0.1,' : 'a',
    send: header(name),
  })),
  {
    name: 'a query string',
    texts: QUERY_GRAMMAR,
    bytes: HEADER_BYTES / 2,
    send: (text) => send([`GET /v1/refunds?${inAscii(text)} HTTP/1.1`]),
  },
];

it.each(WAYS)('$name costs what a plain text of its length costs', async (way) => {
  const { texts, bytes, piece = 'a', send: read } = way;
  const plain = Buffer.from(piece.repeat(bytes / piece.length));
  expect(await read(plain)).toBeLessThan(500);
  const shapes = new Map(shapesOf(texts, PART).map((shape) => [textOf(shape, bytes), shape]));
  const found: string[] = [];
  for (const text of await suspectsAmong(read, plain, [...shapes.keys()])) {
    const excess = await excessOf(read, plain, text);
    if (excess !== undefined) found.push(`${JSON.stringify(shapes.get(text))}: ${excess}`);
  }
  expect(found).toEqual([]);
});

it('twenty bodies of colons cost what twenty others cost, and meanwhile others get their tokens', async () => {
  const sendAll = (body: Buffer) =>
    Promise.all(
      [TOKEN, SESSION].flatMap((path) => Array.from({ length: 10 }, () => post(path, JSON_TYPE)(body))),
    );
  const colons = textOf(COLONS, CREDENTIALS_LIMIT_BYTES);
  const client = { client_id: merchant.clientId, client_secret: merchant.clientSecret };
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...client });
  const refused = sendAll(colons);
  const healthy = fetch(`${api.url}/healthz`);
  const token = fetch(`${api.url}${TOKEN}`, { method: 'POST', body: form });
  expect([(await healthy).status, (await token).status]).toEqual([200, 200]);
  expect(new Set(await refused)).toEqual(new Set([400]));
  expect(await excessOf(sendAll, Buffer.alloc(CREDENTIALS_LIMIT_BYTES, 'a'), colons)).toBeUndefined();
});
