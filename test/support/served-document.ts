import { routes } from '../../src/api/app';
import { openApiDocument, type OpenApiDocument } from '../../src/api/openapi/document';
import type { Config } from '../../src/settings/config';

/** An API with these settings serves it as `/openapi.json`. */
export function servedDocument(config: Config): OpenApiDocument {
  return openApiDocument(routes({ config }));
}
