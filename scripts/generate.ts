import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { format, resolveConfig } from 'prettier';
import { routes } from '../src/api/app';
import { openApiDocument } from '../src/api/openapi/document';
import { readConfig } from '../src/settings/config';
import { clientTypes } from './client-types';
import { ERRORS_PAGE, errorsPage } from './errors-page';
import { SCHEMA_PAGE, schemaPage } from './schema-page';

const CLIENT = path.join(__dirname, '../packages/client/src/api.generated.ts');

/** The files that are made of the sources, by the command that writes each. */
const WRITES = new Map([
  ['errors', () => writePage(ERRORS_PAGE, errorsPage())],
  ['schema', () => writePage(SCHEMA_PAGE, schemaPage())],
  // A sandbox has all that production has.
  ['client', () => writeFile(CLIENT, clientTypes(openApiDocument(routes({ config: readConfig({}) }))))],
]);

async function writePage(page: string, text: string): Promise<void> {
  await writeFile(page, await format(text, { ...(await resolveConfig(page)), parser: 'markdown' }));
}

void WRITES.get(process.argv[2] ?? '')?.();
