import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join, parse } from 'node:path';

const FOLDER = join(__dirname, '../../../migrations');

let read: Map<string, string> | undefined;

/** The SQL of each migration, by its name, in their order. */
export const migrations = (): Map<string, string> =>
  (read ??= new Map(
    readdirSync(FOLDER)
      .filter((file) => /^\d{4}_\w+\.[jt]s$/.test(file))
      // Without its extension the source and the build have the same name.
      .map((file) => parse(file).name)
      .sort()
      .map((file) => {
        // Not `import()`, which needs to know whether it is `.ts` or `.js`.
        const { sql } = require(join(FOLDER, file)) as { sql: string };
        return [migrationName(file, sql), sql];
      }),
  ));

/**
 * A name ends in a hash of the SQL without its comments: a migration that was edited under its
 * file's name counts as another.
 */
export function migrationName(file: string, sql: string): string {
  const run = sql.replaceAll(/--.*/g, '').replaceAll(/\s+/g, ' ');
  return `${file}_${createHash('sha256').update(run).digest('hex').slice(0, 8)}`;
}
