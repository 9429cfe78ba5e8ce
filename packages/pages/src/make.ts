import { buildSite } from '../../../site/build';
import type { OpenApiDocument } from '../../../src/api/openapi/document';
import { bundle } from './bundle';
import { documentOf, ICON } from './document';

/* Makes all that the API serves to browsers from the sources, in a second. */

/** Contents by address. A page's begins at the server's root, the documentation's at `/docs`. */
type Files = ReadonlyMap<string, Buffer>;

export async function makePages(): Promise<Files> {
  const { pages, files } = await bundle();
  return new Map([
    ['sandbox', Buffer.from(documentOf('Assent sandbox', pages.sandbox))],
    ['console', Buffer.from(documentOf('Assent console', pages.console))],
    ...[...files].map(([name, contents]) => [`pages/${name}`, contents] as const),
  ]);
}

export async function makeDocumentation(document: OpenApiDocument): Promise<Files> {
  const { pages } = await bundle();
  const site = await buildSite(document, { ...pages.docs, icon: ICON });
  return new Map([...site].map(([name, contents]) => [name, Buffer.from(contents as string)]));
}
