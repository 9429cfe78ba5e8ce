import type { RequestHandler } from 'express';
import { contentSecurityPolicy } from 'helmet';
import { Failure } from '../../domain/failures';
import { endpoint, type Endpoint } from '../http/serve-endpoints';
import { filesIn } from './files';

const pages = filesIn('pages', (maker) => maker.makePages());

/**
 * The pages for people, out of our own sources: nothing comes from elsewhere, and nothing is sent
 * there. A page is an empty document; what it shows, its script asks of this API.
 */
export function pageEndpoints(names: readonly ('sandbox' | 'console')[]): Endpoint[] {
  return [
    ...names.flatMap((name) =>
      [`/${name}`, `/${name}/`].map((at) =>
        endpoint('get', at, ownPartsOnly, async (_req, res) => {
          res.type('html').send((await pages()).get(name));
        }),
      ),
    ),
    endpoint('get', '/pages/:file', async ({ params }, res) => {
      const file = String(params['file']);
      const contents = (await pages()).get(`pages/${file}`);
      if (contents === undefined)
        throw new Failure('not_found', 'There is no such part of a page: reload it');
      // Its name says its content.
      res.set('Cache-Control', 'public, max-age=31536000, immutable');
      res.type(file).send(contents);
    }),
  ];
}

/** Neither scripts nor styles in the document itself, and none from elsewhere. */
export const ownPartsOnly: RequestHandler = contentSecurityPolicy({
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    connectSrc: ["'self'"],
    // The icon is in the document.
    imgSrc: ["'self'", 'data:'],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
});
