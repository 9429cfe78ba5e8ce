import { z } from 'zod';
import * as fields from '../../../src/api/http/request-fields';
import { metadataGiven } from '../../../src/api/http/metadata';
import { check, readQuery } from '../../../src/api/http/validation';
import { memoryKept } from '../../support/memory';

/** The value that a schema makes of an input, or its complaints. */
function judge(schema: z.ZodType, input: unknown): unknown {
  const checked = check(schema, input, '');
  return checked.problems ? checked.problems.map(({ path, message }) => `${path} ${message}`) : checked.value;
}

describe('text', () => {
  it.each([
    [' a ', 'a'],
    ['e\u0301', 'é'],
    ['x'.repeat(10), 'x'.repeat(10)],
    ['👩‍👩‍👧', '👩‍👩‍👧'],
  ])('%j is taken as %j', (given, taken) => {
    expect(judge(fields.text(10), given)).toBe(taken);
  });

  const CONTROL = 'must not have control characters or line breaks';
  it.each([
    ['', 'must not be empty'],
    ['  ', 'must not be empty'],
    ['x'.repeat(11), 'must have at most 10 characters'],
    [7, 'must be a string'],
    [undefined, 'is required'],
    [null, 'must be a string'],
    ['a\u0000', CONTROL],
    ['a\n', CONTROL],
    ['\u0085', CONTROL],
    ['\ud800', 'must be valid Unicode, without lone surrogates'],
    ['a\u202eb', 'must not have bidirectional control characters'],
    ['\u2066', 'must not have bidirectional control characters'],
  ])('%j is refused: it %s', (given, complaint) => {
    expect(judge(fields.text(10), given)).toEqual([`body ${complaint}`]);
  });

  it('is complained about once, whatever else is asked of it', () => {
    for (const schema of [fields.email, fields.webUrl(['https']), fields.id('customer')])
      expect(judge(schema, 'a\nb')).toEqual([`body ${CONTROL}`]);
  });
});

test.each([
  [undefined, 'is required: one of a, b'],
  ['c', 'must be one of a, b'],
  [null, 'must be one of a, b'],
])('%j for one of several words is refused: it %s', (given, complaint) => {
  expect(judge(z.enum(['a', 'b']), given)).toEqual([`body ${complaint}`]);
});

describe('an id', () => {
  it('that is malformed becomes one that nothing has, so that it is unknown and not invalid', () => {
    const known = 'cus_01m7ygk0qjezfapa59qk2wf3wm';
    expect(judge(fields.id('customer'), known)).toBe(known);
    expect(judge(fields.id('merchant'), known)).toBe('');
    expect(judge(fields.id('customer'), 'cus_')).toBe('');
    expect(judge(fields.id('customer'), 7)).toEqual(['body must be a string']);
  });

  it('that is empty is missing, and not unknown; a list that it filters has nothing', () => {
    expect(judge(fields.id('customer'), '')).toEqual(['body must not be empty']);
    expect(judge(fields.idFilter('customer'), '')).toBe('');
  });

  it('of a payment is never too long to be unknown', () => {
    expect(judge(fields.paymentId, ` ${'x'.repeat(10_000)} `)).toBe(` ${'x'.repeat(10_000)} `);
    // The sign for kelvin is the letter K in normal form C.
    expect(judge(fields.paymentId, '\u212a')).toBe('\u212a');
    expect(judge(fields.paymentId, ' ')).toEqual(['body must not be empty']);
  });
});

const INSTANT = 'must be a date and time of RFC 3339, as in 2026-01-31T09:00:00+01:00';
test.each([
  ['2026-03-01T09:00:00+01:00', new Date('2026-03-01T08:00:00.000Z')],
  ['2026-03-01T09:00:00.250Z', new Date('2026-03-01T09:00:00.250Z')],
  ['2026-03-01', [`body ${INSTANT}`]],
  ['tomorrow', [`body ${INSTANT}`]],
  ['', [`body ${INSTANT}`]],
  ['2026-03-01T09:00:00', ['body must name its offset from UTC, as in 2026-01-31T09:00:00+01:00']],
  ['2026-02-30T09:00:00Z', ['body must be a day and time that exist']],
])('the instant %j comes to %p', (given, expected) => {
  expect(judge(fields.instant, given)).toEqual(expected);
});

const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i]));

