import { writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { SCHEMA_PAGE, schemaPage } from './schema-page';

async function main(): Promise<void> {
  const style = await resolveConfig(SCHEMA_PAGE);
  await writeFile(SCHEMA_PAGE, await format(schemaPage(), { ...style, parser: 'markdown' }));
}

void main();
