import type { RequestHandler } from 'express';
import { openApiDocument } from './openapi/document';
import { OPERATIONS } from './openapi/operations';
import type { Route } from './route';

/** `GET /openapi.json`: what this process serves, as OpenAPI 3.1. */
export function openApiEndpoint(table: readonly Route[]): RequestHandler {
  // Made when it is first asked for: a process that nobody asks need not know.
  let document: object | undefined;
  return (_req, res) => {
    document ??= openApiDocument(table, OPERATIONS);
    res.json(document);
  };
}
