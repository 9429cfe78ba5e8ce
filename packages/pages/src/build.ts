import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { routes } from '../../../src/api/app';
import { openApiDocument } from '../../../src/api/openapi/document';
import { readConfig } from '../../../src/settings/config';
import { makeDocumentation, makePages } from './make';

/** Writes the pages and the documentation where a built API looks for them. */
async function main(): Promise<void> {
  const document = openApiDocument(routes({ config: readConfig({}) }));
  const out = process.argv[2] ?? path.join(__dirname, '../../../dist');
  await write(path.join(out, 'pages'), await makePages());
  await write(path.join(out, 'documentation'), await makeDocumentation(document));
}

async function write(folder: string, files: ReadonlyMap<string, Buffer>): Promise<void> {
  // An earlier build's files would be served for ever.
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Promise.all(
    [...files].map(([name, contents]) =>
      writeFile(path.join(folder, encodeURIComponent(name || 'index')), contents),
    ),
  );
}

void main();
