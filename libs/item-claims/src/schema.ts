import type { MigrationSet } from '#postgres';

/** Who claims which items, and which container holds them. After the read models, from which an old database begins. */
export const itemClaimsSchema: MigrationSet = {
  name: 'item-claims',
  directory: new URL('./migrations/', import.meta.url),
};
