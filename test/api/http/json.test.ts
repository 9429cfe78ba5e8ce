import * as fc from 'fast-check';
import { canonicalJson, checkJson, parseJson } from '../../../src/api/http/json';
import { memoryKept } from '../../support/memory';

const parse = (text: string) => parseJson(Buffer.from(text));
const refusal = (problem: object) =>
  expect.objectContaining({ code: 'invalid_request', problems: [expect.objectContaining(problem)] }) as Error;

/** The bracket before the first stands for it, and a comma for each other. */
const longNumbers = (count: number) => `[${Array(count).fill('9007199254740992').join()}]`;
const values = (count: number) => `[${'1,'.repeat(count - 1)}1]`;
const members = (count: number) => `{${Array.from({ length: count }, (_, n) => `"${n}":1`).join(' , ')}}`;

const nested = (levels: number) => () => parse('['.repeat(levels) + ']'.repeat(levels));

describe('a JSON body', () => {
  it('is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        fc.pre(!JSON.stringify(value).includes('__proto__'));
        expect(parse(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('may use a key again in another object', () => {
    const text = '{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}],"d":"\\"a\\":","e":"{\\"a\\":1"}';
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it.each(['{"a":1,"a":2}', '{"a":1,"b":{},"a":2}', '{"a":1,"\\u0061":2}', '[{"a" : 1 , "a"\n: 2}]'])(
    'that names a key twice is refused: %s',
    (text) => {
      expect(() => parse(text)).toThrow(refusal({ path: 'a', message: 'occurs twice in one object' }));
    },
  );

  it('that tries to reach a prototype, or is not UTF-8, is refused', () => {
    expect(() => parse('{"__proto__":{"admin":true}}')).toThrow(refusal({ path: '__proto__' }));
    expect(() => parseJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow(refusal({ path: 'body' }));
  });

  it('is refused beyond 16 levels, without a stack overflow', () => {
    const refused = refusal({ message: 'is nested more than 16 levels deep' });
    expect(nested(16)()).toBeDefined();
    expect(nested(17)).toThrow(refused);
    expect(nested(29_000)).toThrow(refused);
  });

  it.each([
    [`{"\\n${'a'.repeat(1_000)}"${':'.repeat(1_000)}`, 1],
    [`{"\\n": 1 ${':'.repeat(1_000)}`, 1],
    [`[${':'.repeat(1_000)}`, 0],
  ])(
    'is refused at the first colon without a name before it, so no name is read twice: %#',
    (text, names) => {
      const read = jest.spyOn(JSON, 'parse');
      expect(() => parse(text)).toThrow(refusal({ path: 'body', message: 'is not valid JSON in UTF-8' }));
      expect(read).toHaveBeenCalledTimes(names);
      read.mockRestore();
    },
  );

  it('names twenty problems at most, each by the beginning of a name', () => {
    const { problems } = checkJson(Buffer.from(`{${'"a\ud800":1,'.repeat(100)}"a":1}`));
    const twice = { path: 'a\uFFFD', message: 'occurs twice in one object' };
    expect(problems).toEqual(Array.from({ length: 20 }, () => twice));
    const deep = checkJson(Buffer.from(`${'['.repeat(16)}${'[],'.repeat(100)}[]${']'.repeat(16)}`));
    expect(deep.problems).toHaveLength(20);
  });

  it.each(['a name of many letters', 'a'.repeat(100_000)])(
    'is gone once its problems are known: %#',
    (name) => {
      const text = JSON.stringify({ text: 'x'.repeat(200_000), [name]: 1 }).replace('{', `{"${name}":1,`);
      const refused = () => checkJson(Buffer.from(text)).problems;
      expect(refused()).toEqual([{ path: name.slice(0, 100), message: 'occurs twice in one object' }]);
      const before = memoryKept();
      const kept = Array.from({ length: 100 }, refused);
      expect(memoryKept() - before).toBeLessThan((kept.length * text.length) / 4);
    },
  );

  it('is refused beyond five hundred numbers that are long to compare', () => {
    expect(parse(longNumbers(500))).toHaveLength(500);
    expect(() => parse(longNumbers(501))).toThrow(
      refusal({ message: 'has more than 500 numbers of more than 15 characters' }),
    );
  });

  describe('of very many values', () => {
    const refused = refusal({ path: 'body', message: 'has more than 30000 names and values' });

    it('is read up to thirty thousand', () => {
      expect(parse(values(30_000))).toHaveLength(30_000);
      expect(() => parse(values(30_001))).toThrow(refused);
    });

    it('has its names counted too, and neither its texts nor its blanks', () => {
      expect(parse(members(15_000))).toBeDefined();
      expect(() => parse(members(15_001))).toThrow(refused);
      const text = JSON.stringify('[{,:\\"'.repeat(20_000));
      expect(parse(`{ "a" : ${text} }`)).toEqual({ a: JSON.parse(text) as string });
    });

    it.each([values(5_000_000), '['.repeat(120_000), '{"a":'.repeat(50_000), ','.repeat(100_000)])(
      'is refused before any of them is made, and before it is known to be JSON: %#',
      (text) => {
        const made = jest.spyOn(JSON, 'parse');
        expect(() => parse(text)).toThrow(refused);
        expect(made).not.toHaveBeenCalled();
        made.mockRestore();
      },
    );

    it('is a batch of ten thousand customers, which has fewer', () => {
      expect(parse(`{"customers":[${'{},'.repeat(9_999)}{}]}`)).toBeDefined();
    });
  });

  it.each(['x', '\\n', '\\"', '1'])('may be one text of sixteen million characters, made of %s', (piece) => {
    const text = `{"a":"${piece.repeat(16_000_000 / piece.length)}"}`;
    expect((parse(text) as { a: string }).a).toHaveLength(16_000_000 / piece.length);
    expect(() => parse(text.replace('{', '{"a":1,'))).toThrow(refusal({ path: 'a' }));
  });

  it.each([['{'], [''], ['{"a":1,}'], ["{'a':1}"], ['NaN'], ['{"secret":"4111-1111" x}']])(
    'that is broken is refused without quoting it: %s',
    (text) => {
      expect(() => parse(text)).toThrow(refusal({ path: 'body', message: 'is not valid JSON in UTF-8' }));
      expect(() => parse(text)).not.toThrow(/4111/);
    },
  );

  it.each(['100.00000000000000001', '0.10000000000000001', '-9007199254740993', `0.${'0'.repeat(200)}1`])(
    'with the number %s, which would be read as another, is refused',
    (number) => {
      expect(() => parse(`{"currency":"NGN","amount":${number}}`)).toThrow(
        refusal({ path: 'amount', message: 'has more digits than a JSON number keeps' }),
      );
      expect(parse(`{"amount":"${number}"}`)).toEqual({ amount: number });
    },
  );

  it.each(['0.30000000000000004', '100.0000000000000000000', '1e2', '-0', '1e400', '12345678901234567000'])(
    'with the number %s is read',
    (number) => {
      expect(parse(`[${number}]`)).toEqual([Number(number)]);
    },
  );
});

describe('the canonical form', () => {
  it('is the same for every spelling of a value, and another for another value', () => {
    expect(canonicalJson(parse('{ "b": 1e2, "a": [1, {"d":"\\u0041","c":null}] }'))).toBe(
      canonicalJson(parse('{"a":[1.0,{"c":null,"d":"A"}],"b":100}')),
    );
    expect(canonicalJson({ a: [1, 2] })).not.toBe(canonicalJson({ a: [2, 1] }));
    expect(canonicalJson({ a: '1' })).not.toBe(canonicalJson({ a: 1 }));
  });
});
