import path from 'node:path';
import type { RequestHandler } from 'express';
import { contentSecurityPolicy } from 'helmet';
import { endpoint, type Endpoint } from '../http/serve-endpoints';
import { openApiDocument } from './document';
import type { Route } from '../http/route';

/**
 * The API's document for tools (`/openapi.json`, OpenAPI 3.1) and for people (`/docs`, Swagger UI,
 * which loads nothing from other hosts and sends them nothing).
 */
export function referenceEndpoints(table: readonly Route[]): Endpoint[] {
  // Most processes are never asked for it.
  let document: object | undefined;
  return [
    endpoint('get', '/openapi.json', (_req, res) => {
      document ??= openApiDocument(table);
      res.json(document);
    }),
    endpoint('get', '/docs', ownPartsByPlainHttpToo, (_req, res) => void res.type('html').send(PAGE)),
    endpoint('get', '/docs/start.js', (_req, res) => void res.type('js').send(START)),
    ...['swagger-ui.css', 'swagger-ui-bundle.js'].map((file) =>
      endpoint('get', `/docs/${file}`, (_req, res) => {
        res.set('Cache-Control', 'public, max-age=3600');
        res.sendFile(file, { root: FOLDER });
      }),
    ),
  ];
}

const FOLDER = path.dirname(require.resolve('swagger-ui-dist/package.json'));

/**
 * Without this some browsers fetch the parts of a page on localhost by https. Helmet's defaults
 * allow styles and fonts of other hosts. Swagger UI writes styles into its own elements.
 */
const ownPartsByPlainHttpToo: RequestHandler = contentSecurityPolicy({
  directives: {
    upgradeInsecureRequests: null,
    styleSrc: ["'self'", "'unsafe-inline'"],
    fontSrc: ["'self'", 'data:'],
  },
});

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Assent API</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="reference"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/** A file, because the page's policy forbids inline scripts. */
const START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  // All operations at once take seconds to draw.
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  // By default it asks a validator on the web.
  validatorUrl: null,
});
`;
