import type { Client } from 'pg';

interface Constraint {
  table: string;
  name: string;
  kind: 'f' | 'p' | 'u';
  definition: string;
}

/**
 * Loads tables without their indexes, and makes these afterwards, as the migrations had them:
 * sorting once is quicker by far than finding each row's place. Foreign keys come back unchecked,
 * for what is loaded keeps them by the way it is made, and to look each up would take longer than
 * all else. Other constraints hold throughout.
 */
export async function withoutIndexes(
  client: Client,
  tables: string[],
  say: (line: string) => void,
  load: () => Promise<void>,
): Promise<void> {
  const constraints = await client.query<Constraint>(
    `SELECT conrelid::regclass::text AS table, conname AS name, contype AS kind, pg_get_constraintdef(oid) AS definition
     FROM pg_constraint WHERE contype IN ('f', 'p', 'u')
       AND (conrelid::regclass::text = ANY ($1) OR confrelid::regclass::text = ANY ($1))
     ORDER BY contype`,
    [tables],
  );
  for (const { table, name } of constraints.rows) {
    await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  }
  const indexes = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
     FROM pg_index WHERE indrelid::regclass::text = ANY ($1)`,
    [tables],
  );
  for (const { name } of indexes.rows) await client.query(`DROP INDEX ${name}`);
  await load();
  const make = async (statement: string) => {
    const start = performance.now();
    await client.query(statement);
    say(`  ${statement.slice(0, 100)} (${((performance.now() - start) / 1000).toFixed(0)} s)`);
  };
  const byKind = (kind: Constraint['kind']) => constraints.rows.filter((one) => one.kind === kind);
  for (const { table, name, definition } of [...byKind('p'), ...byKind('u')]) {
    await make(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
  }
  for (const { definition } of indexes.rows) await make(definition);
  for (const { table, name, definition } of byKind('f')) {
    await client.query(
      `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition.replace(/ NOT VALID$/, '')} NOT VALID`,
    );
  }
}
