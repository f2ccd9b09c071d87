import type { MigrationSet } from '#postgres';

/** Table of this library: the sessions. */
export const registryClientSchema: MigrationSet = {
  name: 'registry-client',
  directory: new URL('../migrations/', import.meta.url),
};
