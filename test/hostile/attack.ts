import { gzipSync } from 'node:zlib';
import {
  BODIES,
  EXTRA_NAMES,
  HEADER_NAMES,
  HEADER_VALUES,
  INHERITED,
  JSON_VALUES,
  PARAMETERS,
} from './dictionary';

export interface Target {
  method: string;
  /** With `{name}` for its parameters. */
  path: string;
  /** Whole, with ids of things that exist where the cast has them. */
  body: object | undefined;
  query: readonly string[];
  token: string | undefined;
  headers?: readonly [string, string][];
}

export interface Attack {
  name: string;
  bytes: Buffer;
  /** A piece that goes on being sent for as long as the connection is there. */
  drip?: { piece: Buffer; everyMs: number; pieces: number };
  halfClose?: boolean;
  /** A thing that is no request may get no answer, only the end of the connection. */
  mayHangUp?: boolean;
}

const head = (method: string, path: string, headers: readonly string[]) =>
  [`${method} ${path} HTTP/1.1`, ...headers, '', ''].join('\r\n');

const defaults = ({ token, headers = [] }: Target): [string, string][] => [
  ['Host', 'localhost'],
  ['Connection', 'close'],
  ...(token === undefined ? [] : [['Authorization', `Bearer ${token}`] as [string, string]]),
  ...headers,
];

const plainPath = (path: string) => path.replaceAll(/\{\w+\}/g, 'x');

function whole(
  target: Target,
  path: string,
  body: string | Buffer | undefined,
  more: [string, string][] = [],
) {
  const content = body === undefined ? undefined : Buffer.from(body as string);
  const headers = new Map(defaults(target));
  if (content) {
    headers.set('Content-Type', 'application/json');
    headers.set('Content-Length', String(content.length));
  }
  for (const [name, value] of more) headers.set(name, value);
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  return Buffer.concat([Buffer.from(head(target.method, path, lines), 'latin1'), content ?? Buffer.alloc(0)]);
}

export function* attacksOn(target: Target): Generator<Attack, void, void> {
  const of = `${target.method} ${target.path}`;
  yield* onParameters(target, of);
  yield* onHeaders(target, of);
  if (target.body === undefined) return;
  yield* onFields(target, target.body, of);
  for (const [n, body] of BODIES.entries()) {
    yield { name: `${of}: body ${n} of the dictionary`, bytes: whole(target, plainPath(target.path), body) };
  }
  yield* onArrival(target, target.body, of);
}

function* onParameters(target: Target, of: string): Generator<Attack, void, void> {
  const body = target.body && JSON.stringify(target.body);
  for (const [n, value] of PARAMETERS.entries()) {
    if (target.path.includes('{')) {
      const path = target.path.replaceAll(/\{\w+\}/g, value);
      // With a key the path is kept, too.
      const key: [string, string] = ['Idempotency-Key', `path-${n}`];
      yield { name: `${of}: path, parameter ${n}`, bytes: whole(target, path, body, [key]) };
    }
    for (const name of target.query) {
      const path = `${plainPath(target.path)}?${name}=${value}`;
      yield { name: `${of}: query ${name}, parameter ${n}`, bytes: whole(target, path, body) };
    }
  }
  for (const query of [...INHERITED.map((name) => `${name}=1`), '&'.repeat(10_000), 'a&'.repeat(6_000)]) {
    const path = `${plainPath(target.path)}?${query}`;
    yield { name: `${of}: query ${query.slice(0, 30)}`, bytes: whole(target, path, body) };
  }
}

function* onHeaders(target: Target, of: string): Generator<Attack, void, void> {
  const path = plainPath(target.path);
  const body = target.body && JSON.stringify(target.body);
  for (const header of HEADER_NAMES) {
    for (const [n, value] of HEADER_VALUES.entries()) {
      yield {
        name: `${of}: ${header}, value ${n}`,
        bytes: whole(target, path, body, [[header, value]]),
        mayHangUp: true,
      };
    }
    const twice = [...defaults(target), [header, '1'], [header, '2']].map(
      ([name, value]) => `${name}: ${value}`,
    );
    yield {
      name: `${of}: ${header} twice`,
      bytes: Buffer.from(head(target.method, path, twice)),
      mayHangUp: true,
    };
  }
  const many = Array.from({ length: 1_500 }, (_, n) => [`x${n}`, ''] as [string, string]);
  yield { name: `${of}: 1500 headers`, bytes: whole(target, path, body, many) };
}

