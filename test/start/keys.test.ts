import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeKeyring, readKeyring } from '../../src/database/keyring/keyring';
import { claimRing } from '../../src/database/key-rotation/claim-keyring';
import { openKeyring } from '../../src/start/keys';
import { createTestDatabase, type TestDatabase } from '../support/database';

describe('the embedded keyring', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'assent-keys-'));
  const file = path.join(folder, 'keys');
  let empty: TestDatabase;
  let encrypted: TestDatabase;
  beforeAll(async () => {
    [empty, encrypted] = [await createTestDatabase(), await createTestDatabase()];
    await claimRing(encrypted.db, readKeyring(makeKeyring()));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await Promise.all([empty.drop(), encrypted.drop()]);
  });

  test.each(['', 'k1', 'k1:dG9vIHNob3J0', makeKeyring()])(
    'of which only a part is left, or that is of other data (%j), is named, not used and not made anew',
    async (left) => {
      writeFileSync(file, left);
      await expect(openKeyring(undefined, file, encrypted.url)).rejects.toThrow(
        /keys is damaged, or of other data \(.*Put it back from a backup or set ASSENT_KEYS/,
      );
      expect(readFileSync(file, 'utf8')).toBe(left);
      rmSync(file);
    },
  );

  test('is made once, for its owner only, and is the same ever after', async () => {
    const made = await openKeyring(undefined, file, empty.url);
    expect(() => readKeyring(made)).not.toThrow();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await claimRing(empty.db, readKeyring(made));
    // A line break at its end, as of an editor.
    writeFileSync(file, `${made}\r\n\n`);
    await expect(openKeyring(undefined, file, empty.url)).resolves.toBe(made);
    expect(readFileSync(file, 'utf8')).toBe(`${made}\r\n\n`);
  });
});
