import type { Knex } from 'knex';

/** How often each customer was asked something today; rows of earlier days are deleted. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE customer_prompts (
      customer_id text NOT NULL REFERENCES customers,
      -- A calendar day in the network's time zone, in real time.
      day         date NOT NULL,
      kind        text NOT NULL CHECK (kind IN ('intent', 'approval')),
      prompts     integer NOT NULL CHECK (prompts > 0),
      PRIMARY KEY (customer_id, day, kind)
    ) WITH (fillfactor = 50);
    CREATE INDEX customer_prompts_day ON customer_prompts (day);

    GRANT SELECT, INSERT, DELETE ON customer_prompts TO assent_app;
    GRANT UPDATE (prompts) ON customer_prompts TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE customer_prompts');
}
