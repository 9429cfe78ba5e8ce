import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A page of the documentation, drawn from the migrations and the statements of the code. */

export const SCHEMA_PAGE = 'docs/schema.md';

const ROOT = join(__dirname, '..');

interface Table {
  name: string;
  about: string;
  key: string;
  references: string[];
}

function tablesOf(migration: string): Table[] {
  const found = migration.matchAll(/((?: *-- .*\n)*) *CREATE (?:UNLOGGED )?TABLE (\w+) \(\n([^]*?)\n {4}\)/g);
  return [...found].map(([, comment = '', name = '', body = '']) => ({
    name,
    about: comment
      .replaceAll(/^ *-- /gm, '')
      .trim()
      .replaceAll('\n', ' '),
    key: keyOf(body),
    references: [...new Set([...body.matchAll(/REFERENCES (\w+)/g)].map(([, table = '']) => table))],
  }));
}

function keyOf(body: string): string {
  const together = /^ *PRIMARY KEY \((.*?)\)/m.exec(body)?.[1];
  return together ?? /^ *(\w+) .*PRIMARY KEY/m.exec(body)?.[1] ?? '';
}

/** The rooms of `src/database` whose statements write each table, by its name. */
function writersOf(): Map<string, Set<string>> {
  const writers = new Map<string, Set<string>>();
  for (const file of readdirSync(join(ROOT, 'src/database'), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue;
    // A statement for several tables has their names beside it, as strings.
    const written = readFileSync(join(ROOT, 'src/database', file), 'utf8').matchAll(
      /(?:\b(?:INSERT INTO|UPDATE|DELETE FROM) |chain: ')([a-z_]+)\b/g,
    );
    for (const [, table = ''] of written) {
      writers.set(table, (writers.get(table) ?? new Set()).add(file.split('/')[0] ?? ''));
    }
  }
  return writers;
}

export function schemaPage(): string {
  const writers = writersOf();
  const files = readdirSync(join(ROOT, 'migrations')).filter((file) => file.endsWith('.ts'));
  return [
    '# The schema',
    'Tables by feature: table (key) → tables that it refers to ← the code that writes it. `npm run generate:schema` draws ' +
      'this page from `migrations/` and `src/database`. Columns are described where they are made, in the migration.',
    ...files.toSorted().map((file) => section(file, writers)),
    '',
  ].join('\n\n');
}

function section(file: string, writers: Map<string, Set<string>>): string {
  const migration = readFileSync(join(ROOT, 'migrations', file), 'utf8');
  const tables = tablesOf(migration);
  const about = /\/\*\*\n([^]*?)\n \*\//.exec(migration)?.[1]?.replaceAll(/^ \* ?/gm, '') ?? '';
  const writtenBy = (table: string) =>
    [...(writers.get(table) ?? [])].map((path) => `\`${path.replace(/\.ts$/, '')}\``).join(' ');
  return [
    `## ${file.replace(/^\d+_|\.ts$/g, '').replaceAll('_', ' ')}`,
    about,
    tables
      .map(({ name, key, references, about: words }) => {
        const to = references.length > 0 ? ` → ${references.join(', ')}` : '';
        return `- **${name}** (${key})${to} ← ${writtenBy(name) || 'the database'}${words && `: ${words}`}`;
      })
      .join('\n'),
  ].join('\n\n');
}
