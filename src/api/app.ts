import express, { type Express } from 'express';
import helmet from 'helmet';
import { createAccessTokens } from './access-token';
import { errorHandler, unknownEndpoint } from './answer';
import { createAuthenticate } from './authentication';
import type { ApiDeps } from './deps';
import { livenessEndpoint, readinessEndpoint } from './health';
import { createMerchants, merchantsBody, setTrust, trustBody } from './merchant';
import { requestLog } from './request-log';
import { route, serve, type Route } from './route';
import { tokenEndpoint } from './token';
import { changeEndpoint, endpointBody, showEndpoint } from './webhook-endpoint';

/** The whole API on one page. Each entry: who may call it, which bucket pays, what it takes, what does it. */
function routes(deps: ApiDeps): Route[] {
  return [
    route(
      'post',
      '/v1/provider/merchants',
      {
        roles: ['provider'],
        limit: 'merchantBatch',
        body: merchantsBody(deps.config),
        status: 201,
        idempotent: true,
      },
      createMerchants,
    ),
    route(
      'patch',
      '/v1/provider/merchant/trust',
      { roles: ['provider'], limit: 'caller', body: trustBody },
      setTrust,
    ),

    route(
      'get',
      '/v1/webhooks/endpoint',
      { roles: ['bank', 'merchant', 'provider'], limit: 'caller' },
      showEndpoint,
    ),
    route(
      'put',
      '/v1/webhooks/endpoint',
      { roles: ['bank', 'merchant', 'provider'], limit: 'caller', body: endpointBody(deps.config) },
      changeEndpoint,
    ),
  ];
}

/** The HTTP application, ready to be listened with. */
export function createApp(deps: ApiDeps): Express {
  const tokens = createAccessTokens(deps);
  const authenticate = createAuthenticate(deps, tokens);

  const app = express();
  app.set('query parser', false);
  app.set('etag', false);
  app.enable('case sensitive routing');
  app.use(requestLog(deps.log));
  app.use(helmet());
  app.use((_req, res, next) => {
    // Every answer is about one caller, at one moment.
    res.set('Cache-Control', 'no-store');
    next();
  });

  app.get('/healthz', livenessEndpoint);
  app.get('/readyz', readinessEndpoint(deps));
  app.get('/.well-known/jwks.json', async (_req, res) => {
    res.json({ keys: await tokens.jwks() });
  });
  app.post('/v1/oauth/token', tokenEndpoint(deps, tokens));
  for (const one of routes(deps)) app[one.method](one.path, serve(deps, authenticate, one));

  app.use(unknownEndpoint);
  app.use(errorHandler);
  return app;
}
