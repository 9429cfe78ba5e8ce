import type { Knex } from 'knex';

/**
 * Sessions of the console that are over before their time. A session is in its browser's cookie
 * alone, and a copy of that would be good until its end: so whoever signs out leaves the session's
 * id here until then, for all processes.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE ended_console_sessions (
      id      text PRIMARY KEY CHECK (length(id) <= 40),
      ends_at timestamptz NOT NULL
    );
    CREATE INDEX ended_console_sessions_by_end ON ended_console_sessions (ends_at);
    GRANT SELECT, INSERT, DELETE ON ended_console_sessions TO assent_app;
    -- Nothing is changed: the sweep locks the rows that it takes away.
    GRANT UPDATE (ends_at) ON ended_console_sessions TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE ended_console_sessions');
}
