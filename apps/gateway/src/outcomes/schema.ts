import type { MigrationSet } from '#postgres';

/** The cursors of whatever delivers outcomes. */
export const outcomesSchema: MigrationSet = {
  name: 'gateway-outcomes',
  directory: new URL('./migrations/', import.meta.url),
};
