/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/gates/jest-environment.mjs',
  testEnvironmentOptions: { globalsCleanup: 'off' },
  runtime: '<rootDir>/test/gates/jest-runtime.mjs',
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^#([a-z-]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testSequencer: '<rootDir>/test/gates/jest-order.mjs',
  reporters: ['default', '<rootDir>/test/gates/jest-endless.mjs'],
  // Many specs wait for a registry more than they work: five at once keep two cores busy.
  maxWorkers: 5,
  // A worker keeps something of each module that a file has loaded; a new one begins without.
  workerIdleMemoryLimit: '1GB',
  // Far more than a test needs, for a machine that has other things to do; what takes longer says so itself.
  testTimeout: 120_000,
};
