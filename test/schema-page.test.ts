import { readFileSync } from 'node:fs';
import { SCHEMA_PAGE, schemaPage } from '../scripts/schema-page';

test('docs/schema.md is drawn from the schema: `npm run generate:schema` writes it', () => {
  expect(unaligned(readFileSync(SCHEMA_PAGE, 'utf8'))).toBe(unaligned(schemaPage()));
});

/** Without what prettier does to tables and to long lines. */
const unaligned = (page: string) => page.trim().replaceAll(/\s+/g, ' ').replaceAll(/-{3,}/g, '---');
