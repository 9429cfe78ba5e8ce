import express, { type Express, type RequestHandler, type Response } from 'express';
import { createAccessTokens } from '../database/keys/access-token';
import { createAuthenticate } from './http/authentication';
import { createClientLogin } from './http/client-login';
import { createFailedAuthentication } from './http/failed-authentication';
import { tokenEndpoint } from './access/token';
import { consoleRoutes, routes } from './app';
import { consoleAccess, throughConsole } from './console/session';
import type { ApiDeps } from './http/deps';
import { livenessEndpoint, readinessEndpoint } from './health';
import { errorHandler, unknownEndpoint } from './http/answer';
import { beforeRoutes } from './http/before-routes';
import { endpoint, serveEach } from './http/serve-endpoints';
import { DOWNLOADS, LARGE_BODIES, Slots } from './http/slots';
import { serve, type Route } from './http/route';
import type { Jwks } from './openapi/public';
import { documentationEndpoints } from './pages/documentation';
import { pageEndpoints } from './pages/pages';
import { sandboxHandlers } from './pages/sandbox';

export function createApp(deps: ApiDeps): Express {
  const tokens = createAccessTokens(deps);
  const failures = createFailedAuthentication(deps.config);
  const authenticate = createAuthenticate(deps, tokens, failures);
  const login = createClientLogin(deps, tokens, failures);
  const slots = { bodies: new Slots(LARGE_BODIES), downloads: new Slots(DOWNLOADS) };

  const app = express();
  app.set('query parser', false);
  app.set('etag', false);
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  // Idempotency keys count per path: a second spelling of one would let a repeat charge again.
  app.enable('strict routing');
  app.set('trust proxy', deps.config.TRUSTED_PROXIES);
  app.use(beforeRoutes(deps.log, failures, deps.tracing));
  const forConsole = deps.config.ASSENT_CONSOLE
    ? consoleAccess({ deps, tokens, login, authenticate, failures })
    : undefined;
  if (forConsole) app.use(forConsole.calls);

  const table = routes(deps);
  const serving = (one: Route, ...before: RequestHandler[]) => ({
    ...endpoint(one.method, one.path, ...before, serve(deps, authenticate, slots, one)),
    delivers: one.options.delivers,
  });
  serveEach(app, [
    endpoint('get', '/', (_req, res) => res.redirect(deps.sandbox ? '/sandbox' : '/docs')),
    endpoint('get', '/healthz', livenessEndpoint),
    endpoint('get', '/readyz', readinessEndpoint(deps)),
    endpoint(
      'get',
      '/.well-known/jwks.json',
      async (_req, res: Response<Jwks>) => void res.json({ keys: await tokens.jwks() }),
    ),
    endpoint('post', '/v1/oauth/token', tokenEndpoint(login, failures)),
    ...table.map((one) => serving(one)),
    ...(forConsole?.endpoints ?? []),
    ...(forConsole ? consoleRoutes(table) : []).map((one) => serving(one, throughConsole)),
    ...documentationEndpoints(table),
    ...pageEndpoints([
      ...(forConsole ? (['console'] as const) : []),
      ...(deps.sandbox ? (['sandbox'] as const) : []),
    ]),
  ]);
  if (deps.sandbox) app.use('/sandbox', sandboxHandlers(deps.sandbox));

  app.use(unknownEndpoint);
  app.use(errorHandler);
  return app;
}
