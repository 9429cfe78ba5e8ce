const { paths } = require('./tsconfig.json').compilerOptions;

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: '<rootDir>/test/support/one-realm-environment.cjs',
  runtime: '<rootDir>/test/support/shared-packages-runtime.cjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // From source, as in tsconfig.json: a test needs no build.
  moduleNameMapper: Object.fromEntries(
    Object.entries(paths).map(([name, [file]]) => [`^${name}$`, `<rootDir>/${file}`]),
  ),
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.assent/'],
  transform: {
    '^.+\\.ts$': [
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
  testSequencer: '<rootDir>/test/support/longest-first.cjs',
  // For two cores: with three, a third of them was idle while tests waited for moments and starts.
  maxWorkers: 4,
  // Only what hangs meets it. A start of an engine takes ten seconds, and several times that on a
  // busy machine.
  testTimeout: 240_000,
};
