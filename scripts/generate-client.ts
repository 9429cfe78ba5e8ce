import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { routes } from '../src/api/app';
import { openApiDocument } from '../src/api/openapi/document';
import { readConfig } from '../src/settings/config';
import { clientTypes } from './client-types';

/** A sandbox has all that production has. */
const document = openApiDocument(routes({ config: readConfig({}) }));
writeFileSync(path.join(__dirname, '../packages/client/src/api.generated.ts'), clientTypes(document));
