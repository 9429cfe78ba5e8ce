import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { RequestHandler } from 'express';
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
  // Responses that nobody reads stay in memory, so all share these bytes.
  let json: Buffer | undefined;
  let site: Promise<ReadonlyMap<string, Buffer>> | undefined;
  const page: RequestHandler = async (req, res) => {
    site ??= readOrBuild(documented).catch((error: unknown) => {
      site = undefined;
      throw error;
    });
    const files = await site;
    const name = [req.params['page'] ?? []].flat().join('/').replace(/\/$/, '');
    const isThere = name !== NOT_FOUND && files.has(name);
    if (!isThere && req.accepts(['json', 'html']) !== 'html')
      throw new Failure('not_found', 'There is no such page: /docs leads to all');
    const shown = isThere ? name : NOT_FOUND;
    res.status(isThere ? 200 : 404).set('Cache-Control', isThere ? 'public, max-age=300' : 'no-store');
    res.type(path.extname(shown) || 'html').send(files.get(shown));
  };
  return [
    endpoint('get', '/openapi.json', (_req, res) => {
      json ??= Buffer.from(JSON.stringify(documented()));
      res.type('json').send(json);
    }),
    ...['/docs', '/docs/{*page}'].map((at) => endpoint('get', at, ownPartsOnly, page)),
  ];
}

/** The page of `site/build.ts` for addresses without one. */
const NOT_FOUND = 'not-found';

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
  const pages = await buildSite(document(), (await bundledPages()).pages.docs);
  return new Map([...pages].map(([name, contents]) => [name, Buffer.from(contents as string)]));
}
