import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Executor } from '../../src/database/pool/connection';
import { STATEMENTS } from '../../src/database/pool/statement';
import { FOLDER_VARIABLE } from './once-per-run';

/** The statements of a run of jest, which `check-statements.ts` compares with their row types. */
export interface RunStatement {
  /** Of the source, from its root. */
  file: string;
  /** Those between its values, by which the source is found. */
  texts: readonly string[];
  columns: { name: string; oid: number; hasNull: boolean }[];
}

/** Read here: commands of the CLI run in an environment without it, as the fast tests do. */
const folder = process.env[FOLDER_VARIABLE];
const { rows } = STATEMENTS;
const kept = new Set<string>();

STATEMENTS.rows = function <Row>(this: Executor, texts: TemplateStringsArray, ...values: unknown[]) {
  const file = callerIn(new Error().stack ?? '');
  const query: Executor['query'] = async (...statement) => {
    const result: Awaited<ReturnType<Executor['query']>> & {
      fields?: { name: string; dataTypeID: number }[];
    } = await this.query(...statement);
    const found = result.rows as Record<string, unknown>[];
    const columns = (result.fields ?? []).map(({ name, dataTypeID: oid }) => ({
      name,
      oid,
      hasNull: found.some((row) => row[name] === null),
    }));
    if (file) keep({ file, texts, columns });
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
  if (folder === undefined || kept.has(line)) return;
  kept.add(line);
  const all = path.join(folder, 'statements');
  mkdirSync(all, { recursive: true });
  writeFileSync(path.join(all, createHash('sha256').update(line).digest('hex')), line);
}
