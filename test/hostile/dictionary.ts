/*
 * Values that nobody means, for every place where a caller may put something.
 */

import { createHash } from 'node:crypto';
import { KNOWN, textOf } from './grammar';

/** Names that every object has: looked up without care, they are found. */
export const INHERITED = ['constructor', '__proto__', 'toString', 'hasOwnProperty', '__defineGetter__'];

const LONG = 100_000;
/** The longest body that a call takes. */
const BODY_LONG = 256 * 1024;
/** Marks over and under one letter in turn, which a normal form has to sort. */
const MIXED_MARKS = '\u0301\u0316';
/** The longest line of headers that the server takes, but for what stands beside it. */
const HEADER_LONG = 12_000;
/** Text that nothing makes shorter, as an index would what repeats itself. */
const INCOMPRESSIBLE = Array.from({ length: LONG / 40 }, (_, n) =>
  createHash('sha256').update(String(n)).digest('base64url'),
).join('');

const NUMBERS = ['0', '-0', '-1', '0.1', '1e308', '1e-320', '9007199254740993'];
const OTHER_TYPES = ['null', 'true', '[]', '{}', '[[]]'];
const NO_OBJECTS = ['', '{', 'null', '[]', '"x"', '{}x', '\uFEFF{}'];
const ENCODED = `%00 %ff % %ed%a0%80 %E2%80%AE ..%2f..%2f '%20OR%201=1 -1 1e9 999999999 99999999999999999999`;
const MARKS = ['', '\x80\xff', '"', ',,,,', ';;;;'];

export const JSON_VALUES: readonly string[] = [
  ...INHERITED.map((name) => JSON.stringify(name)),
  ...['', ' ', '\u0000', '\u001b[2J', '\u202Etxt.exe', '\uFEFF', 'a\nb'].map((text) => JSON.stringify(text)),
  ...["'; DROP TABLE entities; --", '%00%ff', '../../etc/passwd', '=1+1'].map((text) => JSON.stringify(text)),
  // Halves of a pair, and a pair the wrong way round.
  String.raw`"\ud800"`,
  String.raw`"\udc00\ud800"`,
  // For expressions that try each way to read what does not end as it should.
  ...['a', ' ', '-', '.', 'a@', 'a.', '(', '0', '\u0301', '😀'].map((part) => {
    const text = part.repeat(Math.floor(LONG / part.length));
    return JSON.stringify(`${text}!`);
  }),
  JSON.stringify(`a${MIXED_MARKS.repeat(60_000)}`),
  JSON.stringify(INCOMPRESSIBLE),
  String.raw`"${'\\"'.repeat(LONG)}"`,
  JSON.stringify(`http://${'a.'.repeat(1000)}/${'%41'.repeat(500)}`),
  JSON.stringify(`${'a'.repeat(60)}@${'a.'.repeat(90)}!`),
  ...NUMBERS,
  '9'.repeat(10_000),
  `1.${'0'.repeat(10_000)}1`,
  ...OTHER_TYPES,
  '{"constructor":{"prototype":{"x":1}}}',
  '{"__proto__":{"x":1}}',
  '{"a":1,"a":2}',
  '['.repeat(LONG) + ']'.repeat(LONG),
  '{"a":'.repeat(30_000) + '1' + '}'.repeat(30_000),
  `[${'1,'.repeat(LONG)}1]`,
  `[${'{},'.repeat(60_000)}{}]`,
  `[${'"",'.repeat(60_000)}""]`,
  `{${Array.from({ length: 20_000 }, (_, n) => `"${n}":1`).join(',')}}`,
];

export const EXTRA_NAMES: readonly string[] = [
  ...INHERITED,
  'a'.repeat(LONG),
  `a${MIXED_MARKS.repeat(60_000)}`,
  // An answer would cut it in the middle of a character.
  `${'a'.repeat(99)}😀`,
  String.raw`\ud800`,
  String.raw`\u0000`,
];

export const BODIES: readonly (string | Buffer)[] = [
  ...NO_OBJECTS,
  Buffer.from([0xff, 0xfe, 0x7b, 0x00]),
  Buffer.from('{"a":"\xff"}', 'latin1'),
  ' '.repeat(200_000),
  '['.repeat(250_000),
  '{"a":'.repeat(50_000),
  `{"a":"${'\\'.repeat(200_000)}`,
  `{"customers":[${'1,'.repeat(120_000)}1]}`,
  `{"customers":[${'{},'.repeat(60_000)}{}]}`,
  'x'.repeat(1_000_000),
  // Within the limit of those without a token, and of those with one.
  ...[BODY_LONG / 16, BODY_LONG].flatMap((bytes) => KNOWN.map((shape) => textOf(shape, bytes))),
];

/** Values of parameters in a path or a query string, percent-encoded where they must be. */
export const PARAMETERS: readonly string[] = [
  ...INHERITED,
  '',
  ...ENCODED.split(' '),
  '%25'.repeat(1000),
  'a'.repeat(HEADER_LONG),
  '%20'.repeat(HEADER_LONG / 3),
  '-'.repeat(HEADER_LONG),
  encodeURIComponent(MIXED_MARKS).repeat(HEADER_LONG / 12),
  INCOMPRESSIBLE.slice(0, HEADER_LONG),
];

/** Values of a header; bytes beyond ASCII go as Latin-1. */
export const HEADER_VALUES: readonly string[] = [
  ...INHERITED,
  ...MARKS,
  `${' '.repeat(HEADER_LONG)}x`,
  `a${' '.repeat(HEADER_LONG)}x`,
  `application/json${' '.repeat(HEADER_LONG)}x`,
  `application/json;${' '.repeat(HEADER_LONG / 2)};${' '.repeat(HEADER_LONG / 2)}x`,
  `"${','.repeat(HEADER_LONG)}`,
  `a/b;q="${';'.repeat(HEADER_LONG)}`,
  'a/b,'.repeat(HEADER_LONG / 4),
  `Bearer ${'a.'.repeat(HEADER_LONG / 2)}`,
  `Bearer ${'='.repeat(HEADER_LONG)}!`,
  `Basic ${'A'.repeat(HEADER_LONG)}`,
  'x'.repeat(HEADER_LONG),
  '99999999999999999999',
  '-1',
  '*',
];

/** Headers that somebody along the way reads, be it Node, the framework or the application. */
export const HEADER_NAMES: readonly string[] =
  `Accept Accept-Encoding Authorization Connection Content-Encoding Content-Length Content-Type Expect
  Forwarded Host Idempotency-Key If-Match If-Modified-Since If-None-Match Range Transfer-Encoding Upgrade
  X-Forwarded-For X-HTTP-Method-Override X-Request-Id constructor __proto__`.split(/\s+/);