/** A word that stands for the field until the text of the body is made. */
const HERE = '\u2620';

function* onFields(target: Target, body: object, of: string): Generator<Attack, void, void> {
  const path = plainPath(target.path);
  for (const { name, meant, holder } of placesIn(body, HERE)) {
    const text = JSON.stringify(holder);
    const withHere = (value: string) =>
      whole(
        target,
        path,
        text.replace(JSON.stringify(HERE), () => value),
      );
    for (const [n, value] of JSON_VALUES.entries()) {
      yield { name: `${of}: field ${name}, value ${n}`, bytes: withHere(value) };
    }
    if (typeof meant !== 'object' || meant === null || Array.isArray(meant)) continue;
    const inner = JSON.stringify(meant).slice(1, -1);
    for (const extra of EXTRA_NAMES) {
      yield {
        name: `${of}: extra field ${name && `${name}.`}${extra.slice(0, 20)}`,
        bytes: withHere(`{${inner}${inner && ','}"${extra}":1}`),
      };
    }
  }
}

interface Place {
  name: string;
  meant: unknown;
  holder: unknown;
}

/** Each place in a value, the value itself being the first. */
function* placesIn(value: unknown, mark: string): Generator<Place, void, void> {
  yield { name: '', meant: value, holder: mark };
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    for (const { name, meant, holder } of placesIn(inner, mark)) {
      const copy: unknown = Array.isArray(value)
        ? value.map((one: unknown, n) => (String(n) === key ? holder : one))
        : { ...value, [key]: holder };
      yield { name: name ? `${key}.${name}` : key, meant, holder: copy };
    }
  }
}

const chunk = (data: Buffer) =>
  Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')]);

/** How a body arrives: slowly, without end, by half, in another form than was said. */
function* onArrival(target: Target, body: object, of: string): Generator<Attack, void, void> {
  const path = plainPath(target.path);
  const text = JSON.stringify(body);
  const bytes = whole(target, path, text);
  const chunked: [string, string][] = [['Transfer-Encoding', 'chunked']];
  const streamed = (more: [string, string][] = []) =>
    whole(target, path, undefined, [['Content-Type', 'application/json'], ...chunked, ...more]);
  yield {
    name: `${of}: half a body, then half-closed`,
    bytes: bytes.subarray(0, -5),
    halfClose: true,
    mayHangUp: true,
  };
  yield {
    name: `${of}: half the headers, then half-closed`,
    bytes: bytes.subarray(0, 20),
    halfClose: true,
    mayHangUp: true,
  };
  yield { name: `${of}: half-closed`, bytes, halfClose: true, mayHangUp: true };
  yield {
    name: `${of}: a slow body`,
    bytes: whole(target, path, `${text}    `).subarray(0, -4),
    drip: { piece: Buffer.from(' '), everyMs: 100, pieces: 4 },
  };
  yield { name: `${of}: a body that stops arriving`, bytes: bytes.subarray(0, -4) };
  yield {
    name: `${of}: an endless body`,
    bytes: streamed(),
    drip: { piece: chunk(Buffer.alloc(64 * 1024, '[')), everyMs: 0, pieces: 400 },
    mayHangUp: true,
  };
  yield {
    name: `${of}: broken chunks`,
    bytes: Buffer.concat([streamed(), Buffer.from('zz\r\n{}\r\n')]),
    mayHangUp: true,
  };
  const bomb = gzipSync(Buffer.alloc(30_000_000, '['));
  for (const encoding of ['gzip', 'deflate', 'br', 'gzip, gzip', ...INHERITED]) {
    yield {
      name: `${of}: a bomb, said to be ${encoding}`,
      bytes: whole(target, path, bomb, [['Content-Encoding', encoding]]),
    };
  }
}
