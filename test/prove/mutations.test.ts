import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { changed, MUTATIONS } from './mutations';
import { CHANGED } from '../rollout/releases';

const sourceOf = (file: string) => readFileSync(join(__dirname, '../..', file), 'utf8');

describe('a fault that the proof must find', () => {
  it.each(Object.entries(MUTATIONS))('can still be built in: %s', (_, { changes }) => {
    const sources = new Map<string, string>();
    for (const change of changes) {
      const [file] = change;
      const source = sources.get(file) ?? sourceOf(file);
      const after = changed(source, change);
      expect(after).not.toBe(source);
      sources.set(file, after);
    }
  });

  it('has beside it the changed step of a roll-out, which can be built in as well', () => {
    const [[file]] = CHANGED;
    expect(CHANGED.every((one) => one[0] === file)).toBe(true);
    expect(CHANGED.reduce(changed, sourceOf(file))).toContain('look-before-charging');
  });

  it('says so where it cannot', () => {
    expect(() => changed('abc', ['a.ts', 'x', 'y'])).toThrow('a.ts has this not exactly once: x');
    expect(() => changed('x x', ['a.ts', 'x', 'y'])).toThrow('a.ts has this not exactly once: x');
    expect(changed('a x b', ['a.ts', 'x', 'y'])).toBe('a y b');
  });
});
