import { z } from 'zod';
import * as fields from '../../../src/api/http/request-fields';
import { metadata } from '../../../src/api/http/metadata';
import { check } from '../../../src/api/http/validation';

/** What the schema says of a value: the value that it makes, or its complaint. */
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

  it.each([
    ['', 'must not be empty'],
    ['  ', 'must not be empty'],
    ['x'.repeat(11), 'must have at most 10 characters'],
    [7, 'must be a string'],
    [undefined, 'is required'],
    [null, 'must be a string'],
  ])('%j is refused: it %s', (given, complaint) => {
    expect(judge(fields.text(10), given)).toEqual([`body ${complaint}`]);
  });

  it.each([
    ['a\u0000', 'must not have control characters or line breaks'],
    ['a\n', 'must not have control characters or line breaks'],
    ['\u0085', 'must not have control characters or line breaks'],
    ['\ud800', 'must be valid Unicode, without lone surrogates'],
    ['a\u202eb', 'must not have bidirectional control characters'],
    ['\u2066', 'must not have bidirectional control characters'],
  ])('%j is refused, for it would not show as it is: it %s', (given, complaint) => {
    expect(judge(fields.text(10), given)).toEqual([`body ${complaint}`]);
  });

  it('is complained about once, whatever else is asked of it', () => {
    expect(judge(fields.email, 'a\nb')).toEqual(['body must not have control characters or line breaks']);
    expect(judge(fields.webUrl(['https']), 'a\nb')).toEqual([
      'body must not have control characters or line breaks',
    ]);
  });
});

describe('one of several words', () => {
  it.each([
    [undefined, 'is required: one of a, b'],
    ['c', 'must be one of a, b'],
    [null, 'must be one of a, b'],
  ])('%j is refused: it %s', (given, complaint) => {
    expect(judge(z.enum(['a', 'b']), given)).toEqual([`body ${complaint}`]);
  });
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

  it('with a character that no field may have is invalid all the same', () => {
    expect(judge(fields.id('customer'), 'cus_\u0000')).toEqual([
      'body must not have control characters or line breaks',
    ]);
  });

  it('of a payment is never too long to be unknown', () => {
    expect(judge(fields.paymentId, ` ${'x'.repeat(10_000)} `)).toBe(` ${'x'.repeat(10_000)} `);
    // The sign for kelvin is the letter K in normal form C.
    expect(judge(fields.paymentId, '\u212a')).toBe('\u212a');
    expect(judge(fields.paymentId, ' ')).toEqual(['body must not be empty']);
  });
});

describe('an instant', () => {
  it.each([
    ['2026-03-01T09:00:00+01:00', '2026-03-01T08:00:00.000Z'],
    ['2026-03-01T09:00:00.250Z', '2026-03-01T09:00:00.250Z'],
  ])('%s is %s', (given, taken) => {
    expect(judge(fields.instant, given)).toEqual(new Date(taken));
  });

  it.each([
    ['2026-03-01', 'must be a date and time of RFC 3339, as in 2026-01-31T09:00:00+01:00'],
    ['tomorrow', 'must be a date and time of RFC 3339, as in 2026-01-31T09:00:00+01:00'],
    ['', 'must be a date and time of RFC 3339, as in 2026-01-31T09:00:00+01:00'],
    ['2026-03-01T09:00:00', 'must name its offset from UTC, as in 2026-01-31T09:00:00+01:00'],
    ['2026-02-30T09:00:00Z', 'must be a day and time that exist'],
  ])('%j is refused: it %s', (given, complaint) => {
    expect(judge(fields.instant, given)).toEqual([`body ${complaint}`]);
  });
});

const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i]));

