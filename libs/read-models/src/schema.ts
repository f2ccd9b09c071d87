import type { MigrationSet } from '#postgres';

/** The tables of every read model, a set per folder. */
export const readModelSchemas: MigrationSet[] = [
  { name: 'read-models/document-outcomes', directory: new URL('./document-outcomes/migrations/', import.meta.url) },
  { name: 'read-models/sgtin-history', directory: new URL('./sgtin-history/migrations/', import.meta.url) },
];
