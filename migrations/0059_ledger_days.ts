import type { Knex } from 'knex';

/** The books are compared day by day, each by an index. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX ledger_entries_of_day ON ledger_entries (settlement_day, id);
    CREATE INDEX ledger_folded_balances_of_day ON ledger_folded_balances (day);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX ledger_folded_balances_of_day, ledger_entries_of_day');
}
