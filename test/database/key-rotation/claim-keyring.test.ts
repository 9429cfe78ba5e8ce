import { randomBytes } from 'node:crypto';
import { openDatabase, type Database } from '../../../src/database/pool/connection';
import { KeyringError, makeKeyring, readKeyring } from '../../../src/database/keyring/keyring';
import { reencrypt } from '../../../src/database/key-rotation/re-encrypt';
import { claimRing, requireRing, requireSigningKey } from '../../../src/database/key-rotation/claim-keyring';
import { usableSigningKeys } from '../../../src/database/keys/signing-key';
import { ringProblems } from '../../../src/temporal/readiness';
import { asSchemaLogin, createTestDatabase, type TestDatabase } from '../../support/database';
import { OPERATOR } from '../../support/operator';
import { renewHashes, standingApproval } from '../../support/standing';
import { engineFacts, keyed } from '../../support/keyring';

const key = () => randomBytes(32).toString('base64');
const [OLD, NEW] = [makeKeyring(), makeKeyring()];
const [old, fresh, both] = [readKeyring(OLD), readKeyring(NEW), readKeyring(`${NEW},${OLD}`)];
/** The old key's id with other bytes. */
const forged = readKeyring(`${old.current}:${key()}`);

let test: TestDatabase;
let db: Database;
let owner: Database;
beforeAll(async () => {
  test = await createTestDatabase();
  db = test.db;
  owner = openDatabase(test.url, 2, engineFacts, { role: 'none' });
});
afterAll(async () => {
  await owner.destroy();
  await test.drop();
});
afterEach(() =>
  asSchemaLogin(
    test.url,
    `SET session_replication_role = replica; DELETE FROM encryption_keys; DELETE FROM signing_keys`,
  ),
);

const kids = async () =>
  db.rows<{
    kid: string;
    encrypts: boolean;
  }>`SELECT kid, encrypts FROM encryption_keys ORDER BY encrypts DESC, kid`;

describe('a ring', () => {
  it('that lacks a key which encrypts is refused by its id, before a call meets what it cannot open', async () => {
    // Any ring will do for a database that holds nothing encrypted.
    for (const ring of [old, fresh]) await expect(requireRing(db, ring)).resolves.toBeUndefined();
    expect(await kids()).toEqual([]);
    await claimRing(db, old);
    await expect(requireRing(db, fresh)).rejects.toThrow(
      new RegExp(
        `^ASSENT_KEYS: lacks the key "${old.current}", which encrypts values or hashes client secrets in this database. Give this process`,
      ),
    );
    await expect(claimRing(db, fresh)).rejects.toThrow(KeyringError);
    expect(await kids()).toEqual([{ kid: old.current, encrypts: true }]);
    await expect(claimRing(db, both)).resolves.toBeUndefined();
    // The new key is in front now, and whoever has the old one alone would meet what it encrypts.
    await expect(requireRing(db, old)).rejects.toThrow(`lacks the key "${fresh.current}"`);
    expect(await ringProblems(db, old)).toEqual([
      { path: 'keys', message: expect.stringContaining(`ASSENT_KEYS lacks the key "${fresh.current}"`) },
    ]);
    expect(await ringProblems(db, both)).toEqual([]);
  });

  it('that has other bytes under the id of a key is refused, and shows none of them', async () => {
    await claimRing(db, old);
    const refused = requireRing(db, forged);
    await expect(refused).rejects.toThrow(`has another key under the id "${old.current}"`);
    await expect(refused).rejects.not.toThrow(/[A-Za-z0-9+/]{43}=/);
    await expect(claimRing(db, forged)).rejects.toThrow(KeyringError);
  });

  it('of two that bring different keys of one id at once is refused in one of them', async () => {
    const told = await Promise.allSettled([claimRing(db, old), claimRing(db, forged)]);
    expect(told.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it('needs a key no more that encrypts nothing and made no id', async () => {
    await claimRing(db, old);
    await claimRing(db, both);
    await reencrypt(keyed(owner, both), OPERATOR, () => undefined);
    await expect(requireRing(db, fresh)).resolves.toBeUndefined();
  });

  it('that does not open the key which signs tokens lets nobody wait for a 500', async () => {
    await usableSigningKeys(keyed(db, old), 60);
    await expect(requireSigningKey(db, old)).resolves.toBeUndefined();
    await expect(requireSigningKey(db, forged)).rejects.toThrow(
      /signs access tokens.*"assent keys revoke key_/s,
    );
    expect(await ringProblems(db, forged)).toEqual([
      { path: 'keys', message: expect.stringContaining('that signs access tokens') },
    ]);
  });

  it('that has a key for ids alone is refused until everything was brought under another', async () => {
    const standing = await standingApproval(keyed(db, old));
    await claimRing(db, old);
    const idsOnly = readKeyring(`${NEW},${OLD}:ids`);
    await expect(claimRing(db, idsOnly)).rejects.toThrow(`has the key "${old.current}" for ids alone`);
    await claimRing(db, both);
    await reencrypt(keyed(owner, both), OPERATOR, () => undefined);
    // It has hashed client secrets, too.
    await expect(claimRing(db, idsOnly)).rejects.toThrow(`has the key "${old.current}" for ids alone`);
    await renewHashes(keyed(db, both), standing);
    await reencrypt(keyed(owner, both), OPERATOR, () => undefined);
    await expect(claimRing(db, idsOnly)).resolves.toBeUndefined();
    expect(await kids()).toEqual([
      { kid: fresh.current, encrypts: true },
      { kid: old.current, encrypts: false },
    ]);
    // Its paymentIDs hang on it still.
    await expect(requireRing(db, fresh)).rejects.toThrow(
      `lacks the key "${old.current}", which made paymentIDs`,
    );
    expect(await ringProblems(db, readKeyring(`${OLD},${NEW}`))).toEqual([
      { path: 'keys', message: expect.stringMatching(/in front, which "keys reseal" has retired/) },
    ]);
  });
});
