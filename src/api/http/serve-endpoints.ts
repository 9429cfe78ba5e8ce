import type { Express, RequestHandler } from 'express';
import { Failure } from '../../domain/failures';
import type { Method } from './route';

/** The console's session, which is no part of the API, has DELETE. */
type EndpointMethod = Method | 'delete';

export interface Endpoint {
  method: EndpointMethod;
  path: string;
  handlers: RequestHandler[];
  /** HEAD is refused: Express would answer it by GET, and its events would count as read. */
  delivers?: true | undefined;
}

export function endpoint(method: EndpointMethod, path: string, ...handlers: RequestHandler[]): Endpoint {
  return { method, path, handlers };
}

/** Serves each endpoint. Another method of its path gets the methods that the path has. */
export function serveEach(app: Express, endpoints: readonly Endpoint[]): void {
  const paths = new Set(endpoints.map(({ path }) => path));
  // Path by path, so that `…/create` is decided before `…/:scheduleId`.
  for (const path of paths) {
    const own = endpoints.filter((one) => one.path === path);
    const at = app.route(path);
    const refuse = otherMethod(own);
    for (const { method, handlers, delivers } of own) {
      if (delivers) at.head(refuse);
      at[method](handlers);
    }
    at.all(refuse);
  }
}

function otherMethod(endpoints: readonly Endpoint[]): RequestHandler {
  // Express answers HEAD by GET.
  const allowed = endpoints
    .flatMap(({ method, delivers }) =>
      method === 'get' && !delivers ? ['GET', 'HEAD'] : [method.toUpperCase()],
    )
    .join(', ');
  return (_req, res, next) => {
    res.set('Allow', allowed);
    next(new Failure('method_not_allowed', `There is no such endpoint: this path takes ${allowed}`));
  };
}