describe('metadata', () => {
  it('takes up to 50 names of text, numbers, true and false', () => {
    const given = { a: 'x'.repeat(500), b: 1.5, c: false, d: '' };
    expect(judge(metadataGiven, given)).toEqual(given);
    expect(judge(z.strictObject({ metadata: metadataGiven.optional() }), {})).toEqual({});
    expect(judge(metadataGiven, names(50))).toEqual(names(50));
    expect(judge(metadataGiven, names(51))).toEqual(['body must have at most 50 names']);
  });

  it.each([{ ['n'.repeat(41)]: 1 }, { a: 'x'.repeat(501) }, { a: {} }, { a: null }, []])(
    'refuses %j',
    (given) => {
      expect(check(metadataGiven, given, '').problems).toHaveLength(1);
    },
  );

  it('takes blanks for no text', () => {
    expect(judge(metadataGiven, { a: ' \u00a0', b: ' x ' })).toEqual({ a: '', b: 'x' });
    expect(judge(metadataGiven, { a: '\n' })).toHaveLength(1);
  });

  it('refuses names that are the same once they are clean, of which one value would be lost', () => {
    const same = 'is the same name as an earlier one';
    expect(judge(metadataGiven, { a: 1, 'a ': 2, b: 3 })).toEqual([`a  ${same}`]);
    expect(judge(metadataGiven, { '\u00e9': 1, 'e\u0301': 2 })).toEqual([`e\u0301 ${same}`]);
  });

  it('loses no value by its name: one is refused however it is spelled, those of other inherited things are kept', () => {
    for (const name of ['__proto__', ' __proto__ ', '\u00a0__proto__']) {
      const given = Object.fromEntries([
        ['a', 1],
        [name, 'x'],
      ]);
      expect(judge(metadataGiven, given)).toEqual([`${name} is not a known field`]);
    }
    const kept = { constructor: 'x', toString: 'y', hasOwnProperty: 'z' };
    expect(judge(metadataGiven, { ' constructor': 'x', 'toString ': 'y', hasOwnProperty: 'z' })).toEqual(
      kept,
    );
  });

  it('brings no name to normal form that is too long, and a payment id not at all', () => {
    const normalize = jest.spyOn(String.prototype, 'normalize');
    const marks = `a${'\u0301\u0316'.repeat(65_000)}`;
    expect(judge(metadataGiven, { [marks]: 1 })).toEqual([
      `${marks.slice(0, 100)} is a name that must have at most 40 characters`,
    ]);
    expect(judge(fields.paymentId, marks)).toBe(marks);
    for (const text of normalize.mock.contexts) expect(String(text).length).toBeLessThanOrEqual(320);
  });
});

describe('a list', () => {
  const list = fields.list(fields.text(5), 3);

  it('has 1 to its most entries, each once', () => {
    expect(judge(list, ['a', 'b', 'c'])).toEqual(['a', 'b', 'c']);
    expect(judge(list, [])).toEqual(['body must have at least 1 entry']);
    expect(judge(list, ['a', 'b', 'c', 'd'])).toEqual(['body must have at most 3 entries']);
    expect(judge(list, ['a', ' a', 'b'])).toEqual(['[1] is the same as an earlier entry']);
  });
});

test.each([
  [
    { amount: 1.5, currency: 'NGN' },
    { amount: 150n, currency: 'NGN' },
  ],
  [{ amount: 1.5, currency: 'JPY' }, ['amount must have no decimals in JPY']],
  [{ amount: -1.5, currency: 'JPY' }, ['amount must be more than 0']],
  [{ amount: 0 }, ['amount must be more than 0', 'currency is required: one of NGN, JPY']],
  [
    { amount: 1.001, currency: 'USD' },
    ['currency must be one of NGN, JPY', 'amount must have at most 2 decimals in USD'],
  ],
  [{ amount: '1', currency: 'NGN' }, ['amount must be a number']],
  [{ amount: Infinity, currency: 'NGN' }, ['amount must be a number']],
])('the amount %j comes to %p', (given, expected) => {
  const price = fields.withAmount(z.object({ amount: fields.amount, currency: z.enum(['NGN', 'JPY']) }));
  expect(judge(price, given)).toEqual(expected);
});

describe('a web address where https is asked for', () => {
  it.each([
    'http://a.example',
    'ftp://a.example',
    'https://user:pass@a.example',
    'a.example',
    'https://',
    // Some programs mend these, and others do not understand them.
    'https://ñandú.example/',
    'https://a.example/a b',
    'https://a.example/100%',
    'https://a.example/"',
    'https://a.example:65536/',
    'https://300.1.1.1/',
  ])('%s is refused', (given) => {
    expect(judge(fields.webUrl(['https']), given)).toEqual([
      'body must be an address that starts with https://, without user or password, in ASCII',
    ]);
  });

  it.each([
    'https://a.example',
    'https://xn--and-6ma2c.example:65535/hooks/%C3%B1?a=1&b=/?#x',
    'https://assent_bank:8443/hooks',
    'https://[2001:db8::1]:8080/',
    'https://192.0.2.1?',
  ])('%s is taken', (given) => {
    expect(judge(fields.webUrl(['https']), given)).toBe(given);
  });
});

describe('a request that is refused', () => {
  it('keeps the beginning of a name that is not known, and not all of it', () => {
    const body = JSON.stringify({ ['a'.repeat(200_000)]: 1 });
    const refused = () => check(z.strictObject({}), JSON.parse(body), '').problems;
    expect(refused()).toEqual([{ path: 'a'.repeat(100), message: 'is not a known field' }]);
    const before = memoryKept();
    const kept = Array.from({ length: 100 }, refused);
    expect(memoryKept() - before).toBeLessThan((kept.length * body.length) / 4);
  });

  it('has the first hundred of its unreadable parameters looked at', () => {
    const decode = jest.spyOn(globalThis, 'decodeURIComponent');
    expect(readQuery(`/?a=1&${'%&'.repeat(5_000)}`).problems).toEqual([
      { path: 'query.%', message: 'is not percent-encoded UTF-8' },
    ]);
    expect(decode.mock.calls.length).toBeLessThanOrEqual(101);
    decode.mockRestore();
  });
});
