import type { MigrationSet } from '#postgres';

/**
 * What the registry's document lists have shown: written by the worker, read by the reconciler. The set keeps the name
 * that it had when it lay with the worker.
 */
export const registryListsSchema: MigrationSet = {
  name: 'worker-inbound',
  directory: new URL('./migrations/', import.meta.url),
};
