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
];

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.assent/'],
  transform: {
    '^.+\\.m?[jt]s$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs' },
        sourceMaps: 'inline',
      },
    ],
  },
  setupFilesAfterEnv: ['<rootDir>/test/support/conformance-setup.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  transformIgnorePatterns: [`/node_modules/(?!(${esmOnly.join('|')})/)`],
  // Two cores: a third worker only makes the servers under test slower.
  maxWorkers: 2,
  // Only what hangs meets it. A start of an engine takes ten seconds, and several times that on a busy machine.
  testTimeout: 240_000,
};
