import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readConfig } from '../../src/settings/config';
import { clientTypes } from '../../scripts/client-types';
import { servedDocument } from '../support/served-document';

const FILE = path.join(__dirname, '../../packages/client/src/api.generated.ts');
const document = servedDocument(readConfig({}));

test('a client that is built today knows the API of today: `npm run generate:client` changes nothing', () => {
  expect(readFileSync(FILE, 'utf8')).toBe(clientTypes(document));
});

test('a currency that an installation takes beside NGN compiles', () => {
  const types = readFileSync(FILE, 'utf8');
  expect(types).toContain('currency: string;');
  expect(types).not.toContain("currency: 'NGN'");
});

test('a form that no type is known for stops the making, and does not become a type that lies', () => {
  const strange = structuredClone(document) as unknown as {
    components: { schemas: Record<string, Record<string, unknown>> };
  };
  strange.components.schemas['Refund'] = { ...strange.components.schemas['Refund'], patternProperties: {} };
  expect(() => clientTypes(strange as unknown as typeof document)).toThrow('patternProperties');
});
