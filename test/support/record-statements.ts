import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Executor } from '../../src/database/pool/connection';
import { STATEMENTS } from '../../src/database/pool/statement';
import { runFolder } from './once-per-run';

/** The statements of a run of jest, which `check-statements.ts` compares with their row types. */
export interface RunStatement {
  /** Of the source, from its root. */
  file: string;
  /** Those between its values, by which the source is found. */
  texts: readonly string[];
  columns: { name: string; oid: number }[];
}

/** Commands of the CLI run in an environment of their own, which does not name it. */
const FOLDER = path.join(runFolder(), 'statements');
const { rows } = STATEMENTS;
const kept = new Set<string>();

STATEMENTS.rows = function <Row>(this: Executor, texts: TemplateStringsArray, ...values: unknown[]) {
  const file = callerIn(new Error().stack ?? '');
  const query: Executor['query'] = async (...statement) => {
    const result: Awaited<ReturnType<Executor['query']>> & {
      fields?: { name: string; dataTypeID: number }[];
    } = await this.query(...statement);
    if (file)
      keep({
        file,
        texts,
        columns: (result.fields ?? []).map(({ name, dataTypeID: oid }) => ({ name, oid })),
      });
    return result;
  };
  return rows.call<Executor, [TemplateStringsArray, ...unknown[]], Promise<Row[]>>(
    { ...this, query },
    texts,
    ...values,
  );
};

const callerIn = (stack: string) => /\/(src\/(?!database\/pool\/)[^:]*):/.exec(stack)?.[1];

/** In a file of its own, once in a run: many workers write. */
function keep(statement: RunStatement): void {
  const line = JSON.stringify(statement);
  if (kept.has(line)) return;
  kept.add(line);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(path.join(FOLDER, createHash('sha256').update(line).digest('hex')), line);
}
