import type { Knex } from 'knex';

/**
 * What this database is for, said once: a process of another mode does not start on it. The mode is
 * that of the process that migrates, which its connection carries as `assent.mode`. Nobody changes
 * it: a sandbox, whose clocks have been moved, does not become the record of money.
 *
 * In production no clock moves, whoever asks: windows and limits are judged by it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE deployment (
      single      boolean PRIMARY KEY DEFAULT true CHECK (single),
      mode        text NOT NULL CHECK (mode IN ('sandbox', 'production')),
      recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    GRANT SELECT ON deployment TO assent_app;
    INSERT INTO deployment (mode) VALUES (current_setting('assent.mode'));

    CREATE FUNCTION refuse_another_mode() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'the mode of a database is never changed' USING ERRCODE = 'restrict_violation';
    END $$;
    CREATE TRIGGER deployment_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON deployment
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_another_mode();

    CREATE FUNCTION refuse_moved_clock() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT mode FROM deployment) = 'sandbox' THEN RETURN NEW; END IF;
      RAISE EXCEPTION 'no clock moves in production' USING ERRCODE = 'restrict_violation';
    END $$;
    CREATE TRIGGER entities_clock_stays BEFORE INSERT OR UPDATE OF clock_offset, clock_target ON entities
      FOR EACH ROW WHEN (NEW.clock_offset <> '0' OR NEW.clock_target IS NOT NULL)
      EXECUTE FUNCTION refuse_moved_clock();
    -- Whether any has been moved is asked at each new connection of production.
    CREATE INDEX entities_moved_clock ON entities (id) WHERE clock_offset <> '0' OR clock_target IS NOT NULL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX entities_moved_clock;
    DROP TRIGGER entities_clock_stays ON entities;
    DROP FUNCTION refuse_moved_clock;
    DROP TABLE deployment;
    DROP FUNCTION refuse_another_mode;
  `);
}
