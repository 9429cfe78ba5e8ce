import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readKeyring } from '../../src/database/keys/keyring';
import { embeddedKeys } from '../../src/start/keys';

describe('the embedded keyring', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'assent-keys-'));
  const file = path.join(folder, 'keys');
  afterAll(() => rmSync(folder, { recursive: true }));

  test('is not made anew for data that only the old one opens', () => {
    expect(() => embeddedKeys(file, true)).toThrow(/keys is gone.*Put it back.*ASSENT_KEYS/);
    expect(() => statSync(file)).toThrow('ENOENT');
  });

  test.each(['', 'k1', 'k1:dG9vIHNob3J0', '{"keys":'])(
    'of which only a part is left (%j) is named, not used and not made anew',
    (left) => {
      writeFileSync(file, left);
      expect(() => embeddedKeys(file, true)).toThrow(
        /keys is damaged \(.*Put it back from a backup or set ASSENT_KEYS/,
      );
      expect(readFileSync(file, 'utf8')).toBe(left);
      rmSync(file);
    },
  );

  test('is made once, for its owner only, and is the same ever after', () => {
    const made = embeddedKeys(file, false);
    expect(() => readKeyring(made)).not.toThrow();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(embeddedKeys(file, true)).toBe(made);
    expect(embeddedKeys(file, false)).toBe(made);
  });

  test('may have been edited by hand, with a line break at its end', () => {
    const made = embeddedKeys(file, true);
    writeFileSync(file, `${made}\r\n\n`);
    expect(embeddedKeys(file, true)).toBe(made);
    expect(readFileSync(file, 'utf8')).toBe(`${made}\r\n\n`);
  });
});
