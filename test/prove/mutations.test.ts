import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { changed, MUTATIONS } from './mutations';
import { CHANGED } from '../rollout/releases';

describe('a fault that the proof must find', () => {
  it.each(MUTATIONS.map((one) => [one.name, one] as const))('can still be built in: %s', (_, { changes }) => {
    const sources = new Map<string, string>();
    for (const change of changes) {
      const source = sources.get(change.file) ?? readFileSync(join(__dirname, '../..', change.file), 'utf8');
      const after = changed(source, change);
      expect(after).not.toBe(source);
      sources.set(change.file, after);
    }
  });

  it('has beside it the changed step of a roll-out, which can be built in as well', () => {
    const [{ file } = { file: '' }] = CHANGED;
    const source = readFileSync(join(__dirname, '../..', file), 'utf8');
    expect(CHANGED.every((one) => one.file === file)).toBe(true);
    expect(CHANGED.reduce(changed, source)).toContain('look-before-charging');
  });

  it('says so where it cannot', () => {
    const change = { file: 'a.ts', find: 'x', replace: 'y' };
    expect(() => changed('abc', change)).toThrow('a.ts has this not exactly once: x');
    expect(() => changed('x x', change)).toThrow('a.ts has this not exactly once: x');
    expect(changed('a x b', change)).toBe('a y b');
  });
});
