/** ESM-only packages that jest must compile, because Node 20 hands jest no `require(esm)`. */
const esmOnly = [
  'uuid',
  'csv-stringify',
  'fast-check',
  'pure-rand',
  'temporal-polyfill',
  'temporal-spec',
  '@noble/ciphers',
  'temporal-utils',
  // Not one of them, but it imports at run time what it needs.
  '@opentelemetry/otlp-exporter-base',
];

/**
 * What modules under test import and most test files never use: it is loaded with its first use.
 * Nothing that rules are made of is among them, as that would be loaded in the middle of what a
 * test waits for.
 */
const rarelyUsed = [
  '@temporalio/activity',
  '@temporalio/client',
  '@temporalio/common',
  '@temporalio/worker',
  'cli-table3',
  'commander',
  'csv-stringify',
  'helmet',
  'ipaddr.js',
  'jsonwebtoken',
  'pino-http',
  'prom-client',
  'undici',
];

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // From source, as in tsconfig.json: a test needs no build.
  moduleNameMapper: { '^@assent/client$': '<rootDir>/packages/client/src' },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.assent/'],
  transform: {
    '^.+\\.m?[jt]s$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs', lazy: rarelyUsed },
        sourceMaps: 'inline',
      },
    ],
  },
  setupFilesAfterEnv: ['<rootDir>/test/support/conformance-setup.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testSequencer: '<rootDir>/test/support/longest-first.cjs',
  transformIgnorePatterns: [`/node_modules/(?!(${esmOnly.join('|')})/)`],
  // Two cores: a third worker only makes the servers under test slower.
  maxWorkers: 2,
  // Only what hangs meets it. A start of an engine takes ten seconds, and several times that on a
  // busy machine.
  testTimeout: 240_000,
};
