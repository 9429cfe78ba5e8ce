import { openDatabase, rows, type Database } from '../../src/database/pool/connection';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';

/** Attacks of a stolen login by temporary tables that bear the names of the schema's own. */

let database: TestDatabase;
/** One connection, which keeps its temporary tables. */
let thief: Database;
beforeEach(async () => {
  database = await createTestDatabase();
  thief = openDatabase(database.url, 1);
});
afterEach(async () => {
  await thief.destroy();
  await database.drop();
});

describe('a temporary table with the name of a table', () => {
  it('runs no statement with the rights of the schema’s owner', async () => {
    await asOwner(
      database.url,
      `INSERT INTO audit_events (actor, action) VALUES ('operator:a', 'entity.created')`,
    );
    await thief.query(`
      CREATE TEMP TABLE webhook_endpoints AS
        SELECT 'mch_1' AS entity_id, '3'::xid8 AS feed_read_xid, '' AS feed_read_event_id;
      CREATE TEMP TABLE webhook_deliveries AS
        SELECT 'dlv_1' AS id, 'mch_1' AS entity_id, 0 AS sent, 'pending' AS status, '4'::xid8 AS created_xid,
          'evt_1' AS event_id, ''::bytea AS body_encrypted;
      CREATE FUNCTION pg_temp.rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        ALTER TABLE public.audit_events DISABLE TRIGGER USER;
        UPDATE public.audit_events SET action = 'entity.disabled';
        RETURN NEW;
      END $$;
      CREATE TRIGGER rewrite BEFORE UPDATE ON webhook_deliveries
        FOR EACH ROW EXECUTE FUNCTION pg_temp.rewrite();
      GRANT ALL ON webhook_deliveries, webhook_endpoints TO PUBLIC;
    `);
    await thief.query(`SELECT replace_unseen_body('dlv_1', 'x')`);
    expect(await rows(database.db, 'SELECT action FROM audit_events')).toEqual([
      { action: 'entity.created' },
    ]);
  });
});

describe('each function of the schema', () => {
  const OWN = `pronamespace = 'public'::regnamespace AND NOT EXISTS (
    SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')`;

  it('looks tables up in the schema before it looks among temporary ones', async () => {
    const found = await rows(
      database.db,
      `SELECT proname, proconfig FROM pg_proc p WHERE ${OWN}
         AND proconfig IS DISTINCT FROM ARRAY['search_path=pg_catalog, public, pg_temp']`,
    );
    expect(found).toEqual([]);
  });

  it('is called by the serving role alone where it has the rights of the owner', async () => {
    const found = await rows(
      database.db,
      `SELECT proname FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner)))
       WHERE ${OWN} AND prosecdef AND grantee NOT IN (proowner, 'assent_app'::regrole)`,
    );
    expect(found).toEqual([]);
  });
});
