import { makeKeyring, readKeyring, type Keyring } from '../../src/database/keyring/keyring';
import type { Database, EngineFacts } from '../../src/database/pool/connection';

/** `ASSENT_KEYS` of a test file: a database takes no second keyring. */
export const keys = makeKeyring();

export const engineFacts: EngineFacts = { keyring: readKeyring(keys), timeZone: 'Africa/Lagos' };

/** The same database in an installation with other keys, or in another zone. */
export const installedWith = (db: Database, other: Partial<EngineFacts>): Database => ({
  ...db,
  ...other,
  transaction: (work) => db.transaction((trx) => work({ ...trx, ...other })),
  until: (deadline) => installedWith(db.until(deadline), other),
  on: (requestId) => installedWith(db.on(requestId), other),
});

/** As `installedWith`, of a database or a transaction. */
export const keyed = <Same extends object>(db: Same, keyring: Keyring): Same =>
  'transaction' in db ? (installedWith(db as never, { keyring }) as unknown as Same) : { ...db, keyring };
