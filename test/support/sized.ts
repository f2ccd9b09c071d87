/**
 * A count in `npm test`, and in the soak. Campaigns, sweeps and properties have a short form there and their full one
 * here: the soak runs each spec that calls this (test/soak/full-specs.ts), and its failures are failures of the soak.
 */
export const sized = <T>({ test, soak }: { test: T; soak: T }): T =>
  process.env['PEDIGREE_TEST_SIZE'] === 'soak' ? soak : test;
