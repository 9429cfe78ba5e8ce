import * as fc from 'fast-check';
import { encodeId, ID_PREFIX, isId, type IdKind } from '../../../src/domain/identifier/ids';

const kind = fc.constantFrom(...(Object.keys(ID_PREFIX) as IdKind[]));
const uuid = fc.uint8Array({ minLength: 16, maxLength: 16 });

describe('an id', () => {
  it('is written as TypeID writes it', () => {
    // The first is an example of the TypeID specification.
    const bytes = Buffer.from('01890a5dac96774bbcceb302099a8057', 'hex');
    expect(encodeId('merchant', bytes)).toBe('mch_01h455vb4pex5vsknk084sn02q');
    expect(encodeId('bank', new Uint8Array(16))).toBe('bnk_00000000000000000000000000');
    expect(encodeId('bank', new Uint8Array(16).fill(255))).toBe('bnk_7zzzzzzzzzzzzzzzzzzzzzzzzz');
  });

  it('is one of its own kind and of no other', () => {
    fc.assert(
      fc.property(kind, kind, uuid, (made, asked, bytes) => {
        expect(isId(asked, encodeId(made, bytes))).toBe(made === asked);
      }),
    );
  });

  it('has one length, and sorts as its bytes do', () => {
    fc.assert(
      fc.property(uuid, uuid, (a, b) => {
        const [one, other] = [encodeId('bank', a), encodeId('bank', b)];
        expect(one).toHaveLength(30);
        expect(Math.sign(Buffer.compare(a, b))).toBe(one < other ? -1 : one > other ? 1 : 0);
      }),
    );
  });

  it.each([
    'cus_01h2xcf97gfs5v1hf0m6scqn7',
    'cus_01h2xcf97gfs5v1hf0m6scqn755',
    'cus_81h2xcf97gfs5v1hf0m6scqn75',
    'cus_01h2xcf97gfs5v1hf0m6scqni5',
    'cus_01H2XCF97GFS5V1HF0M6SCQN75',
    'cus-01h2xcf97gfs5v1hf0m6scqn75',
    'cus_01h2xcf97gfs5v1hf0m6scqn75\n',
    ' cus_01h2xcf97gfs5v1hf0m6scqn75',
    'cus_',
    '',
  ])('is not %j', (text) => {
    expect(isId('customer', text)).toBe(false);
  });
});
