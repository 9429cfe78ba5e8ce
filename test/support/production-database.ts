import { randomBytes } from 'node:crypto';
import { migrateUp } from '../../src/database/migrate';
import { asSchemaLogin } from './database';
import { servers } from './servers';

/** A process of production, on servers of a test, which have no TLS. */
export const PRODUCTION = {
  ASSENT_MODE: 'production',
  ALLOW_PLAINTEXT: 'true',
  // Nothing answers there.
  TEMPORAL_ADDRESS: '127.0.0.1:1',
};

/** A database of production, with the logins that it is meant to have, and one that it is not. */
export interface ProductionDatabase {
  /** The login of API and worker: a member of assent_app and nothing else. */
  url: string;
  ownerUrl: string;
  /** A member of the owner's role. */
  memberUrl: string;
  superuserUrl: string;
  drop(): Promise<void>;
}

export async function createProductionDatabase(): Promise<ProductionDatabase> {
  const { postgres } = await servers();
  const name = `production_${randomBytes(6).toString('hex')}`;
  const logins = ['owner', 'login', 'member'].map((role) => `${name}_${role}`);
  const [owner, login, member] = logins;
  const admin = `${postgres}/postgres`;
  for (const one of logins) await asSchemaLogin(admin, `CREATE ROLE ${one} LOGIN PASSWORD '${one}'`);
  await asSchemaLogin(admin, `GRANT assent_app TO ${login}; GRANT ${owner}, assent_app TO ${member}`);
  await asSchemaLogin(admin, `CREATE DATABASE ${name} OWNER ${owner}`);
  await asSchemaLogin(
    admin,
    `REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC; GRANT CONNECT ON DATABASE ${name} TO ${login}`,
  );
  const url = (role = '') => {
    const made = new URL(`${postgres}/${name}`);
    made.username = role;
    made.password = role;
    return made.href;
  };
  // As the clusters of Postgres 14 and older have it.
  await asSchemaLogin(`${postgres}/${name}`, 'GRANT CREATE ON SCHEMA public TO PUBLIC');
  await migrateUp(url(owner), 'production', 'Africa/Lagos');
  return {
    url: url(login),
    ownerUrl: url(owner),
    memberUrl: url(member),
    superuserUrl: `${postgres}/${name}`,
    async drop() {
      await asSchemaLogin(admin, `DROP DATABASE ${name} WITH (FORCE)`);
      for (const one of logins) await asSchemaLogin(admin, `DROP ROLE ${one}`);
    },
  };
}
