import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type * as Generator from '../../../site/build';
import { Failure } from '../../domain/failures';
import type { Route } from '../http/route';
import { endpoint, type Endpoint } from '../http/serve-endpoints';
import { openApiDocument } from '../openapi/document';
import { bundledPages } from './bundle';
import { ownPartsOnly } from './pages';

/**
 * The API's document for tools (`/openapi.json`, OpenAPI 3.1), and the documentation for people
 * (`/docs`), which loads nothing from other hosts and sends them nothing.
 */
export function documentationEndpoints(table: readonly Route[]): Endpoint[] {
  // Most processes are never asked for either.
  let document: ReturnType<typeof openApiDocument> | undefined;
  const documented = () => (document ??= openApiDocument(table));
  let site: Promise<ReadonlyMap<string, string | Uint8Array>> | undefined;
  const file = async (name: string) => {
    site ??= readOrBuild(documented).catch((error: unknown) => {
      site = undefined;
      throw error;
    });
    const contents = (await site).get(name);
    if (contents === undefined) throw new Failure('not_found', 'There is no such page: /docs leads to all');
    return contents;
  };
  return [
    endpoint('get', '/openapi.json', (_req, res) => void res.json(documented())),
    endpoint('get', '/docs', ownPartsOnly, async (_req, res) => void res.type('html').send(await file(''))),
    endpoint('get', '/docs/*page', ownPartsOnly, async ({ params }, res) => {
      const name = (params['page'] as unknown as string[]).join('/');
      const contents = await file(name);
      res.set('Cache-Control', 'public, max-age=300');
      res.type(path.extname(name) || 'html').send(Buffer.from(contents));
    }),
  ];
}

/** `npm run build` writes the site here. */
const BUILT = path.resolve(__dirname, '../../../documentation');

/** Reads the build's site; without a build, makes it in a second. */
async function readOrBuild(document: () => ReturnType<typeof openApiDocument>) {
  if (existsSync(BUILT)) {
    const names = await readdir(BUILT);
    const read = names.map(
      async (name) =>
        [name === 'index' ? '' : decodeURIComponent(name), await readFile(path.join(BUILT, name))] as const,
    );
    return new Map(await Promise.all(read));
  }
  // Loaded only here: an installation from a build has no generator.
  const { buildSite } = require('../../../site/build') as typeof Generator;
  return buildSite(document(), (await bundledPages()).pages.docs);
}
