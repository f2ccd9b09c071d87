import type { MigrationSet } from '#postgres';

/** The tables and the procedure of the PostgreSQL event log. */
export const eventStoreSchema: MigrationSet = {
  name: 'event-store',
  directory: new URL('./migrations/', import.meta.url),
};
