const { existsSync, readdirSync, readFileSync } = require('node:fs');
const path = require('node:path');
const all = require('./jest.config.js');

/*
 * `npm run test:fast`: the tests that start nothing, neither a server nor a process, nor bundle the
 * workflows. Which these are follows from what each file imports, and what that imports.
 */

/**
 * What starts something. `eventually` alone is no reason to be slow: it stands in a file that does.
 */
const STARTS =
  /'(node:child_process|@temporalio\/testing|.*\/support\/(cli|database|servers|installation|own-servers|npm-start|time-skipping|workflow-worker|browser|production-database|dead-server)|[^']*\/once-per-run)'|\bstart(Engine|\w+Process)\b|\bexecFile\b|\bspawn\b/;

/** By file, whether it or a file of the tests that it imports starts something. */
const known = new Map();

function starts(file) {
  if (!known.has(file)) {
    known.set(file, false);
    const text = readFileSync(file, 'utf8');
    const imported = [...text.matchAll(/(?:from|import) '(\.[^']*)'/g)]
      .map(([, name]) => path.join(path.dirname(file), `${name}.ts`))
      .filter((name) => name.startsWith(path.join(__dirname, 'test')) && existsSync(name));
    known.set(file, STARTS.test(text) || imported.some(starts));
  }
  return known.get(file);
}

const files = readdirSync(path.join(__dirname, 'test'), { recursive: true })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => path.join(__dirname, 'test', name));

/** @type {import('jest').Config} */
module.exports = {
  ...all,
  testMatch: files.filter((file) => !starts(file)),
  globalSetup: undefined,
  globalTeardown: undefined,
  // Some wait, for as long as the product lets somebody wait: no processor is at work then.
  maxWorkers: 3,
};
