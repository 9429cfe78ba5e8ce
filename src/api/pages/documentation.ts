import path from 'node:path';
import type { RequestHandler } from 'express';
import { Failure } from '../../domain/failures';
import type { Route } from '../http/route';
import { endpoint, type Endpoint } from '../http/serve-endpoints';
import { openApiDocument } from '../openapi/document';
import { filesIn } from './files';
import { ownPartsOnly } from './pages';

/**
 * The API's document for tools (`/openapi.json`, OpenAPI 3.1), and the documentation for people
 * (`/docs`), which loads nothing from other hosts and sends them nothing.
 */
export function documentationEndpoints(table: readonly Route[]): Endpoint[] {
  // Most processes are never asked for either.
  let document: ReturnType<typeof openApiDocument> | undefined;
  const documented = () => (document ??= openApiDocument(table));
  // Responses that nobody reads stay in memory, so all share one buffer.
  let json: Buffer | undefined;
  const site = filesIn('documentation', (maker) => maker.makeDocumentation(documented()));
  const page: RequestHandler = async (req, res) => {
    const files = await site();
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

/** The page for addresses without one. */
const NOT_FOUND = 'not-found';
