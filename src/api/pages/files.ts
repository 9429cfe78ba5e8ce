import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { OpenApiDocument } from '../openapi/document';

/** Contents by address. The address of the documentation's first page is empty. */
type Files = ReadonlyMap<string, Buffer>;

/** `packages/pages`. A checkout has it, and an installation from a build has not. */
interface Maker {
  makePages(): Promise<Files>;
  makeDocumentation(document: OpenApiDocument): Promise<Files>;
}

/** `npm run build` writes both folders here. */
const BUILT = path.resolve(__dirname, '../../..');

/**
 * Reads the build's files, or makes them from the sources, at the first request: most processes
 * never get a request for them.
 */
export function filesIn(
  folder: 'pages' | 'documentation',
  make: (maker: Maker) => Promise<Files>,
): () => Promise<Files> {
  const built = path.join(BUILT, folder);
  let files: Promise<Files> | undefined;
  return () =>
    (files ??= (existsSync(built) ? read(built) : make(require('#pages') as Maker)).catch(
      (error: unknown) => {
        files = undefined;
        throw error;
      },
    ));
}

async function read(folder: string): Promise<Files> {
  const names = await readdir(folder);
  const files = names.map(
    async (name) =>
      [name === 'index' ? '' : decodeURIComponent(name), await readFile(path.join(folder, name))] as const,
  );
  return new Map(await Promise.all(files));
}
