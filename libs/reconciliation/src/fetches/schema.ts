import type { MigrationSet } from '#postgres';

/** Packs that the worker reads at the registry for a comparison, on their way into a snapshot. */
export const registryFetchSchema: MigrationSet = {
  name: 'registry-fetch',
  directory: new URL('./migrations/', import.meta.url),
};