describe('metadata', () => {
  it('takes up to 50 names of text, numbers, true and false', () => {
    const given = { a: 'x'.repeat(500), b: 1.5, c: false, d: '' };
    expect(judge(metadata, given)).toEqual(given);
    expect(judge(metadata, names(50))).toEqual(names(50));
    expect(judge(metadata, names(51))).toEqual(['body must have at most 50 names']);
  });

  it.each([
    ['a name of 41 characters', { ['n'.repeat(41)]: 1 }],
    ['text of 501 characters', { a: 'x'.repeat(501) }],
    ['an object', { a: {} }],
    ['null', { a: null }],
    ['a list', []],
  ])('refuses %s', (_, given) => {
    expect(check(metadata, given, '').problems).toHaveLength(1);
  });

  it('takes blanks for no text', () => {
    expect(judge(metadata, { a: ' \u00a0', b: ' x ' })).toEqual({ a: '', b: 'x' });
    expect(judge(metadata, { a: '\n' })).toHaveLength(1);
  });

  it('refuses names that are the same once they are clean, of which one value would be lost', () => {
    const same = 'is the same name as an earlier one';
    expect(judge(metadata, { a: 1, 'a ': 2, b: 3 })).toEqual([`a  ${same}`]);
    expect(judge(metadata, { '\u00e9': 1, 'e\u0301': 2 })).toEqual([`e\u0301 ${same}`]);
    expect(judge(z.strictObject({ metadata: metadata.optional() }), {})).toEqual({});
  });

  it('loses no value by its name: one is refused however it is spelled, those of other inherited things are kept', () => {
    for (const name of ['__proto__', ' __proto__ ', '\u00a0__proto__']) {
      const given = Object.fromEntries([
        ['a', 1],
        [name, 'x'],
      ]);
      expect(judge(metadata, given)).toEqual([`${name} is not a known field`]);
    }
    const kept = { constructor: 'x', toString: 'y', hasOwnProperty: 'z' };
    expect(judge(metadata, { ' constructor': 'x', 'toString ': 'y', hasOwnProperty: 'z' })).toEqual(kept);
  });

  it('brings no name to normal form that is too long, and a payment id not at all', () => {
    const normalize = jest.spyOn(String.prototype, 'normalize');
    const marks = `a${'\u0301\u0316'.repeat(65_000)}`;
    expect(judge(metadata, { [marks]: 1 })).toEqual([
      `${marks.slice(0, 100)} is a name that must have at most 40 characters`,
    ]);
    expect(judge(fields.paymentId, marks)).toBe(marks);
    for (const text of normalize.mock.contexts) expect(String(text).length).toBeLessThanOrEqual(320);
  });

  it('says what is wrong with a name, without repeating all of it', () => {
    expect(judge(metadata, { ['n'.repeat(1000)]: 1 })).toEqual([
      `${'n'.repeat(100)} is a name that must have at most 40 characters`,
    ]);
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

  it('names a repeat among entries that are wrong, and no wrong one as a repeat', () => {
    expect(judge(list, ['a', '', 'a'])).toEqual([
      '[1] must not be empty',
      '[2] is the same as an earlier entry',
    ]);
    expect(judge(list, ['', '', 7])).toEqual([
      '[0] must not be empty',
      '[1] must not be empty',
      '[2] must be a string',
    ]);
  });
});

describe('an amount', () => {
  const price = fields.withAmount(z.object({ amount: fields.amount, currency: z.enum(['NGN', 'JPY']) }));

  it.each([
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
  ])('%j comes to %p', (given, expected) => {
    expect(judge(price, given)).toEqual(expected);
  });
});

describe('pagination', () => {
  const page = z.strictObject(fields.pagination(['createdAt', 'amount']));

  it('has defaults', () => {
    expect(judge(page, {})).toEqual({ page: 1, limit: 20, sortBy: 'createdAt', sortOrder: 'desc' });
  });

  it('names every parameter that is out of bounds', () => {
    const given = { page: '0', limit: '101', sortBy: 'password', sortOrder: 'up', x: '1' };
    expect(judge(page, given)).toEqual([
      'page must be at least 1',
      'limit must be at most 100',
      'sortBy must be one of createdAt, amount',
      'sortOrder must be one of asc, desc',
      'x is not a known field',
    ]);
  });

  it.each(['1.5', '-1', '1e3', '', ' 1', '99999999999'])('refuses the page %j', (given) => {
    expect(judge(page, { page: given })).toEqual(['page must be a whole number']);
  });
});

describe('a web address', () => {
  it.each([
    'http://a.example',
    'ftp://a.example',
    'https://user:pass@a.example',
    'a.example',
    'https://',
    // What some programs mend and others do not understand: it has to be punycode and
    // percent-encoded.
    'https://ñandú.example/',
    'https://a.example/a b',
    'https://a.example/100%',
    'https://a.example/"',
    'https://a.example:65536/',
    'https://300.1.1.1/',
  ])('%s is refused where https is asked for', (given) => {
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
