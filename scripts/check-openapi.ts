import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createConfig, formatProblems, getTotals, lint } from '@redocly/openapi-core';
import { routes } from '../src/api/app';
import { openApiDocument } from '../src/api/openapi/document';
import { readConfig } from '../src/settings/config';

/** Lints the document as each mode serves it, by the rules of Redocly. Nothing is fetched. */
async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'assent-openapi-'));
  try {
    const rules = await createConfig({
      extends: ['recommended-strict'],
      rules: {
        // The service is wherever it is installed.
        'no-server-example.com': 'off',
      },
    });
    for (const mode of ['sandbox', 'production'] as const) {
      const config = { ...readConfig({}), ASSENT_MODE: mode };
      const file = path.join(folder, `${mode}.json`);
      await writeFile(file, JSON.stringify(openApiDocument(routes({ config })), undefined, 1));
      const problems = await lint({ ref: file, config: rules });
      const totals = getTotals(problems);
      formatProblems(problems, { format: 'stylish', totals, version: '' });
      if (problems.length > 0) process.exitCode = 1;
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

void main();
