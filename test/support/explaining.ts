import type { Executor } from '../../src/database/pool/connection';
import type { Plan } from '../../src/database/pool/statement';

/** The executor; the plan of each statement is added to `plans` before it runs. */
export function explaining(db: Executor, plans: string[]): Executor {
  return {
    ...db,
    async query(text: string, values?: unknown[], plan?: Plan) {
      const { rows } = await db.query(`EXPLAIN ${text}`, values);
      plans.push(rows.map((row) => Object.values(row as object).join()).join('\n'));
      return db.query(text, values, plan);
    },
  };
}
