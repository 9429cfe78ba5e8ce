import type { RequestHandler } from 'express';
import { contentSecurityPolicy } from 'helmet';
import { Failure } from '../../domain/failures';
import { endpoint, type Endpoint } from '../http/serve-endpoints';
import { bundledPages, type PageBundle, type PageName } from './bundle';

/**
 * The pages for people, out of our own sources: nothing comes from elsewhere, and nothing is sent
 * there. A page is an empty document; what it shows, its script asks of this API.
 */
export function pageEndpoints(names: readonly AppName[]): Endpoint[] {
  if (names.length === 0) return [];
  return [
    ...names.flatMap((name) =>
      [`/${name}`, `/${name}/`].map((at) =>
        endpoint('get', at, ownPartsOnly, async (_req, res) => {
          res.type('html').send(documentOf(TITLES[name], (await bundle()).pages[name]));
        }),
      ),
    ),
    endpoint('get', '/pages/:file', async ({ params }, res) => {
      const file = String(params['file']);
      const contents = (await bundle()).files.get(file);
      if (contents === undefined)
        throw new Failure('not_found', 'There is no such part of a page: reload it');
      // Its name says its content.
      res.set('Cache-Control', 'public, max-age=31536000, immutable');
      res.type(file).send(contents);
    }),
  ];
}

/** Pages that their script draws; that of the documentation stands on pages of text. */
type AppName = Exclude<PageName, 'docs'>;

const TITLES: Record<AppName, string> = { sandbox: 'Assent sandbox', console: 'Assent console' };

/** The mark of `src/console/parts/mark.tsx`, in a blue that shows on light and dark tabs. */
export const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#3b82dd" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"><path d="M4 20 12 4l8 16"/><path d="m8 14.5 3 3 5.5-6"/></svg>',
)}`;

let made: Promise<PageBundle> | undefined;

/** Made when the first page is asked for: most processes never are. */
function bundle(): Promise<PageBundle> {
  made ??= bundledPages().catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  return made;
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

function documentOf(title: string, { script, style }: PageBundle['pages'][PageName]): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title}</title>
    <link rel="icon" href="${ICON}" />
    <link rel="stylesheet" href="/pages/${style}" />
    <script type="module" src="/pages/${script}"></script>
  </head>
  <body>
    <div id="page"></div>
  </body>
</html>
`;
}
