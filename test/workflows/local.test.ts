import { after } from '../../src/workflows/local';

const bytesOf = (text: string) => Buffer.byteLength(text);

describe('a summary', () => {
  it('says first what came of the step before', () => {
    expect(after(['Asked.', 'Told.'], 'Wait.')).toBe('Asked. Told. Wait.');
    expect(after([], 'Wait.')).toBe('Wait.');
  });

  it('leaves out whole sentences where Temporal has no room for all, and cuts none', () => {
    const sentences = Array.from({ length: 9 }, (_, n) => `${n} ${'ẹ'.repeat(30)}.`);
    const said = after(sentences, 'Wait.');
    expect(said).toBe([...sentences.slice(0, 3), 'Wait.'].join(' '));
    expect(bytesOf(said)).toBeLessThan(400);
  });
});
